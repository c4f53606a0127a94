"""Test Apache Kafka in JVMs: one node of 3.9, and three of 4.3 with every link proxied."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from chaos.targets import parse_target
from chaos.targets.clusters import roles
from chaos.targets.clusters.kraft import KraftCluster
from chaos.values.faults import CutLink, Heal, Isolate, Kill
from chaos.values.protocols import Cluster, TargetError

pytestmark = pytest.mark.needs("java", "kafka-jars")
WAIT_S = 180.0
TOPIC = "t"


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {WAIT_S:.0f} s: {what}"
        time.sleep(0.1)


def create_topic(cluster: Cluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    created = admin.create_topics([NewTopic(TOPIC, 1, cluster.nodes)])
    created[TOPIC].result(WAIT_S)
    cluster.focus = (TOPIC, 0)


def send(cluster: Cluster, *values: str) -> list[int]:
    """Send with acks=all, and return the offsets; fails if one is not acknowledged."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    reports: list[object] = []
    for value in values:
        producer.produce(
            TOPIC, value, partition=0, on_delivery=lambda e, m: reports.append(e or m.offset())
        )
    producer.flush(WAIT_S)
    assert all(isinstance(report, int) for report in reports), reports
    return [report for report in reports if isinstance(report, int)]


def read(cluster: Cluster, count: int) -> list[str]:
    """Return the first `count` values of the topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "unused",  # the library insists on one
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    values: list[str] = []
    deadline = time.monotonic() + WAIT_S
    while len(values) < count and time.monotonic() < deadline:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            values.append((message.value() or b"").decode())
    consumer.close()
    return values


def keeps_what_it_acknowledged_through_a_kill(cluster: Cluster) -> None:
    create_topic(cluster)
    assert send(cluster, "a", "b") == [0, 1]
    assert cluster.perform(Kill("leader")).nodes == (1,)
    assert not cluster.alive()
    cluster.restart()
    assert cluster.alive()
    assert send(cluster, "c") == [2]
    assert read(cluster, 3) == ["a", "b", "c"]


@pytest.mark.nightly
def test_one_node_of_3_9_keeps_what_it_acknowledged_through_a_kill(tmp_path: Path) -> None:
    cluster = parse_target("apache:3.9").start(tmp_path, 1, {"num.partitions": "3"})
    try:
        keeps_what_it_acknowledged_through_a_kill(cluster)
        with pytest.raises(TargetError, match="was started without proxies, so it cannot CutLink"):
            cluster.perform(CutLink(1, 1))
    finally:
        cluster.stop()
    assert "num.partitions=3" in (tmp_path / "nodes" / "1" / "server.properties").read_text()


def test_a_configuration_that_kafka_refuses_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"Kafka refuses the configuration: .*contrller"):
        parse_target("apache").start(tmp_path, 1, {"process.roles": "broker, contrller"})


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KraftCluster]:
    cluster = parse_target("apache:4.3").start(tmp_path_factory.mktemp("three"), 3, {}, True)
    assert isinstance(cluster, KraftCluster)
    try:
        create_topic(cluster)
        yield cluster
    finally:
        cluster.stop()


def leader(cluster: KraftCluster) -> int:
    view = roles.focus(cluster)
    return view.leader if view is not None else -1


@pytest.mark.nightly
@pytest.mark.needs("toxiproxy")
def test_isolated_leaders_of_a_partition_and_of_the_quorum_are_replaced(
    three: KraftCluster,
) -> None:
    """Links between controllers are cut as well as those between brokers."""
    before = leader(three)
    struck = three.perform(Isolate("leader"))
    assert struck.nodes == (before,)
    wait_until(lambda: leader(three) not in (before, -1), "another leader")
    controller = three.controller()
    assert controller is not None
    three.perform(Heal())
    three.wait_ready()
    three.perform(Isolate(controller, with_clients=True, how="refuse"))
    wait_until(lambda: leader(three) not in (controller, -1), "a leader that is not cut off")
    wait_until(lambda: three.controller() not in (controller, None), "another controller")
    three.perform(Heal())
    three.wait_ready()


@pytest.mark.needs("toxiproxy")
def test_no_node_reaches_another_past_the_proxies(three: KraftCluster) -> None:
    """After elections too: a new leader tells its peers where to connect (KIP-853)."""
    network = three.layout.network
    through_proxies: set[str] = set()
    for member in three.members():
        assert member.child is not None
        remotes = set(remote_hosts(member.child.pid))
        others = [n for n in three.layout.numbers() if n != member.number]
        assert not remotes & {f"127.{network}.{n}.{n}" for n in others}
        through_proxies |= remotes & {f"127.{network}.{member.number}.{n}" for n in others}
    # A node that leads all partitions connects to no other; the two others connect to it.
    assert len(through_proxies) >= 2


@pytest.mark.nightly
@pytest.mark.needs("toxiproxy")
def test_a_killed_leader_is_replaced_and_comes_back_with_its_data(three: KraftCluster) -> None:
    first = send(three, "a", "b")
    (killed,) = three.perform(Kill("leader")).nodes
    assert killed not in three.reachable()
    second = send(three, "c")
    assert three.perform(Heal()).nodes == (killed,)
    three.wait_ready()
    assert first + second == list(range(first[0], first[0] + 3))
    assert read(three, 3) == ["a", "b", "c"]


def remote_hosts(pid: int) -> Iterator[str]:
    """Yield the remote IPv4 hosts of a process's connections, from /proc."""
    inodes = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            inodes.add(str(descriptor.readlink()))
        except OSError:  # closed meanwhile
            continue
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if f"socket:[{fields[9]}]" in inodes:
            yield ".".join(str(byte) for byte in reversed(bytes.fromhex(fields[2][:8])))
