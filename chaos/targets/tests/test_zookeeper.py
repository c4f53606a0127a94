"""Test Apache Kafka in ZooKeeper mode: settings, what a restart waits for, and a cluster."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.targets import parse_target, zookeeper
from chaos.targets.clusters import layout
from chaos.targets.clusters.node import LocalNode
from chaos.targets.tests.test_apache import keeps_what_it_acknowledged_through_a_kill
from chaos.targets.zookeeper import ApacheOnZooKeeper, ZooKeeperCluster, asked
from chaos.values.faults import CutLink, Kill, Pause
from chaos.values.protocols import TargetError
from chaos.world import Address


def test_a_broker_has_no_setting_of_a_quorum() -> None:
    three = layout.plain(3)
    settings = ApacheOnZooKeeper().settings_of(three, 2, Path("/data"))
    assert not [key for key in settings if key.startswith(("process.", "controller.quorum.v"))]
    assert settings["node.id"] == "2"
    for key in ("listeners", "advertised.listeners"):
        names = [url.partition("://")[0] for url in settings[key].split(",")]
        assert names == ["CLIENT", "INTERNAL"]
    assert settings["inter.broker.listener.name"] == "INTERNAL"


def test_faults_of_links_are_refused_and_kills_are_not() -> None:
    faults = parse_target("apache:3.9-zookeeper").faults
    assert {Kill, Pause} <= faults
    assert CutLink not in faults


@pytest.mark.parametrize("nodes", [2, 4])
def test_another_number_of_nodes_is_refused(nodes: int, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=f"runs 1 or 3 nodes, not {nodes}"):
        parse_target("apache:3.9-zookeeper").start(tmp_path, nodes)


class Registry:
    """Answers `dump` like a ZooKeeper that knows broker 1 and broker 11, and forgets broker 1 after
    some answers."""

    def __init__(self, remembers: int) -> None:
        self.left = remembers
        self.server = socket.create_server(("127.0.0.1", 0))
        self.address: Address = self.server.getsockname()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            with connection:
                assert connection.recv(4) == b"dump"
                known = "\t/brokers/ids/1\n" if self.left > 0 else ""
                self.left -= 1
                connection.sendall(f"Sessions:\n{known}\t/brokers/ids/11\n".encode())


@pytest.fixture
def registry() -> Iterator[Registry]:
    made = Registry(remembers=2)
    yield made
    made.server.close()


def broker(tmp_path: Path, address: Address) -> LocalNode:
    """Return a broker whose process only waits."""
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    node = zookeeper._Broker(1, command, ("127.0.0.1", 1), tmp_path)
    node.zookeeper = address
    return node


def test_a_killed_broker_starts_again_only_after_its_registration_is_gone(
    tmp_path: Path, registry: Registry
) -> None:
    node = broker(tmp_path, registry.address)
    node.start()
    assert registry.left == 2  # nothing to wait for at the first start
    try:
        first = node.child
        assert first is not None
        first.kill()
        node.start()
        assert registry.left == -1
        assert node.running
        assert node.child is not first
        node.start()  # it runs: nothing happens
        assert registry.left == -1
    finally:
        node.stop()


def test_a_registration_that_stays_is_a_sentence(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.left = 1_000_000
    monkeypatch.setattr(zookeeper, "EXPIRY_TIMEOUT_S", 0.3)
    node = broker(tmp_path, registry.address)
    node.start()
    try:
        assert node.child is not None
        node.child.kill()
        with pytest.raises(TargetError, match="still has the registration of broker 1 after 0 s"):
            node.start()
    finally:
        node.stop()


def test_a_zookeeper_that_is_gone_answers_nothing() -> None:
    assert asked(("127.0.0.1", 1), "ruok") == ""


def test_a_zookeeper_that_ends_is_a_sentence_with_its_last_words(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('no such file: zoo.cfg')"]
    server = LocalNode(0, command, ("127.0.0.1", 1), tmp_path / "zookeeper")
    cluster = ZooKeeperCluster(("apache", "3.9.1"), [], server, layout.plain(1), [])
    with pytest.raises(TargetError, match=r"ZooKeeper ended; its last words: .*zoo.cfg"):
        cluster.start()
    assert not server.running


@pytest.mark.nightly
@pytest.mark.needs("java", "kafka-jars")
def test_one_broker_keeps_what_it_acknowledged_through_a_kill(tmp_path: Path) -> None:
    cluster = parse_target("apache:3.9-zookeeper").start(tmp_path, 1, {"num.partitions": "3"})
    assert isinstance(cluster, ZooKeeperCluster)
    try:
        keeps_what_it_acknowledged_through_a_kill(cluster)
        cluster.collect(tmp_path / "kept")
    finally:
        cluster.stop()
    assert not any(node.running for node in cluster.processes())
    assert (tmp_path / "kept" / "zookeeper" / "node.log").stat().st_size
    assert "zookeeper.connect=127" in (tmp_path / "kept" / "1" / "server.properties").read_text()
