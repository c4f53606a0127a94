"""Perform faults of the nodes' own disks. The order matters. A process that hangs on a frozen disk
handles neither SIGSTOP nor SIGKILL, so the disk is thawed first. All struck nodes are stopped
before the first disk loses power (members.py says why), then they are killed, and a disk is mounted
again only when its process has ended."""

from __future__ import annotations

from collections.abc import Callable

from chaos.means.disks import Disk
from chaos.targets.clusters.cluster import LocalCluster, Performers
from chaos.targets.clusters.members import (
    Members,
    disks_of,
    kill_and_wait,
    running,
    stand_still,
    standing_still,
)
from chaos.values.faults import DiskDead, DiskFull, DiskReadOnly, DiskStall, PowerLoss


def _stall(cluster: LocalCluster, fault: DiskStall) -> list[int]:
    return _each(cluster.members_of(fault.node), Disk.freeze)


def _fill(cluster: LocalCluster, fault: DiskFull) -> list[int]:
    return _each(cluster.members_of(fault.node), Disk.fill)


def _each(members: Members, strike: Callable[[Disk], object]) -> list[int]:
    struck = running(members)
    for disk in disks_of(members):
        strike(disk)
    return struck


def _kill_disk(cluster: LocalCluster, fault: DiskDead) -> list[int]:
    """Make every later write and sync on the disks of the fault's nodes fail, and syncs in
    progress, too. Return the nodes that were running."""
    return _while_standing_still(cluster.members_of(fault.node), Disk.die)


def _make_read_only(cluster: LocalCluster, fault: DiskReadOnly) -> list[int]:
    """Turn disks read-only, and return the nodes that were running. Everything written before is
    kept, since no process writes between the final sync and the change."""
    return _while_standing_still(cluster.members_of(fault.node), Disk.turn_read_only)


def _while_standing_still(members: Members, strike: Callable[[Disk], None]) -> list[int]:
    struck = running(members)
    for disk in disks_of(members):
        disk.thaw()
    with standing_still(members):
        for disk in disks_of(members):
            strike(disk)
    return struck


def _cut_power(cluster: LocalCluster, fault: PowerLoss) -> list[int]:
    """Cut the power of nodes, which leaves them ended, and return all their numbers. A node that
    had already ended also loses what the system had not yet written to its disk."""
    members = cluster.members_of(fault.node)
    for disk in disks_of(members):
        disk.thaw()
    stand_still(members)
    for disk in disks_of(members):
        disk.cut_power()
    kill_and_wait(members)
    for member in members:
        if member.disk is not None:
            member.disk.replug()
        elif member.shim is not None:
            member.shim.medium.lose_power()
    return [member.number for member in members]


PERFORMERS: Performers = {
    DiskStall: _stall,
    DiskFull: _fill,
    DiskReadOnly: _make_read_only,
    DiskDead: _kill_disk,
    PowerLoss: _cut_power,
}
