"""Perform faults by the preloaded shim (means/shim): clocks, slow syncs, torn writes, lost names;
and the flipped bit of a stopped node, which needs no shim.

A torn write needs a node that waits for a sync, so syncs are held first. If the node flushes before
it acknowledges, no record that is written but not synced at that moment has been acknowledged.
"""

from __future__ import annotations

from collections.abc import Callable

from chaos.means.shim import Shim
from chaos.targets.clusters.cluster import LocalCluster, Performers
from chaos.targets.clusters.members import kill_and_wait, shims_of, stop_and_kill
from chaos.targets.faults.segments import flip_one, segments
from chaos.values.faults import (
    BitFlip,
    ClockJump,
    ClockSkew,
    FailedSync,
    FailedWrite,
    LostNames,
    Node,
    SlowDisk,
    TornWrites,
)
from reference_impl.wire.batches.batch_header import HEADER_BYTES

HOLDS_MAX = 10


def _tear(cluster: LocalCluster, fault: TornWrites) -> list[int]:
    found = shims_of(cluster.members_of(fault.node))
    struck = [(member, shim) for member, shim in found if member.running]
    for _, shim in struck:
        _await_unsynced_batch(shim)
    stop_and_kill([member for member, _ in struck])
    for _, shim in struck:
        shim.release_syncs()
        shim.medium.tear(fault.how, cluster.rng)
    return [member.number for member, _ in struck]


def _await_unsynced_batch(shim: Shim) -> None:
    """Hold the node's syncs at a moment when a batch of records (and not only an index) waits for
    one; if no such moment comes, at any moment."""
    for _ in range(HOLDS_MAX):
        if not shim.hold_syncs():
            return
        if any(tail.size - tail.synced >= HEADER_BYTES for tail in shim.medium.tails()):
            return
        shim.let_syncs_go()
    shim.hold_syncs()


def _lose_names(cluster: LocalCluster, fault: LostNames) -> list[int]:
    struck = shims_of(cluster.members_of(fault.node))
    stop_and_kill([member for member, _ in struck])
    for _, shim in struck:
        shim.medium.lose_names()
    return [member.number for member, _ in struck]


def _flip_bit(cluster: LocalCluster, fault: BitFlip) -> list[int]:
    struck = []
    for member in cluster.members_of(fault.node):
        if member.data is None or not member.running:
            continue
        found = segments(member.data, closed=fault.segment == "closed")
        if found:
            kill_and_wait([member])
            flip_one(cluster.rng.choice(found), cluster.rng)
            struck.append(member.number)
    return struck


def _jump(cluster: LocalCluster, fault: ClockJump) -> list[int]:
    return _each(cluster, fault.node, lambda shim: shim.jump(fault.by_ms))


def _skew(cluster: LocalCluster, fault: ClockSkew) -> list[int]:
    return _each(cluster, fault.node, lambda shim: shim.skew(fault.ppm))


def _slow_down(cluster: LocalCluster, fault: SlowDisk) -> list[int]:
    return _each(cluster, fault.node, lambda shim: shim.slow_down(fault.delay_ms))


def _fail_sync(cluster: LocalCluster, fault: FailedSync) -> list[int]:
    return [
        m.number
        for m, shim in shims_of(cluster.members_of(fault.node))
        if m.running and shim.fail_sync(fault.number)
    ]


def _fail_write(cluster: LocalCluster, fault: FailedWrite) -> list[int]:
    return [
        member.number
        for member, shim in shims_of(cluster.members_of(fault.node))
        if member.running and shim.fail_write(fault.number, only_indexes=fault.only_indexes)
    ]


def _each(cluster: LocalCluster, node: Node, strike: Callable[[Shim], None]) -> list[int]:
    members = cluster.members_of(node)
    for _, shim in shims_of(members):
        strike(shim)
    return [member.number for member in members if member.running]


PERFORMERS: Performers = {
    TornWrites: _tear,
    LostNames: _lose_names,
    BitFlip: _flip_bit,
    ClockJump: _jump,
    ClockSkew: _skew,
    SlowDisk: _slow_down,
    FailedSync: _fail_sync,
    FailedWrite: _fail_write,
}
