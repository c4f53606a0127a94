"""Test the end and the heal of a cluster in which some steps fail."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, cast

import pytest

from chaos.means import processes
from chaos.means.links import LinkError, Links
from chaos.means.processes import Child
from chaos.targets.clusters.cluster import LocalCluster
from chaos.targets.clusters.members import kill_and_wait
from chaos.targets.clusters.node import LocalNode
from chaos.values.faults import Heal
from chaos.values.protocols import TargetError


class Node(LocalNode):
    """A node of which only start and stop exist: its start fails if it is broken, and the stop of
    the first node always fails."""

    started = stopped = broken = False

    def start(self) -> None:
        if self.broken:
            raise TargetError(f"node {self.number} does not start")
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
    cluster = LocalCluster("t", "1", "b", nodes, {}, cast("Links", links))
    with pytest.raises(TargetError, match="it does not go"):
        cluster.stop()
    assert [node.stopped for node in nodes] == [False, True, True]
    assert links.stopped


def test_nodes_are_brought_back_although_their_links_cannot_be_healed(tmp_path: Path) -> None:
    node = Node(2, (), ("127.0.0.1", 9), tmp_path)
    links = cast("Links", Proxies())
    cluster = LocalCluster("t", "1", "b", [node], {}, links)
    with pytest.raises(TargetError, match="Heal failed: they hang"):
        cluster.perform(Heal())
    assert node.started


def test_a_node_that_does_not_start_keeps_no_other_from_coming_back(tmp_path: Path) -> None:
    nodes = [Node(number, (), ("127.0.0.1", 9), tmp_path) for number in (1, 2)]
    nodes[0].broken = True
    cluster = LocalCluster("t", "1", "b", nodes, {})
    with pytest.raises(TargetError, match="node 1 does not start"):
        cluster.perform(Heal())
    assert nodes[1].started


class Hanging:
    """A process that does not end even after SIGKILL, because the kernel does not release it."""

    pid = (1 << 22) + 1  # of nobody: the largest there is, is one less
    returncode = None

    def poll(self) -> None:
        return None

    def wait(self, timeout_s: float) -> None:
        raise subprocess.TimeoutExpired("java", timeout_s)


def test_a_killed_process_that_hangs_in_the_kernel_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "KILL_TIMEOUT_S", 1.0)
    node = LocalNode(1, (), ("127.0.0.1", 9), tmp_path)
    node.child = Child("node 1", cast(Any, Hanging()), tmp_path / "log")
    with pytest.raises(TargetError, match=r"node 1 \(process \d+\) still exists 1 s after"):
        kill_and_wait([node])
    with pytest.raises(TargetError, match=r"node 1 cannot be started: node 1 .* still exists"):
        node.start()
