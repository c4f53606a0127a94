"""Act on several nodes at once: kill them, stop them outside of system calls, list the running
ones.

All struck nodes are stopped, none of them inside a system call, before the first disk loses its
power. Otherwise a sync in progress could return success without its data on the medium, and a node
that lives a millisecond longer could acknowledge what it could not have acknowledged without power.
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
    """Kill the running nodes, all at once. Return their numbers. The processes may not have ended
    yet."""
    struck = {
        member.number: member.child
        for member in members
        if member.child is not None and member.child.running
    }
    strike(struck.values())
    return list(struck)


def stand_still(members: Members) -> None:
    """Pause the running nodes, and wait until none of their threads is in a system call. Raise
    TargetError if that takes too long (processes.HALT_TIMEOUT_S).

    From then until it is resumed, a node sends nothing.
    """
    try:
        halt(m.child for m in members if m.child is not None and m.child.running)
    except TimeoutError as error:
        raise TargetError(str(error)) from error


def kill_and_wait(members: Members) -> list[int]:
    """Kill the running nodes and wait until they have ended, so that their files are closed. Return
    their numbers. Raise TargetError if one does not end."""
    struck = kill(members)
    for member in members:
        if member.child is not None:
            try:
                member.child.kill()
            except TimeoutError as error:
                raise TargetError(str(error)) from error
    return struck


def stop_and_kill(members: Members) -> None:
    """Pause the running nodes outside of system calls, so that the shim's ledgers no longer change,
    then kill them and wait until they have ended. Raise TargetError if one does not stop or end."""
    stand_still(members)
    kill_and_wait(members)


@contextmanager
def standing_still(members: Members) -> Iterator[None]:
    """Keep the running processes stopped, outside of system calls, inside this `with` block. Nodes
    that were paused before stay paused after it. Raise TargetError if one does not stop."""
    awake = [member for member in members if member.running and not member.paused]
    try:
        stand_still(members)
        yield
    finally:
        for member in awake:
            if member.child is not None:
                member.child.resume()


def running(members: Members) -> list[int]:
    """Return the numbers of the running nodes. Call this before a fault, since a node may end at
    once when it is hit."""
    return [member.number for member in members if member.running]


def disks_of(members: Members) -> list[Disk]:
    return [member.disk for member in members if member.disk is not None]


def shims_of(members: Members) -> list[tuple[LocalNode, Shim]]:
    return [(member, member.shim) for member in members if member.shim is not None]
