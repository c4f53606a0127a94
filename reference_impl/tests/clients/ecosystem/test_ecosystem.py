"""Kafka Streams, Connect and MirrorMaker 2: the same outputs on the reference and on Apache Kafka.

Each program is killed in the middle and started again, and what it wrote must be what a run without
a failure writes. Apache Kafka is asked the same, so that a test which accuses a correct broker is
seen at once. On three nodes of either, brokers are killed meanwhile, too.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaException,
    Message,
    Producer,
)
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewTopic

from chaos.means.ports import free_ports
from chaos.targets import parse_target
from reference_impl.tests.clients.ecosystem.programs import (
    Program,
    compiled,
    put,
    running,
    wait_for,
    written,
)
from reference_impl.tests.clients.failing_over import NODES, Kills, failing_cluster

pytestmark = [pytest.mark.nightly, pytest.mark.needs("jdk", "kafka-jars", "ecosystem")]
T = TypeVar("T")
LATEST = OffsetSpec.latest()  # type: ignore[no-untyped-call]
PATIENCE_S = 300.0
NUMBERS = 600
SOURCED = 3_000
"""The number of source records: a worker needs half a minute for them, and is killed long
before."""
MIRRORED = 200
SETTINGS = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "4"}
REPLICATION = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}


class Brokers:
    """Starts clusters of one implementation, and ends them with the test."""

    def __init__(self, target: str, nodes: int, directory: Path, stack: ExitStack) -> None:
        self._target, self._nodes = target, nodes
        self._directory, self._stack = directory, stack
        self._kills: list[Kills] = []

    def start(self, name: str) -> str:
        """Start a cluster, and return its addresses."""
        if self._nodes > 1:
            seed = len(self._kills) + 1
            failing = failing_cluster(self._target, self._directory / name, SETTINGS, seed)
            bootstrap, kills = self._stack.enter_context(failing)
            self._kills.append(kills)
            return bootstrap
        settings = SETTINGS | (REPLICATION if self._target.startswith("apache") else {})
        cluster = parse_target(self._target).start(self._directory / name, 1, settings)
        self._stack.callback(cluster.stop)
        return cluster.bootstrap

    def fail(self) -> None:
        """Begin to kill nodes, one after another, where there are several."""
        for kills in self._kills:
            kills.start()

    @property
    def are_calm(self) -> bool:
        """Whether no more node will be killed."""
        return all(kills.are_over for kills in self._kills)


@pytest.fixture(
    params=[(target, nodes) for target in ("reference", "apache:4.3.1") for nodes in (1, NODES)],
    ids=["reference", "reference-3", "apache:4.3.1", "apache:4.3.1-3"],
)
def brokers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Brokers]:
    """Provide clusters of one implementation."""
    target, nodes = request.param
    with ExitStack() as stack:
        yield Brokers(target, nodes, tmp_path, stack)


def create(bootstrap: str, *topics: NewTopic) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics(list(topics)).values():
        made.result(PATIENCE_S)


def patiently(ask: Callable[[], T]) -> T:
    """Return the first answer, although the broker that is asked may just be killed."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return ask()
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def send(bootstrap: str, topic: str, numbers: Sequence[int], partitions: int) -> None:
    """Send the numbers as text, dealt to the partitions; every one must be acknowledged."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    failed: list[object] = []
    began_ms = int(time.time() * 1_000)  # not long ago: retention would take them
    for number in numbers:
        producer.produce(
            topic,
            str(number).encode(),
            str(number).encode(),
            partition=number % partitions,
            headers=[("number", str(number).encode())],
            timestamp=began_ms + number,
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )
    assert producer.flush(PATIENCE_S) == 0
    assert failed == []


def stable_ends(bootstrap: str, topic: str, partitions: int) -> dict[int, int]:
    """Return the last stable offset of each partition (ListOffsets, read_committed)."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    asked = {Place(topic, partition): LATEST for partition in range(partitions)}

    def ends() -> dict[int, int]:
        answers = admin.list_offsets(asked, isolation_level=IsolationLevel.READ_COMMITTED)
        return {place.partition: each.result(PATIENCE_S).offset for place, each in answers.items()}

    return patiently(ends)


def committed(bootstrap: str, topic: str, partitions: int) -> list[Message]:
    """Return the records below the last stable offset at the beginning, read with read_committed.

    Another program may be writing in the meantime, so reading to the end of the log might never
    finish.
    """
    ends = {p: end for p, end in stable_ends(bootstrap, topic, partitions).items() if end > 0}
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "no-member",
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
    }
    consumer = Consumer(settings)
    found: list[Message] = []
    try:
        consumer.assign([Place(topic, partition, 0) for partition in ends])
        reading = set(ends)
        deadline = time.monotonic() + PATIENCE_S
        while reading and time.monotonic() < deadline:
            for message in consumer.consume(500, 0.2):
                partition, offset = message.partition() or 0, message.offset() or 0
                if message.error() is None and offset < ends[partition]:
                    found.append(message)
                if message.error() is not None or offset >= ends[partition] - 1:
                    reading.discard(partition)
        assert not reading, f"{topic}: partitions {sorted(reading)} were not read to their ends"
        return found
    finally:
        consumer.close()


def text(content: bytes | None) -> str:
    assert content is not None
    return content.decode()


def sums_of(bootstrap: str) -> dict[str, int]:
    """Return the last sum of each digit, as a read_committed reader knows it."""
    found = sorted(committed(bootstrap, "sums", 3), key=lambda message: message.offset() or 0)
    return {text(message.key()): int(text(message.value())) for message in found}


def test_streams_counts_each_input_once_though_it_is_killed(
    brokers: Brokers, tmp_path: Path
) -> None:
    bootstrap = brokers.start("a")
    create(bootstrap, NewTopic("numbers", 3), NewTopic("sums", 3))
    classes = compiled("Sums.java", tmp_path)
    state = str(tmp_path / "state")
    log = tmp_path / "streams.log"
    send(bootstrap, "numbers", range(NUMBERS // 2), 3)
    with running(log, classes, "Sums", bootstrap, state) as program:
        wait_for("first sums", lambda: sums_of(bootstrap), program, PATIENCE_S)
    brokers.fail()
    send(bootstrap, "numbers", range(NUMBERS // 2, NUMBERS), 3)
    wanted: Counter[str] = Counter()
    for number in range(NUMBERS):
        wanted[str(number % 10)] += number

    def reached() -> bool:
        return brokers.are_calm and sum(sums_of(bootstrap).values()) >= wanted.total()

    with running(log, classes, "Sums", bootstrap, state) as program:
        wait_for("all sums", reached, program, PATIENCE_S)
    assert sums_of(bootstrap) == dict(wanted)


def worker_settings(bootstrap: str, port: int) -> dict[str, object]:
    """Return the settings of a distributed Connect worker that writes records and offsets in one
    transaction."""
    strings = "org.apache.kafka.connect.storage.StringConverter"
    return {
        "bootstrap.servers": bootstrap,
        "group.id": "workers",
        "exactly.once.source.support": "enabled",
        "listeners": f"http://127.0.0.1:{port}",
        "key.converter": strings,
        "value.converter": strings,
        **{f"{kind}.storage.topic": f"connect-{kind}" for kind in ("offset", "config", "status")},
        **{f"{kind}.storage.replication.factor": -1 for kind in ("offset", "config", "status")},
        "offset.storage.partitions": 3,
        "status.storage.partitions": 1,
        "scheduled.rebalance.max.delay.ms": 0,
        "session.timeout.ms": 20000,
        "heartbeat.interval.ms": 3000,
    }


def test_connect_writes_each_number_once_though_its_worker_is_killed(
    brokers: Brokers, tmp_path: Path
) -> None:
    bootstrap = brokers.start("a")
    create(bootstrap, NewTopic("numbered", 1))
    classes = compiled("NumbersSource.java", tmp_path / "classes")
    (port,) = free_ports(1)
    settings = written(tmp_path / "worker.properties", worker_settings(bootstrap, port))
    url = f"http://127.0.0.1:{port}/connectors/numbers/config"
    connector = {
        "connector.class": "touchstone.NumbersSource",
        "tasks.max": "1",
        "topic": "numbered",
        "count": str(SOURCED),
        "exactly.once.support": "required",
        "transaction.boundary": "poll",
    }
    main = "org.apache.kafka.connect.cli.ConnectDistributed"
    log = tmp_path / "connect.log"

    def numbers() -> list[int]:
        return [int(text(message.value())) for message in committed(bootstrap, "numbered", 1)]

    with running(log, classes, main, str(settings)) as program:
        wait_for("the worker", lambda: put(url, connector), program, PATIENCE_S)
        wait_for("first numbers", numbers, program, PATIENCE_S)
    assert 0 < len(numbers()) < SOURCED, "the worker was to be killed in the middle"
    brokers.fail()

    def everything_written() -> bool:
        return brokers.are_calm and len(numbers()) >= SOURCED

    with running(log, classes, main, str(settings)) as program:
        wait_for("all numbers", everything_written, program, PATIENCE_S)
    assert numbers() == list(range(SOURCED))


def mirror_settings(source: str, target: str) -> dict[str, object]:
    """Return settings of MirrorMaker 2 from a to b, with the positions of groups, in its dedicated
    mode."""
    factors = (
        "replication",
        "checkpoints.topic.replication",
        "heartbeats.topic.replication",
        "offset-syncs.topic.replication",
        "offset.storage.replication",
        "status.storage.replication",
        "config.storage.replication",
    )
    return {
        "clusters": "a, b",
        "a.bootstrap.servers": source,
        "b.bootstrap.servers": target,
        "a->b.enabled": "true",
        "b->a.enabled": "false",
        "a->b.topics": "mirrored",
        "a->b.groups": "readers",
        "a->b.sync.group.offsets.enabled": "true",
        "a->b.emit.checkpoints.interval.seconds": 1,
        "a->b.sync.group.offsets.interval.seconds": 1,
        "a->b.refresh.groups.interval.seconds": 1,
        "a->b.offset.lag.max": 0,
        **{f"{factor}.factor": -1 for factor in factors},
    }


def positions(bootstrap: str, topic: str) -> dict[int, int]:
    """Return where the group `readers` stands in the topic, partition by partition."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("readers")])
    found = asked["readers"].result(PATIENCE_S).topic_partitions or []
    return {place.partition: place.offset for place in found if place.topic == topic}


def commit(bootstrap: str, place: Place) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "readers"})
    try:
        consumer.commit(offsets=[place], asynchronous=False)
    finally:
        consumer.close()


def fields(message: Message) -> tuple[object, ...]:
    return (
        message.partition(),
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
        message.timestamp(),
    )


def test_mirror_maker_copies_records_and_positions_though_it_is_killed(
    brokers: Brokers, tmp_path: Path
) -> None:
    source, target = brokers.start("a"), brokers.start("b")
    create(source, NewTopic("mirrored", 2))
    settings = written(tmp_path / "mm2.properties", mirror_settings(source, target))
    main, log = "org.apache.kafka.connect.mirror.MirrorMaker", tmp_path / "mm2.log"

    def mirrored() -> list[Message]:
        admin = AdminClient({"bootstrap.servers": target})
        if "a.mirrored" not in patiently(lambda: admin.list_topics(timeout=10.0)).topics:
            return []
        return committed(target, "a.mirrored", 2)

    def start() -> Program:
        return stack.enter_context(running(log, tmp_path, main, str(settings)))

    with ExitStack() as stack:
        send(source, "mirrored", range(MIRRORED // 2), 2)
        program = start()
        wait_for("first copies", mirrored, program, PATIENCE_S)
        program.kill()
        brokers.fail()
        send(source, "mirrored", range(MIRRORED // 2, MIRRORED), 2)
        patiently(lambda: commit(source, Place("mirrored", 0, MIRRORED // 2)))
        program = start()
        wanted = {fields(message) for message in committed(source, "mirrored", 2)}

        def everything_copied() -> bool:
            return brokers.are_calm and {fields(message) for message in mirrored()} == wanted

        wait_for("all copies", everything_copied, program, PATIENCE_S)

        def position() -> int:
            return patiently(lambda: positions(target, "a.mirrored")).get(0, 0)

        # Translated positions may lag behind (KIP-545), but must not pass what was read.
        wait_for("the group's position", position, program, PATIENCE_S)
        assert position() <= stable_ends(target, "a.mirrored", 2)[0]
    assert len(wanted) == MIRRORED
