"""The end and the heal of a cluster of which not everything goes as it should."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from chaos.faults import Heal
from chaos.links import LinkError, Links
from chaos.protocols import TargetError
from chaos.targets.cluster import LocalCluster, LocalNode


class Node(LocalNode):
    """Not more than its start, and its end, which fails for the first."""

    started = stopped = False

    def start(self) -> None:
        self.started = True

    def stop(self) -> None:
        if self.number == 1:
            raise TargetError("it does not go")
        self.stopped = True


class Proxies:
    stopped = False

    def stop(self) -> None:
        self.stopped = True

    def heal(self) -> None:
        raise LinkError("they hang")


def test_a_node_that_does_not_go_keeps_nothing_else_from_going(tmp_path: Path) -> None:
    nodes = [Node(number, (), ("127.0.0.1", 9), tmp_path) for number in (1, 2, 3)]
    links = Proxies()
    cluster = LocalCluster("t", "1", "b", nodes, frozenset(), cast("Links", links))
    with pytest.raises(TargetError, match="it does not go"):
        cluster.stop()
    assert [node.stopped for node in nodes] == [False, True, True]
    assert links.stopped


def test_nodes_are_brought_back_although_their_links_cannot_be_healed(tmp_path: Path) -> None:
    node = Node(2, (), ("127.0.0.1", 9), tmp_path)
    links = cast("Links", Proxies())
    cluster = LocalCluster("t", "1", "b", [node], frozenset({Heal}), links)
    with pytest.raises(TargetError, match="Heal failed: they hang"):
        cluster.perform(Heal())
    assert node.started
