"""Perform faults of processes: kill, clean shutdown, pause."""

from __future__ import annotations

from collections.abc import Callable

from chaos.means.processes import Process
from chaos.targets.clusters.cluster import LocalCluster, Performers
from chaos.targets.clusters.members import kill
from chaos.values.faults import Kill, Pause, Shutdown

SHUTDOWN_TIMEOUT_S = 30.0
"""The seconds that a node may take to hand over its leaderships and close its logs before it is
killed."""


def _kill(cluster: LocalCluster, fault: Kill) -> list[int]:
    return kill(cluster.members_of(fault.node))


def _pause(cluster: LocalCluster, fault: Pause) -> list[int]:
    return _each(cluster, fault, lambda process: process.pause())


def _shut_down(cluster: LocalCluster, fault: Shutdown) -> list[int]:
    return _each(cluster, fault, lambda process: process.end(SHUTDOWN_TIMEOUT_S))


def _each(
    cluster: LocalCluster, fault: Pause | Shutdown, strike: Callable[[Process], None]
) -> list[int]:
    """Call `strike` on the running processes that the fault names. Return their node numbers."""
    struck = []
    for member in cluster.members_of(fault.node):
        if member.child is not None and member.child.running:
            strike(member.child)
            struck.append(member.number)
    return struck


PERFORMERS: Performers = {Kill: _kill, Pause: _pause, Shutdown: _shut_down}
