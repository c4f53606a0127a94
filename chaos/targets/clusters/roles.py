"""Resolve roles, such as "the leader", to nodes at the moment when a fault is performed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Protocol

from chaos.means.connection import WireError
from chaos.targets.clusters import probe
from chaos.targets.clusters.probe import PartitionView
from chaos.values.faults import ROLES, Node
from chaos.values.protocols import TargetError
from chaos.world import Address

ASK_TIMEOUT_S = 2.0


class Askable(Protocol):
    """The parts of a cluster that the resolution of roles needs."""

    nodes: int
    focus: tuple[str, int] | None
    rng: Random
    turns: Iterator[int]
    """The numbers 0, 1, 2 …, one of which is taken each time the role "next" is resolved."""

    def reachable(self) -> Sequence[int]:
        """Return the nodes that run and are not paused, and can therefore answer."""
        ...

    def direct(self, node: int) -> Address: ...

    def number_of(self, broker_id: int) -> int:
        """Return the number of the node with this broker id, or 0 if there is none."""
        ...

    def controller(self) -> int | None: ...


def resolve(node: Node, cluster: Askable) -> tuple[int, ...]:
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


def _all(cluster: Askable) -> tuple[int, ...]:
    return tuple(range(1, cluster.nodes + 1))


def _some(cluster: Askable, count: int) -> tuple[int, ...]:
    return tuple(sorted(cluster.rng.sample(_all(cluster), count)))


def _next(cluster: Askable) -> tuple[int, ...]:
    return (next(cluster.turns) % cluster.nodes + 1,)


def _controller(cluster: Askable) -> tuple[int, ...]:
    found = cluster.controller()
    return () if found is None else (found,)


def _leader(cluster: Askable) -> tuple[int, ...]:
    view = focus(cluster)
    return () if view is None or view.leader < 1 else (view.leader,)


def _coordinator(
    cluster: Askable, ask: Callable[[Address, float], Sequence[str]]
) -> tuple[int, ...]:
    """Return a tuple with one node, chosen at random, out of those for which `ask` lists at least
    one name, or () if there are none. A node that does not answer counts as listing none."""
    found = []
    for node in cluster.reachable():
        with suppress(WireError):
            found += [node] if ask(cluster.direct(node), ASK_TIMEOUT_S) else []
    return (cluster.rng.choice(found),) if found else ()


def _follower(cluster: Askable) -> tuple[int, ...]:
    if cluster.nodes == 1:
        # A single node has no follower. It gets that role, too, so that a nemesis that strikes the
        # roles in turn always strikes a node.
        return _leader(cluster)
    view = focus(cluster)
    if view is None:
        return ()
    followers = sorted(set(view.replicas) - {view.leader})
    # Prefer a follower that runs, since striking a dead one would change nothing.
    followers = [node for node in followers if node in cluster.reachable()] or followers
    return (cluster.rng.choice(followers),) if followers else ()


RESOLVERS: Mapping[str, Callable[[Askable], tuple[int, ...]]] = {
    "leader": _leader,
    "follower": _follower,
    "controller": _controller,
    "group-coordinator": lambda cluster: _coordinator(cluster, probe.groups),
    "transaction-coordinator": lambda cluster: _coordinator(cluster, probe.transactional_ids),
    "random": lambda cluster: (cluster.rng.randrange(1, cluster.nodes + 1),),
    "next": _next,
    "minority": lambda cluster: _some(cluster, (cluster.nodes - 1) // 2),
    "majority": lambda cluster: _some(cluster, cluster.nodes // 2 + 1),
    "all": _all,
}


def focus(cluster: Askable) -> PartitionView | None:
    """Return the partition that the workload chose for faults of leaders and followers, as the
    reachable node with the newest leader epoch sees it, or None if no node knows it. Raise
    TargetError if the workload chose none."""
    if cluster.focus is None:
        raise TargetError(
            "the roles leader and follower need a partition; set `focus` to (topic, partition)"
        )
    views = _views(cluster, *cluster.focus)
    # A node that is cut off reports an old state: the highest leader epoch is the newest.
    return max(views, key=lambda view: view.leader_epoch, default=None)


def _views(cluster: Askable, topic: str, partition: int) -> Iterable[PartitionView]:
    for node in cluster.reachable():
        try:
            view = probe.partition(cluster.direct(node), topic, partition, ASK_TIMEOUT_S)
        except WireError:
            continue
        if view is not None:
            yield _in_numbers(view, cluster)


def _in_numbers(view: PartitionView, cluster: Askable) -> PartitionView:
    """Return the view with node numbers instead of broker ids. No leader, or one that is no node of
    the cluster, becomes 0; such replicas are left out."""
    replicas = tuple(filter(None, map(cluster.number_of, view.replicas)))
    return PartitionView(cluster.number_of(view.leader), view.leader_epoch, replicas)
