"""Resolve roles, such as "the leader", to simulated nodes at the moment when a fault is performed.

The simulator looks into the nodes that run. Targets that are processes must ask them, and find the
same (chaos/targets/clusters/roles.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Protocol

from chaos.sim.cluster.node import SimNode
from chaos.values.faults import ROLES, Node
from chaos.values.protocols import TargetError
from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.metadata_image import PartitionImage
from reference_impl.core.partitions.keyed_topic import KeyedTopic


class Peopled(Protocol):
    """The parts of a cluster that the resolution of roles needs."""

    nodes: int
    focus: tuple[str, int] | None
    rng: Random
    turns: Iterator[int]
    """The numbers 0, 1, 2 …, one of which is taken each time the role "next" is resolved."""
    members: Mapping[int, SimNode]


def resolve(node: Node, cluster: Peopled) -> tuple[int, ...]:
    """Return the numbers of the nodes that a number or a role refers to now, or () if no node has
    the role. Raise TargetError for a number or a name that is not a node of this cluster."""
    if isinstance(node, int):
        if not 1 <= node <= cluster.nodes:
            raise TargetError(
                f"there is no node {node}; this cluster has 1 to {cluster.nodes}: use one of these"
            )
        return (node,)
    if node not in RESOLVERS:
        raise TargetError(f"{node!r} is not a node: use a number, or one of {', '.join(ROLES)}")
    return RESOLVERS[node](cluster)


def brokers(cluster: Peopled) -> dict[int, Broker]:
    """Return the brokers of the nodes that run and are not paused, by their numbers."""
    return {
        number: member.core.broker
        for number, member in cluster.members.items()
        if member.core is not None and not member.is_paused
    }


def focus(cluster: Peopled) -> PartitionImage | None:
    """Return the partition that the workload chose for faults of leaders and followers, as the node
    with the newest partition epoch sees it, or None if no node knows it. Raise TargetError if the
    workload chose none."""
    if cluster.focus is None:
        raise TargetError(
            "the roles leader and follower need a partition; set `focus` to (topic, partition)"
        )
    name, index = cluster.focus
    views = [broker.image.topics.get(name) for broker in brokers(cluster).values()]
    found = [view.partitions[index] for view in views if view and index in view.partitions]
    return max(found, key=lambda state: state.partition_epoch, default=None)


def controller(cluster: Peopled) -> int | None:
    """Return the leader of the metadata quorum in the newest epoch that any node knows, or None."""
    quorums = [broker.quorum for broker in brokers(cluster).values()]
    named = [(one.epoch, one.leader_id) for one in quorums if one.leader_id is not None]
    return max(named)[1] if named else None


def _all(cluster: Peopled) -> tuple[int, ...]:
    return tuple(cluster.members)


def _some(cluster: Peopled, count: int) -> tuple[int, ...]:
    return tuple(sorted(cluster.rng.sample(_all(cluster), count)))


def _one_of(cluster: Peopled, nodes: Sequence[int]) -> tuple[int, ...]:
    return (cluster.rng.choice(nodes),) if nodes else ()


def _next(cluster: Peopled) -> tuple[int, ...]:
    return (next(cluster.turns) % cluster.nodes + 1,)


def _controller(cluster: Peopled) -> tuple[int, ...]:
    found = controller(cluster)
    return () if found is None else (found,)


def _leader(cluster: Peopled) -> tuple[int, ...]:
    if cluster.nodes == 1:
        return (1,)  # a single node has every role, even while it is down
    state = focus(cluster)
    return () if state is None or state.leader < 1 else (state.leader,)


def _follower(cluster: Peopled) -> tuple[int, ...]:
    if cluster.nodes == 1:
        return (1,)
    state = focus(cluster)
    if state is None:
        return ()
    followers = sorted(set(state.replicas) - {state.leader})
    # Prefer a follower that runs, since striking a dead one would change nothing.
    return _one_of(cluster, [one for one in followers if one in brokers(cluster)] or followers)


def _coordinator(cluster: Peopled, topic_of: Callable[[Broker], KeyedTopic]) -> tuple[int, ...]:
    if cluster.nodes == 1:
        return (1,)
    leading = [
        number
        for number, broker in brokers(cluster).items()
        if any(
            replica.leads and replica.log.log_end_offset
            for replica in broker.replicas
            if replica.topic == topic_of(broker).name
        )
    ]
    return _one_of(cluster, leading)


RESOLVERS: Mapping[str, Callable[[Peopled], tuple[int, ...]]] = {
    "leader": _leader,
    "follower": _follower,
    "controller": _controller,
    "group-coordinator": lambda cluster: _coordinator(cluster, lambda one: one.groups.topic),
    "transaction-coordinator": lambda cluster: _coordinator(
        cluster, lambda one: one.transactions.topic
    ),
    "random": lambda cluster: _one_of(cluster, _all(cluster)),
    "next": _next,
    "minority": lambda cluster: _some(cluster, (cluster.nodes - 1) // 2),
    "majority": lambda cluster: _some(cluster, cluster.nodes // 2 + 1),
    "all": _all,
}
