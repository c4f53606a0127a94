"""The end of a cluster of which not everything goes as it should."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from chaos.links import Links
from chaos.protocols import TargetError
from chaos.targets.cluster import LocalCluster, LocalNode


class Node(LocalNode):
    """Not more than its end, which fails for the first."""

    stopped = False

    def stop(self) -> None:
        if self.number == 1:
            raise TargetError("it does not go")
        self.stopped = True


class Proxies:
    stopped = False

    def stop(self) -> None:
        self.stopped = True


def test_a_node_that_does_not_go_keeps_nothing_else_from_going(tmp_path: Path) -> None:
    nodes = [Node(number, (), ("127.0.0.1", 9), tmp_path) for number in (1, 2, 3)]
    links = Proxies()
    cluster = LocalCluster("t", "1", "b", nodes, frozenset(), cast("Links", links))
    with pytest.raises(TargetError, match="it does not go"):
        cluster.stop()
    assert [node.stopped for node in nodes] == [False, True, True]
    assert links.stopped
