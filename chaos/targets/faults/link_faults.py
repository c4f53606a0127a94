"""Perform faults of links: find the links that a fault concerns, and apply the fault to each.

clusters/layout.py gives every directed link of a cluster a name. A link that a cluster does not
have (between nodes, if there is only one) is ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from chaos.means.links import Toxic
from chaos.targets.clusters.cluster import LocalCluster, Performers
from chaos.targets.clusters.layout import client_link, node_links
from chaos.values.faults import (
    CutClients,
    CutControllers,
    CutLink,
    DelayAnswers,
    DropPackets,
    Isolate,
    LimitData,
    LosePackets,
    NarrowLinks,
    ResetConnections,
    SlowClose,
    SlowLinks,
    Split,
    StallConnections,
    Where,
)
from chaos.values.splits import SHAPES, Pairs


def links_of(node: int, others: Iterable[int], where: Where) -> list[str]:
    """Return the names of the links of a node: for "clients" the one from its clients; for "nodes"
    those between its broker and the brokers of `others`, and for "controllers" those between their
    controllers, in both directions."""
    if where == "clients":
        return [client_link(node)]
    listener = ("nodes", "controllers").index(where)
    pairs = [pair for other in others for pair in ((node, other), (other, node))]
    return [node_links(source, to)[listener] for source, to in pairs]


# --- cutting --------------------------------------------------------------------------------------


def _cut_link(cluster: LocalCluster, fault: CutLink) -> list[int]:
    sources, destinations = cluster.resolve(fault.source), cluster.resolve(fault.destination)
    pairs = [(s, d) for s in sources for d in destinations if s != d]
    return _cut_pairs(cluster, pairs, fault.how)


def _isolate(cluster: LocalCluster, fault: Isolate) -> list[int]:
    struck = []
    for node in cluster.resolve(fault.node):
        others = _others(cluster, node)
        wheres: list[Where] = ["nodes", "controllers"]
        wheres += ["clients"] if fault.with_clients else []
        names = [name for where in wheres for name in links_of(node, others, where)]
        struck += [node] if _cut(cluster, names, fault.how) else []
    return struck


def _cut_clients(cluster: LocalCluster, fault: CutClients) -> list[int]:
    return [n for n in cluster.resolve(fault.node) if _cut(cluster, [client_link(n)], fault.how)]


def _cut_controllers(cluster: LocalCluster, fault: CutControllers) -> list[int]:
    struck = []
    for node in cluster.resolve(fault.node):
        names = links_of(node, _others(cluster, node), "controllers")
        struck += [node] if _cut(cluster, names, fault.how) else []
    return struck


def _split(cluster: LocalCluster, fault: Split) -> list[int]:
    around = cluster.resolve(fault.node)
    if not around or cluster.nodes < 2:
        return []
    return _cut_pairs(cluster, SHAPES[fault.shape](cluster, around[0]), fault.how)


def _cut_pairs(cluster: LocalCluster, pairs: Pairs, how: Any) -> list[int]:
    struck: list[int] = []
    for source, to in pairs:
        if _cut(cluster, node_links(source, to), how):
            struck += [node for node in (source, to) if node not in struck]
    return struck


def _cut(cluster: LocalCluster, names: Iterable[str], how: Any) -> bool:
    links = cluster.open_links()
    there = [name for name in names if name in links.names]
    for name in there:
        links.cut(name, how)
    return bool(there)


def _others(cluster: LocalCluster, node: int) -> list[int]:
    return [other for other in range(1, cluster.nodes + 1) if other != node]


# --- making worse ---------------------------------------------------------------------------------


def toxic_of(fault: Any) -> Toxic:
    """Return the toxic of toxiproxy (its name for a disturbance) that performs a fault; toxiproxy's
    README documents kinds and attributes. Raise TypeError for a fault that no toxic performs."""
    name = fault.name
    match fault:
        case SlowLinks():
            return Toxic(name, "latency", {"latency": fault.latency_ms, "jitter": fault.jitter_ms})
        case NarrowLinks():
            return Toxic(name, "bandwidth", {"rate": fault.rate_kb_s})
        case ResetConnections():
            return Toxic(name, "reset_peer", {"timeout": fault.after_ms}, ("downstream",))
        case SlowClose():
            return Toxic(name, "slow_close", {"delay": fault.delay_ms})
        case LimitData():
            return Toxic(name, "limit_data", {"bytes": fault.size_bytes})
        case StallConnections():
            return Toxic(name, "timeout", {"timeout": fault.timeout_ms}, share=fault.share)
    raise TypeError(f"{name} is not a fault that makes links worse")


def _poison(cluster: LocalCluster, fault: Any) -> list[int]:
    links, toxic, struck = cluster.open_links(), toxic_of(fault), []
    # A single node has only the links of its clients.
    where: Where = fault.where if cluster.nodes > 1 else "clients"
    for node in cluster.resolve(fault.node):
        names = links_of(node, _others(cluster, node), where)
        there = [name for name in names if name in links.names]
        for name in there:
            links.poison(name, toxic)
        struck += [node] if there else []
    return struck


def _delay_answers(cluster: LocalCluster, fault: DelayAnswers) -> Sequence[int]:
    struck = cluster.resolve(fault.node)
    for node in struck:
        cluster.open_links().delay_answers(client_link(node), fault.latency_ms, fault.jitter_ms)
    return struck


# --- packets, where nodes have namespaces of their own ------------------------------------------


def _drop_packets(cluster: LocalCluster, fault: DropPackets) -> list[int]:
    struck: list[int] = []
    for source in cluster.resolve(fault.source):
        for to in cluster.resolve(fault.destination):
            if source != to:
                cluster.open_links().drop_packets(source, to)
                struck += [node for node in (source, to) if node not in struck]
    return struck


def _lose_packets(cluster: LocalCluster, fault: LosePackets) -> Sequence[int]:
    struck = cluster.resolve(fault.node)
    for node in struck:
        cluster.open_links().lose_packets(node, fault.percent)
    return struck


PERFORMERS: Performers = {
    CutLink: _cut_link,
    Isolate: _isolate,
    CutClients: _cut_clients,
    CutControllers: _cut_controllers,
    Split: _split,
    DelayAnswers: _delay_answers,
    SlowLinks: _poison,
    NarrowLinks: _poison,
    ResetConnections: _poison,
    SlowClose: _poison,
    LimitData: _poison,
    StallConnections: _poison,
    DropPackets: _drop_packets,
    LosePackets: _lose_packets,
}
