"""Several nodes at once: killed, made to stand still, asked what they have.

All struck nodes stand still, out of every system call, before the first disk loses its power: a
sync that is under way may then return success without its data on the medium, and a node that lives
on for a millisecond acknowledges it, which it could not have done without power.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from chaos.means.disks import Disk
from chaos.means.processes import halt, strike
from chaos.means.shim import Shim
from chaos.targets.clusters.node import LocalNode
from chaos.values.protocols import TargetError

Members = Sequence[LocalNode]


def kill(members: Members) -> list[int]:
    """Kill the running nodes, all at once; return their numbers. Callers that wait for their ports
    or files kill them again."""
    struck = {
        member.number: member.child
        for member in members
        if member.child is not None and member.child.running
    }
    strike(struck.values())
    return list(struck)


def stand_still(members: Members) -> None:
    """Pause the nodes that run, until no thread of theirs is in a system call. Raises TargetError.

    What a node has not said by now, nobody will hear from it before it is resumed.
    """
    try:
        halt(m.child for m in members if m.child is not None and m.child.running)
    except TimeoutError as error:
        raise TargetError(str(error)) from error


def kill_and_wait(members: Members) -> list[int]:
    """Kill the running nodes and wait until they are gone, so that nothing holds their files;
    return their numbers. Raise TargetError if one stays."""
    struck = kill(members)
    for member in members:
        if member.child is not None:
            try:
                member.child.kill()
            except TimeoutError as error:
                raise TargetError(str(error)) from error
    return struck


def stop_and_kill(members: Members) -> None:
    """Settle what the ledgers say when the last node stands still, then kill the nodes."""
    stand_still(members)
    kill_and_wait(members)


@contextmanager
def standing_still(members: Members) -> Iterator[None]:
    """Keep the running processes out of every system call meanwhile."""
    awake = [member for member in members if member.running and not member.paused]
    try:
        stand_still(members)
        yield
    finally:
        for member in awake:
            if member.child is not None:
                member.child.resume()


def running(members: Members) -> list[int]:
    """Return the running nodes. Ask before the fault: a node may end at once."""
    return [member.number for member in members if member.running]


def disks_of(members: Members) -> list[Disk]:
    return [member.disk for member in members if member.disk is not None]


def shims_of(members: Members) -> list[tuple[LocalNode, Shim]]:
    return [(member, member.shim) for member in members if member.shim is not None]
