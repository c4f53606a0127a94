"""Perform faults of processes, disks and clocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from chaos.sim.cluster.cluster import Perform, SimCluster
from chaos.sim.cluster.node import Aftermath, SimNode, keep_all
from chaos.sim.disks.file_system import NO_SPACE, Trap
from chaos.sim.disks.medium import Medium
from chaos.values.faults import (
    BitFlip,
    ClockJump,
    ClockSkew,
    DiskDead,
    DiskFull,
    DiskReadOnly,
    DiskStall,
    FailedSync,
    FailedWrite,
    Fault,
    Kill,
    LostNames,
    Pause,
    PowerLoss,
    Shutdown,
    SlowDisk,
    TornWrites,
)

MS = 1 / 1000
CHANGES_MAX = 12
"""A process that is killed in the middle of a step first makes a random number of changes to its
disk, which is below this."""
Each = Callable[[SimNode], object]


def _each(members: list[SimNode], strike: Each) -> list[int]:
    for member in members:
        strike(member)
    return [member.number for member in members]


# --- processes --------------------------------------------------------------------------------


def _trap(cluster: SimCluster) -> Trap | None:
    """Return, in half of the cases, a Trap that ends the process in the middle of a step; else
    None."""
    chance = cluster.chance
    return Trap(chance.randrange(CHANGES_MAX)) if chance.random() < 0.5 else None


def _kill(cluster: SimCluster, fault: Kill) -> list[int]:
    return _each(cluster.running(fault.node), lambda one: one.crash(keep_all, _trap(cluster)))


def _pause(cluster: SimCluster, fault: Pause) -> list[int]:
    return _each(cluster.running(fault.node), SimNode.pause)


def _shut_down(cluster: SimCluster, fault: Shutdown) -> list[int]:
    return _each(cluster.running(fault.node), SimNode.ask_to_stop)


# --- the power --------------------------------------------------------------------------------


def _end(
    cluster: SimCluster, fault: PowerLoss | LostNames | TornWrites, aftermath: Aftermath
) -> list[int]:
    """End the nodes, perhaps in the middle of one of their next steps, and let `aftermath` change
    what their media hold, also of nodes that do not run. Return the numbers of the nodes."""
    members = [cluster.members[number] for number in cluster.resolve(fault.node)]
    at_sync = isinstance(fault, TornWrites)
    return _each(
        members, lambda one: one.crash(aftermath, Trap(at_sync=True) if at_sync else _trap(cluster))
    )


def _cut_power(cluster: SimCluster, fault: PowerLoss) -> list[int]:
    return _end(cluster, fault, cluster.lose_power)


def _lose_names(cluster: SimCluster, fault: LostNames) -> list[int]:
    return _end(cluster, fault, Medium.lose_names)


def _tear(cluster: SimCluster, fault: TornWrites) -> list[int]:
    return _end(cluster, fault, lambda medium: medium.tear(fault.how, cluster.chance))


# --- disks ------------------------------------------------------------------------------------


def _flip_bit(cluster: SimCluster, fault: BitFlip) -> list[int]:
    """Flip a bit in a segment of the requested kind of each running node that has one with records,
    and kill these nodes. Return their numbers."""
    found = [
        one
        for one in cluster.running(fault.node)
        if one.medium.flip_bit(fault.segment, cluster.chance)
    ]
    for one in found:
        one.crash()
        one.observer.forget()
    return [one.number for one in found]


def _refuse_writes(cluster: SimCluster, fault: DiskDead | DiskReadOnly) -> list[int]:
    def strike(one: SimNode) -> None:
        trouble = one.disk.trouble
        one.medium.settle()
        trouble.refuses_syncs = isinstance(fault, DiskDead)
        trouble.refusal = "input/output error" if trouble.refuses_syncs else "read-only disk"

    return _each(cluster.running(fault.node), strike)


def _fail_sync(cluster: SimCluster, fault: FailedSync) -> list[int]:
    for one in cluster.running(fault.node):
        one.disk.trouble.sync_fails_in = fault.number
        one.disk.trouble.on_failed_sync = partial(cluster.note_struck, fault, one.number)
    return []


def _fail_write(cluster: SimCluster, fault: FailedWrite) -> list[int]:
    for one in cluster.running(fault.node):
        trouble = one.disk.trouble
        trouble.write_fails_in, trouble.only_indexes = fault.number, fault.only_indexes
        trouble.on_failed_write = partial(cluster.note_struck, fault, one.number)
    return []


def _stall_disk(cluster: SimCluster, fault: DiskStall) -> list[int]:
    def strike(one: SimNode) -> None:
        one.disk.trouble.is_stalled = True

    return _each(cluster.running(fault.node), strike)


def _fill_disk(cluster: SimCluster, fault: DiskFull) -> list[int]:
    def strike(one: SimNode) -> None:
        one.disk.trouble.refusal = NO_SPACE

    return _each(cluster.running(fault.node), strike)


def _slow_syncs(cluster: SimCluster, fault: SlowDisk) -> list[int]:
    def strike(one: SimNode) -> None:
        one.disk.trouble.sync_delay_s = fault.delay_ms * MS

    return _each(cluster.running(fault.node), strike)


# --- clocks -----------------------------------------------------------------------------------


def _jump(cluster: SimCluster, fault: ClockJump) -> list[int]:
    return _each(cluster.running(fault.node), lambda one: one.clock.jump(fault.by_ms))


def _skew(cluster: SimCluster, fault: ClockSkew) -> list[int]:
    return _each(cluster.running(fault.node), lambda one: one.clock.skew(fault.ppm))


MACHINE_FAULTS: Mapping[type[Fault], Perform] = {
    Kill: _kill,
    Pause: _pause,
    Shutdown: _shut_down,
    PowerLoss: _cut_power,
    LostNames: _lose_names,
    TornWrites: _tear,
    BitFlip: _flip_bit,
    DiskDead: _refuse_writes,
    DiskReadOnly: _refuse_writes,
    FailedSync: _fail_sync,
    FailedWrite: _fail_write,
    DiskStall: _stall_disk,
    DiskFull: _fill_disk,
    SlowDisk: _slow_syncs,
    ClockJump: _jump,
    ClockSkew: _skew,
}
