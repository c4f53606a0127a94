"""Test that roles are resolved when the fault strikes, by the node with the newest knowledge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from random import Random

import pytest

from chaos.means.connection import WireError
from chaos.targets.clusters import probe, roles
from chaos.targets.clusters.probe import PartitionView
from chaos.values.faults import Node
from chaos.values.protocols import TargetError
from chaos.world import Address


class ThreeNodes:
    """Node n answers at port n with what `views` holds for it."""

    nodes = 3
    lowest_broker_id = 1

    def __init__(self, views: dict[int, PartitionView | None], up: Sequence[int] = (1, 2, 3)):
        self.focus: tuple[str, int] | None = ("t", 0)
        self.rng = Random(7)
        self.turns: Iterator[int] = count()
        self.up = up
        self.views = views

    def reachable(self) -> Sequence[int]:
        return self.up

    def direct(self, node: int) -> Address:
        return "127.0.0.1", node

    def number_of(self, broker_id: int) -> int:
        return max(0, broker_id + 1 - self.lowest_broker_id)

    def controller(self) -> int | None:
        return 2

    def answer(
        self, address: Address, topic: str, index: int, timeout_s: float
    ) -> PartitionView | None:
        assert (topic, index) == self.focus
        if address[1] not in self.views:
            raise WireError("nobody there")
        return self.views[address[1]]


def resolve(cluster: ThreeNodes, node: Node, monkeypatch: pytest.MonkeyPatch) -> tuple[int, ...]:
    monkeypatch.setattr(probe, "partition", cluster.answer)
    return roles.resolve(node, cluster)


OLD = PartitionView(leader=1, leader_epoch=4, replicas=(1, 2, 3))
NEW = PartitionView(leader=3, leader_epoch=5, replicas=(1, 2, 3))


def test_the_leader_is_that_of_the_highest_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Node 1 is cut off and still believes that it leads."""
    assert resolve(ThreeNodes({1: OLD, 2: NEW, 3: NEW}), "leader", monkeypatch) == (3,)


def test_nodes_that_do_not_answer_or_do_not_know_are_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert resolve(ThreeNodes({2: None, 3: NEW}), "leader", monkeypatch) == (3,)


def test_nobody_is_leader_while_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = PartitionView(leader=-1, leader_epoch=6, replicas=(1, 2, 3))
    assert resolve(ThreeNodes({1: nobody, 2: NEW}), "leader", monkeypatch) == ()
    assert resolve(ThreeNodes({}), "leader", monkeypatch) == ()


def test_a_lone_node_is_its_own_follower(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a nemesis that takes roles in turn would sometimes strike no node."""
    cluster = ThreeNodes({1: PartitionView(leader=1, leader_epoch=4, replicas=(1,))}, up=(1,))
    cluster.nodes = 1
    assert resolve(cluster, "follower", monkeypatch) == (1,)


def test_a_follower_is_a_replica_that_runs_and_does_not_lead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = ThreeNodes({2: NEW, 3: NEW}, up=(2, 3))
    assert {resolve(cluster, "follower", monkeypatch) for _ in range(20)} == {(2,)}


def test_random_is_drawn_from_the_clusters_own_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = ThreeNodes({}), ThreeNodes({})
    drawn = [resolve(first, "random", monkeypatch) for _ in range(30)]
    assert drawn == [resolve(second, "random", monkeypatch) for _ in range(30)]
    assert set(drawn) == {(1,), (2,), (3,)}


def test_numbers_and_all_and_controller_need_no_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = ThreeNodes({})
    cluster.focus = None
    assert resolve(cluster, 2, monkeypatch) == (2,)
    assert resolve(cluster, "all", monkeypatch) == (1, 2, 3)
    assert resolve(cluster, "controller", monkeypatch) == (2,)


@pytest.mark.parametrize(
    ("node", "sentence"),
    [
        (4, "there is no node 4; this cluster has 1 to 3"),
        (0, "there is no node 0"),
        ("boss", "'boss' is not a node: use a number, or one of leader, follower"),
    ],
)
def test_a_node_that_does_not_exist_is_named(
    node: Node, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TargetError, match=sentence):
        resolve(ThreeNodes({}), node, monkeypatch)


def test_leader_without_a_partition_is_an_error_that_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = ThreeNodes({})
    cluster.focus = None
    with pytest.raises(TargetError, match="set `focus`"):
        resolve(cluster, "leader", monkeypatch)


def test_brokers_counted_from_zero_are_nodes_counted_from_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = ThreeNodes({1: PartitionView(leader=0, leader_epoch=0, replicas=(0,))})
    cluster.lowest_broker_id = 0
    assert resolve(cluster, "leader", monkeypatch) == (1,)
    cluster.views[1] = PartitionView(leader=-1, leader_epoch=0, replicas=(0,))
    assert resolve(cluster, "leader", monkeypatch) == ()


def test_next_takes_each_node_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = ThreeNodes({})
    taken = [resolve(cluster, "next", monkeypatch) for _ in range(4)]
    assert taken == [(1,), (2,), (3,), (1,)]


def test_minority_and_majority_are_chosen_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = ThreeNodes({})
    fewer = {resolve(cluster, "minority", monkeypatch) for _ in range(50)}
    more = {resolve(cluster, "majority", monkeypatch) for _ in range(50)}
    assert fewer == {(1,), (2,), (3,)}
    assert more == {(1, 2), (1, 3), (2, 3)}


@pytest.mark.parametrize(
    ("role", "question"),
    [("group-coordinator", "groups"), ("transaction-coordinator", "transactional_ids")],
)
def test_a_coordinator_is_who_lists_something(
    role: str, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Node 1 cannot be asked, node 2 coordinates something, node 3 nothing."""

    def listed(address: Address, timeout_s: float) -> list[str]:
        if address[1] == 1:
            raise WireError("nobody there")
        return ["g"] if address[1] == 2 else []

    monkeypatch.setattr(probe, question, listed)
    assert roles.resolve(role, ThreeNodes({})) == (2,)
    assert roles.resolve(role, ThreeNodes({}, up=(1, 3))) == ()
