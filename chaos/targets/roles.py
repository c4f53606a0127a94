"""Which node is "the leader" now? Roles are resolved when the fault is performed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Protocol

from chaos.faults import ROLES, Node
from chaos.protocols import TargetError
from chaos.targets import probe
from chaos.targets.probe import Address, NoAnswer, PartitionView

ASK_TIMEOUT_S = 2.0


class Askable(Protocol):
    """What resolving a role needs of a cluster."""

    nodes: int
    focus: tuple[str, int] | None
    rng: Random
    lowest_broker_id: int
    """The broker id of node 1."""

    def reachable(self) -> Sequence[int]:
        """Nodes that run and are not paused: those worth asking."""
        ...

    def direct(self, node: int) -> Address: ...

    def controller(self) -> int | None: ...


def resolve(node: Node, cluster: Askable) -> tuple[int, ...]:
    """The nodes that a number or a role means now; none if the role is nobody's at the moment."""
    if isinstance(node, int):
        if not 1 <= node <= cluster.nodes:
            raise TargetError(f"there is no node {node}; this cluster has 1 to {cluster.nodes}")
        return (node,)
    if node == "all":
        return tuple(range(1, cluster.nodes + 1))
    if node == "random":
        return (cluster.rng.randrange(1, cluster.nodes + 1),)
    if node == "controller":
        found = cluster.controller()
        return () if found is None else (found,)
    if node == "leader":
        view = focus(cluster)
        return () if view is None or view.leader < 1 else (view.leader,)
    if node == "follower":
        return _follower(cluster)
    raise TargetError(f"{node!r} is no node: use a number, or one of {', '.join(ROLES)}")


def _follower(cluster: Askable) -> tuple[int, ...]:
    view = focus(cluster)
    if view is None:
        return ()
    followers = sorted(set(view.replicas) - {view.leader})
    # A follower that is up, if there is one: striking a dead one would change nothing.
    followers = [node for node in followers if node in cluster.reachable()] or followers
    return (cluster.rng.choice(followers),) if followers else ()


def focus(cluster: Askable) -> PartitionView | None:
    """The focus partition, as the best informed of the reachable nodes sees it."""
    if cluster.focus is None:
        raise TargetError(
            "the roles leader and follower need a partition; set `focus` to (topic, partition)"
        )
    views = _views(cluster, *cluster.focus)
    # A node cut off from the controller tells the past: the highest leader epoch is the newest.
    return max(views, key=lambda view: view.leader_epoch, default=None)


def _views(cluster: Askable, topic: str, partition: int) -> Iterable[PartitionView]:
    for node in cluster.reachable():
        try:
            view = probe.partition(cluster.direct(node), topic, partition, ASK_TIMEOUT_S)
        except NoAnswer:
            continue
        if view is not None:
            yield _in_numbers(view, cluster.lowest_broker_id)


def _in_numbers(view: PartitionView, lowest_broker_id: int) -> PartitionView:
    """Broker ids as node numbers; "no leader" (-1) becomes a number below 1."""
    first = 1 - lowest_broker_id
    replicas = tuple(broker + first for broker in view.replicas)
    return PartitionView(view.leader + first, view.leader_epoch, replicas)
