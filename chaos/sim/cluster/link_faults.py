"""Perform faults of links: find the ways (pairs of a source and an address, network.Way) that a
fault concerns, and change their conditions.

A link that a cluster does not have (between nodes, if there is only one) is ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from chaos.sim.cluster.cluster import Perform, SimCluster
from chaos.sim.cluster.layout import CLIENT, CONTROLLER, INTERNAL, LISTENER_OF
from chaos.sim.network import CLIENTS, Conditions, State, Way
from chaos.values.faults import (
    CutClients,
    CutControllers,
    CutLink,
    DelayAnswers,
    DropPackets,
    Fault,
    Isolate,
    LosePackets,
    ResetConnections,
    SlowLinks,
    Split,
    StallConnections,
    Where,
)
from chaos.values.splits import SHAPES, Pairs

MS = 1 / 1000


def ways(cluster: SimCluster, source: int, to: int, listeners: Iterable[str]) -> list[Way]:
    """Return the paths, as pairs (source, address), from a node to the addresses at which another
    node has these listeners. Return [] if it has none of them, or is the node itself."""
    own = cluster.layout.listeners(to)
    return [(source, own[name]) for name in listeners if name in own and source != to]


def client_way(cluster: SimCluster, node: int) -> Way:
    """Return the path that leads from the clients to a node, as the pair (CLIENTS, address)."""
    return CLIENTS, cluster.layout.address(node, CLIENT)


def ways_of(cluster: SimCluster, node: int, where: Where) -> list[Way]:
    """Return the paths, as pairs (source, address), that lead from and to a node, to listeners of
    this kind. A cluster of one node has only the path from the clients."""
    if where == "clients" or cluster.nodes == 1:
        return [client_way(cluster, node)]
    names = (LISTENER_OF[where],)
    return [
        way
        for other in cluster.members
        for way in (*ways(cluster, node, other, names), *ways(cluster, other, node, names))
    ]


def _cut(cluster: SimCluster, found: Iterable[Way], how: str) -> bool:
    cut = list(found)
    for way in cut:
        cluster.network.cut_off(way, State(how))
    return bool(cut)


def _cut_pairs(cluster: SimCluster, pairs: Pairs, how: str) -> list[int]:
    struck: list[int] = []
    for source, to in pairs:
        if _cut(cluster, ways(cluster, source, to, (INTERNAL, CONTROLLER)), how):
            struck += [node for node in (source, to) if node not in struck]
    return struck


def _cut_link(cluster: SimCluster, fault: CutLink) -> list[int]:
    sources, destinations = cluster.resolve(fault.source), cluster.resolve(fault.destination)
    return _cut_pairs(cluster, [(s, d) for s in sources for d in destinations], fault.how)


def _isolate(cluster: SimCluster, fault: Isolate) -> list[int]:
    struck = []
    for node in cluster.resolve(fault.node):
        found = [] if cluster.nodes == 1 else ways_of(cluster, node, "nodes")
        found += [] if cluster.nodes == 1 else ways_of(cluster, node, "controllers")
        found += [client_way(cluster, node)] if fault.with_clients else []
        struck += [node] if _cut(cluster, found, fault.how) else []
    return struck


def _cut_clients(cluster: SimCluster, fault: CutClients) -> Sequence[int]:
    struck = cluster.resolve(fault.node)
    for node in struck:
        _cut(cluster, [client_way(cluster, node)], fault.how)
    return struck


def _cut_controllers(cluster: SimCluster, fault: CutControllers) -> list[int]:
    if cluster.nodes == 1:
        return []
    nodes = cluster.resolve(fault.node)
    return [n for n in nodes if _cut(cluster, ways_of(cluster, n, "controllers"), fault.how)]


def _split(cluster: SimCluster, fault: Split) -> list[int]:
    around = cluster.resolve(fault.node)
    if not around or cluster.nodes < 2:
        return []
    return _cut_pairs(cluster, SHAPES[fault.shape](cluster, around[0]), fault.how)


def _drop_packets(cluster: SimCluster, fault: DropPackets) -> list[int]:
    """Let no packet pass from one node to another, on connections that either node has opened."""
    struck: list[int] = []
    for source in cluster.resolve(fault.source):
        for to in cluster.resolve(fault.destination):
            for way in ways(cluster, source, to, (INTERNAL, CONTROLLER)):
                cluster.network.conditions[way].drops.add(True)
            for way in ways(cluster, to, source, (INTERNAL, CONTROLLER)):
                cluster.network.conditions[way].drops.add(False)
            if source != to:
                struck += [node for node in (source, to) if node not in struck]
    return struck


def _conditions(cluster: SimCluster, node: int, where: Where) -> list[Conditions]:
    return [cluster.network.conditions[way] for way in ways_of(cluster, node, where)]


def _lose_packets(cluster: SimCluster, fault: LosePackets) -> Sequence[int]:
    struck = cluster.resolve(fault.node)
    for node in struck:
        for where in LISTENER_OF:
            for one in _conditions(cluster, node, where):
                one.loss = fault.percent / 100
    return struck


def _slow_links(cluster: SimCluster, fault: SlowLinks) -> Sequence[int]:
    struck = cluster.resolve(fault.node)
    for node in struck:
        for one in _conditions(cluster, node, fault.where):
            one.latency_s, one.jitter_s = fault.latency_ms * MS, fault.jitter_ms * MS
    return struck


def _delay_answers(cluster: SimCluster, fault: DelayAnswers) -> Sequence[int]:
    struck = cluster.resolve(fault.node)
    for node in struck:
        (one,) = _conditions(cluster, node, "clients")
        one.answer_latency_s, one.answer_jitter_s = fault.latency_ms * MS, fault.jitter_ms * MS
    return struck


def _reset(cluster: SimCluster, fault: ResetConnections) -> Sequence[int]:
    network, struck = cluster.network, cluster.resolve(fault.node)
    for node in struck:
        for way in ways_of(cluster, node, fault.where):
            network.conditions[way].reset_after_s = fault.after_ms * MS
            for line in network.lines_on(way):
                network.cut(line, "connection reset")
    return struck


def _stall(cluster: SimCluster, fault: StallConnections) -> Sequence[int]:
    struck = cluster.resolve(fault.node)
    for node in struck:
        for way in ways_of(cluster, node, fault.where):
            cluster.network.stall(way, fault.share, fault.timeout_ms * MS)
    return struck


LINK_FAULTS: Mapping[type[Fault], Perform] = {
    CutLink: _cut_link,
    Isolate: _isolate,
    CutClients: _cut_clients,
    CutControllers: _cut_controllers,
    Split: _split,
    DropPackets: _drop_packets,
    LosePackets: _lose_packets,
    SlowLinks: _slow_links,
    DelayAnswers: _delay_answers,
    ResetConnections: _reset,
    StallConnections: _stall,
}
