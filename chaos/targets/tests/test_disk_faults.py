"""Test faults of disks as clients of a broker observe them: a produce hangs, is refused, or is
lost."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from chaos.means.disks import Disk
from chaos.targets import parse_target
from chaos.targets.clusters.equipment import heal_disks
from chaos.targets.clusters.node import LocalNode
from chaos.tests.acknowledging import strike
from chaos.values.able_targets import DiskTarget
from chaos.values.fault_kinds import DISK_FAULTS
from chaos.values.faults import DiskDead, DiskFull, DiskReadOnly, DiskStall, Heal, PowerLoss
from chaos.values.protocols import Cluster, TargetError

WAIT_S = 180.0
QUICK_S = 2.0
TOPIC = "t"
RECORDS = 20
MORE_THAN_A_BLOCK = 100_000
"""Bytes: what is left of the file's last block can be written on a full disk, too."""

FLUSH_EACH = {"log.flush.interval.messages": "1"}
needs_disks = pytest.mark.needs("root", "loop")
TARGETS = [
    pytest.param("reference", id="reference"),
    pytest.param("apache:4.3.1", id="apache", marks=pytest.mark.needs("java", "kafka-jars")),
]


def started(target: str, directory: Path, config: dict[str, str]) -> Cluster:
    made = parse_target(target)
    assert isinstance(made, DiskTarget)
    cluster = made.with_disks().start(directory, 1, config)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(WAIT_S)
    return cluster


@pytest.fixture(params=TARGETS)
def flushing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    """Provide a broker that syncs each record before it acknowledges it."""
    cluster = started(request.param, tmp_path, FLUSH_EACH)
    mount_point = (tmp_path / "data" / "1").resolve().parent
    assert mount_point.is_mount()
    yield cluster
    cluster.stop()
    assert not mount_point.exists()


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {WAIT_S:.0f} s: {what}"
        time.sleep(0.1)


class Sending:
    """One record on its way."""

    def __init__(self, cluster: Cluster, size: int = 1000) -> None:
        self.ended: list[KafkaError | None] = []
        self._producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "acks": "all",
                "message.timeout.ms": round(WAIT_S * 1000),
                "log_level": 0,
            }
        )
        self._producer.produce(
            TOPIC, b"x" * size, partition=0, on_delivery=lambda error, _: self.ended.append(error)
        )

    def acknowledged_within(self, timeout_s: float) -> bool:
        self._producer.flush(timeout_s)
        return self.ended == [None]


def send(cluster: Cluster, count: int) -> None:
    """Send `count` records, one after the other, and require that each is acknowledged."""
    for _ in range(count):
        assert Sending(cluster).acknowledged_within(WAIT_S)


def log_end(cluster: Cluster) -> int:
    """Ask for the partition's log end offset until a leader answers. Return the offset."""
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": "unused", "log_level": 0}
    )
    deadline = time.monotonic() + WAIT_S
    try:
        while True:
            try:
                return int(consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), 5.0)[1])
            except KafkaException:
                assert time.monotonic() < deadline, "nobody tells the log end"
    finally:
        consumer.close()


@needs_disks
@pytest.mark.sliced(2)
def test_each_fault_of_a_disk_is_felt_and_healed(flushing: Cluster) -> None:
    cluster = flushing
    send(cluster, 1)

    assert cluster.perform(DiskStall("all")).nodes == (1,)
    hanging = Sending(cluster)
    assert not hanging.acknowledged_within(QUICK_S)  # its sync hangs
    cluster.perform(Heal())
    assert hanging.acknowledged_within(WAIT_S)

    assert cluster.perform(PowerLoss("all")).nodes == (1,)
    assert not cluster.alive()
    assert cluster.perform(Heal()).nodes == (1,)
    wait_until(cluster.alive, "it is back after the loss of power")
    assert log_end(cluster) == 2  # all was synced

    assert cluster.perform(DiskFull("all")).nodes == (1,)
    refused = Sending(cluster, MORE_THAN_A_BLOCK)
    assert not refused.acknowledged_within(QUICK_S)
    cluster.restart()
    assert refused.acknowledged_within(WAIT_S)
    assert log_end(cluster) >= 3


@needs_disks
@pytest.mark.sliced(2)
@pytest.mark.parametrize("target", TARGETS)
def test_a_loss_of_power_takes_what_default_flushing_left_to_the_system(
    target: str, tmp_path: Path
) -> None:
    cluster = started(target, tmp_path, {})
    try:
        send(cluster, RECORDS)
        assert log_end(cluster) == RECORDS
        cluster.perform(PowerLoss("random"))
        cluster.perform(Heal())
        wait_until(cluster.alive, "it is back after the loss of power")
        assert log_end(cluster) < RECORDS
    finally:
        cluster.stop()


@needs_disks
def test_without_disks_of_its_own_a_cluster_says_so(tmp_path: Path) -> None:
    cluster = parse_target("reference").start(tmp_path)
    try:
        with pytest.raises(TargetError, match="without disks of its own, so it cannot PowerLoss"):
            cluster.perform(PowerLoss("all"))
    finally:
        cluster.stop()


def test_who_can_perform_them_can_be_put_on_disks() -> None:
    for name in ("reference", "apache"):
        target = parse_target(name)
        assert target.faults >= DISK_FAULTS
        assert isinstance(target, DiskTarget)
    assert not parse_target("kfake").faults & DISK_FAULTS


WRITER = """
import os, sys
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
while True:
    try:
        os.write(log, b"x")
    except OSError:
        break
    os.write(1, b".")
"""
"""Writes a byte after the other, and tells of each; not any more when its disk refuses."""


@needs_disks
@pytest.mark.parametrize("fault", [DiskReadOnly, DiskDead])
def test_a_disk_that_fails_keeps_what_was_acknowledged_up_to_then(
    fault: type[DiskReadOnly | DiskDead], tmp_path: Path
) -> None:
    disk = Disk.make("writer")
    log = disk.mount_point / "log"
    command = [sys.executable, "-c", WRITER, str(log)]
    node = LocalNode(1, command, ("127.0.0.1", 9), tmp_path, disk=disk)
    try:
        node.start()
        wait_until(lambda: log.is_file() and log.stat().st_size > 0, "it writes")
        strike(node, fault(1))
        wait_until(lambda: not node.running, "it is refused")
        heal_disks([node])
        assert log.stat().st_size >= node.log.stat().st_size > 0
    finally:
        node.stop()
        disk.remove()
