"""Test which links a fault of links concerns, on clusters of several sizes, without toxiproxy."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import cast

import pytest

from chaos.means.links import Toxic
from chaos.targets.clusters.cluster import LocalCluster
from chaos.targets.clusters.layout import client_link, node_links
from chaos.targets.faults.link_faults import PERFORMERS
from chaos.values.fault_kinds import TOXIC_FAULTS
from chaos.values.faults import (
    CutControllers,
    Fault,
    How,
    LimitData,
    NarrowLinks,
    ResetConnections,
    Shape,
    SlowClose,
    SlowLinks,
    Split,
    StallConnections,
)

TOXICS: tuple[Fault, ...] = (
    SlowLinks(1, 5),
    NarrowLinks(1, 5),
    ResetConnections(1),
    SlowClose(1, 5),
    LimitData(1, 5),
    StallConnections(1, 0.25),
)


class Links:
    """Remembers what was done to which link."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self.cuts: set[str] = set()
        self.poisons: dict[str, Toxic] = {}

    def cut(self, name: str, how: How) -> None:
        self.cuts.add(name)

    def poison(self, name: str, toxic: Toxic) -> None:
        self.poisons[name] = toxic


class Cluster:
    """A cluster of `nodes` nodes with all links; roles are node numbers."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.rng = Random(7)
        numbers = range(1, nodes + 1)
        names = [client_link(node) for node in numbers]
        for source in numbers:
            for to in numbers:
                names += node_links(source, to) if source != to else ()
        self.links = Links(names)

    def resolve(self, node: int) -> tuple[int, ...]:
        return (node,)

    def open_links(self) -> Links:
        return self.links


def strike(cluster: Cluster, fault: Fault) -> list[int]:
    return list(PERFORMERS[type(fault)](cast(LocalCluster, cluster), fault))


def dials(cluster: Cluster) -> dict[int, set[int]]:
    """Return the nodes that each node can still dial, as a broker."""
    numbers = range(1, cluster.nodes + 1)
    return {
        source: {
            to
            for to in numbers
            if to != source and node_links(source, to)[0] not in cluster.links.cuts
        }
        for source in numbers
    }


@pytest.mark.parametrize(("nodes", "minority"), [(3, 1), (4, 1), (5, 2), (7, 3)])
def test_halves_are_a_minority_with_the_node_in_it_and_the_rest(nodes: int, minority: int) -> None:
    cluster = Cluster(nodes)
    strike(cluster, Split("halves", 2))
    seen = dials(cluster)
    side = seen[2] | {2}
    assert len(side) == minority
    for node in range(1, nodes + 1):
        mine = side if node in side else set(range(1, nodes + 1)) - side
        assert seen[node] == mine - {node}


@pytest.mark.parametrize("nodes", [3, 4, 5])
def test_a_bridge_is_the_only_node_that_sees_all(nodes: int) -> None:
    cluster = Cluster(nodes)
    strike(cluster, Split("bridge", 1))
    seen = dials(cluster)
    assert [node for node, others in seen.items() if len(others) == nodes - 1] == [1]
    assert all(1 in others for node, others in seen.items() if node != 1)


@pytest.mark.parametrize("nodes", [3, 5])
def test_in_a_ring_each_node_sees_a_majority_and_no_two_the_same(nodes: int) -> None:
    cluster = Cluster(nodes)
    strike(cluster, Split("ring", 1))
    majorities = {frozenset(others | {node}) for node, others in dials(cluster).items()}
    assert {len(majority) for majority in majorities} == {nodes // 2 + 1}
    assert len(majorities) == nodes


def test_controllers_are_cut_on_their_own_links_only() -> None:
    cluster = Cluster(3)
    assert strike(cluster, CutControllers(1)) == [1]
    assert cluster.links.cuts == {
        "controller-1-2",
        "controller-2-1",
        "controller-1-3",
        "controller-3-1",
    }


@pytest.mark.parametrize("shape", ["halves", "bridge", "ring"])
def test_one_node_has_nobody_to_be_split_from(shape: Shape) -> None:
    cluster = Cluster(1)
    assert strike(cluster, Split(shape, 1)) == []
    assert cluster.links.cuts == set()


def test_every_fault_that_makes_links_worse_puts_a_toxic_of_its_own_on_them() -> None:
    assert {type(fault) for fault in TOXICS} == TOXIC_FAULTS
    kinds = set()
    for fault in TOXICS:
        cluster = Cluster(3)
        assert strike(cluster, fault) == [1]
        assert list(cluster.links.poisons) == ["client-1"]
        kinds.add(cluster.links.poisons["client-1"].kind)
    assert len(kinds) == len(TOXICS)


def test_links_between_nodes_are_poisoned_both_ways() -> None:
    cluster = Cluster(3)
    strike(cluster, SlowLinks(2, 5, where="nodes"))
    assert set(cluster.links.poisons) == {
        "internal-2-1",
        "internal-1-2",
        "internal-2-3",
        "internal-3-2",
    }


def test_of_a_lone_node_the_links_of_its_clients_are_poisoned_wherever_it_was_to_be() -> None:
    cluster = Cluster(1)
    assert strike(cluster, SlowLinks(1, 5, where="nodes")) == [1]
    assert set(cluster.links.poisons) == {"client-1"}
