"""Faults of processes: killed, stopped in good order, paused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from chaos.means.processes import Process, halt, strike
from chaos.values.faults import Fault, Kill, Pause, Shutdown
from chaos.values.protocols import TargetError

if TYPE_CHECKING:
    from chaos.targets.clusters.cluster import LocalNode

SHUTDOWN_TIMEOUT_S = 30.0
"""For handing over what a node leads, and closing its logs; then it is killed."""


def kill(members: Sequence[LocalNode]) -> list[int]:
    """Kill the running nodes, all at once; callers that wait for their ports or files kill them
    again."""
    struck = {
        member.number: member.child
        for member in members
        if member.child is not None and member.child.running
    }
    strike(struck.values())
    return list(struck)


def stand_still(members: Sequence[LocalNode]) -> None:
    """Pause the nodes that run, until no thread of theirs is in a system call. Raises TargetError.

    What a node has not said by now, nobody will hear from it before it is resumed.
    """
    try:
        halt(m.child for m in members if m.child is not None and m.child.running)
    except TimeoutError as error:
        raise TargetError(str(error)) from error


def kill_and_wait(members: Sequence[LocalNode]) -> list[int]:
    """Kill the processes and wait until they are gone, so that nothing holds their files. Raise
    TargetError."""
    struck = kill(members)
    for member in members:
        if member.child is not None:
            try:
                member.child.kill()
            except TimeoutError as error:
                raise TargetError(str(error)) from error
    return struck


def _each(members: Sequence[LocalNode], strike: Callable[[Process], None]) -> list[int]:
    """Strike the processes that run; return their nodes."""
    struck = []
    for member in members:
        if member.child is not None and member.child.running:
            strike(member.child)
            struck.append(member.number)
    return struck


PERFORMERS: Mapping[type[Fault], Callable[[Sequence[LocalNode]], list[int]]] = {
    Kill: kill,
    Pause: lambda members: _each(members, lambda process: process.pause()),
    Shutdown: lambda members: _each(members, lambda process: process.end(SHUTDOWN_TIMEOUT_S)),
}
"""Fault -> what does it to the processes of these nodes, and says which nodes it struck."""
