"""Faults that the owner's commands begin and end: links, disks, power, the clock.

| fault                | commands of every node                               |
|----------------------|------------------------------------------------------|
| CutLink, Split       | `cut` (with {peer}), `heal_links`                    |
| CutClients           | `cut_clients`, `heal_links`                          |
| Isolate              | `cut`, `cut_clients`, `heal_links`                   |
| SlowLinks            | `slow_links` (with {ms}), `heal_links`               |
| DiskFull, DiskStall  | `fill_disk`, `free_disk`; `stall_disk`, `release_disk` |
| PowerLoss            | `lose_power`, `start`                                |
| ClockJump            | `set_clock` (with {ms}, signed), `reset_clock`       |

`cut` stops the connections that its node opens to {peer}, the host of another node. To cut both
directions, the commands of both nodes are run. {peer_port}, {how} (blackhole or refuse),
{jitter_ms} and {where} (clients, nodes or controllers) are filled in wherever a command contains
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from chaos.targets.clusters.cluster import Performers
from chaos.targets.faults import performers_of
from chaos.targets.foreign.cluster import ForeignCluster
from chaos.targets.foreign.foreign_file import ForeignNode
from chaos.values.faults import (
    ClockJump,
    CutClients,
    CutLink,
    DiskFull,
    DiskStall,
    Fault,
    Isolate,
    PowerLoss,
    SlowLinks,
    Split,
)
from chaos.values.splits import SHAPES

NEEDED: Mapping[type[Fault], tuple[str, ...]] = {
    CutLink: ("cut",),
    Split: ("cut",),
    CutClients: ("cut_clients",),
    Isolate: ("cut", "cut_clients"),
    SlowLinks: ("slow_links",),
    DiskFull: ("fill_disk",),
    DiskStall: ("stall_disk",),
    PowerLoss: ("lose_power",),
    ClockJump: ("set_clock",),
}
"""Fault -> the commands that a node needs to begin it. (The commands that end it are in
FAULT_COMMANDS.)"""


def faults_by_commands(node: ForeignNode) -> set[type[Fault]]:
    """Return the faults that the commands of this node perform."""
    return {fault for fault, keys in NEEDED.items() if all(key in node.faults for key in keys)}


def _cut(cluster: ForeignCluster, pairs: Iterable[tuple[int, int]], how: str) -> list[int]:
    struck: set[int] = set()
    for source, to in pairs:
        host, port = cluster.direct(to)
        cluster.undoings.strike(source, "cut", peer=host, peer_port=port, how=how)
        struck |= {source, to}
    return sorted(struck)


def _cut_link(cluster: ForeignCluster, fault: CutLink) -> list[int]:
    sources, destinations = cluster.resolve(fault.source), cluster.resolve(fault.destination)
    return _cut(cluster, [(s, d) for s in sources for d in destinations if s != d], fault.how)


def _split(cluster: ForeignCluster, fault: Split) -> list[int]:
    around = cluster.resolve(fault.node)
    if not around or cluster.nodes < 2:
        return []
    return _cut(cluster, SHAPES[fault.shape](cluster, around[0]), fault.how)


def _isolate(cluster: ForeignCluster, fault: Isolate) -> Sequence[int]:
    struck = cluster.resolve(fault.node)
    for node in struck:
        others = [other for other in range(1, cluster.nodes + 1) if other != node]
        pairs = [pair for other in others for pair in ((node, other), (other, node))]
        _cut(cluster, pairs, fault.how)
        if fault.with_clients:
            cluster.undoings.strike(node, "cut_clients", how=fault.how)
    return struck


def _lose_power(cluster: ForeignCluster, fault: PowerLoss) -> list[int]:
    """Cut the power of every running node that the fault means, one directly after another. Return
    their numbers."""
    struck = []
    for node in cluster.resolve(fault.node):
        member = cluster.member(node)
        if member.running:
            member.process.lose_power()
            struck.append(node)
    return struck


def _each(key: str, *fields: tuple[str, str]) -> Callable[[ForeignCluster, Any], Sequence[int]]:
    """Return a function that runs the command `key` on each node that the fault names, with fields
    of the fault filled in."""

    def perform(cluster: ForeignCluster, fault: Any) -> Sequence[int]:
        struck = cluster.resolve(fault.node)
        for node in struck:
            holes = {hole: getattr(fault, field) for hole, field in fields}
            cluster.undoings.strike(node, key, **holes)
        return struck

    return perform


PERFORMERS: Performers = {
    CutLink: _cut_link,
    Split: _split,
    Isolate: _isolate,
    CutClients: _each("cut_clients", ("how", "how")),
    SlowLinks: _each(
        "slow_links", ("ms", "latency_ms"), ("jitter_ms", "jitter_ms"), ("where", "where")
    ),
    DiskFull: _each("fill_disk"),
    DiskStall: _each("stall_disk"),
    PowerLoss: _lose_power,
    ClockJump: _each("set_clock", ("ms", "by_ms")),
}


def all_performers_of(faults: AbstractSet[type[Fault]]) -> Performers:
    """Return fault type -> the function that performs it: by the owner's commands for the faults of
    PERFORMERS, else in the usual way (performers_of). Heal is not among them."""
    by_commands = {fault: PERFORMERS[fault] for fault in faults & PERFORMERS.keys()}
    return {**performers_of(faults), **by_commands}
