"""Real clients of three nodes that are killed and restarted, one at random after another.

Each library sends numbers, and reads them as a member of a group: every acknowledged number must be
in the log once. aiokafka also copies them in transactions to another topic.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import aiokafka
import confluent_kafka
import kafka
import pytest
from aiokafka.errors import KafkaError
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from reference_impl.tests.clients.failing_over import Kills, failing_cluster

pytestmark = pytest.mark.nightly
PATIENCE_S = 180.0
PARTITIONS = 3
NUMBERS = 1_000
SESSION_MS = 6_000
SETTINGS = {"group.initial.rebalance.delay.ms": "0", "transaction.max.timeout.ms": "60000"}


@pytest.fixture
def failing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Kills]]:
    """Start three nodes with a topic for the numbers and one for their copies."""
    seed = sum(request.node.name.encode())
    with failing_cluster("reference", tmp_path / "cluster", SETTINGS, seed) as (bootstrap, kills):
        admin = AdminClient({"bootstrap.servers": bootstrap})
        topics = [NewTopic(name, PARTITIONS) for name in ("numbers", "copies")]
        for made in admin.create_topics(topics).values():
            made.result(PATIENCE_S)
        yield bootstrap, kills


def log_of(bootstrap: str, topic: str, at_least: int) -> list[list[int]]:
    """Return the committed numbers of each partition in their order, once there are enough and
    nothing is open."""
    reader = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "no-member",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    found: list[list[int]] = [[] for _ in range(PARTITIONS)]
    reader.assign([TopicPartition(topic, index, 0) for index in range(PARTITIONS)])
    ended: set[int] = set()
    deadline = time.monotonic() + PATIENCE_S
    while len(ended) < PARTITIONS or sum(map(len, found)) < at_least:
        assert time.monotonic() < deadline, f"{topic}: {list(map(len, found))} of {at_least}"
        for message in reader.consume(500, 0.2):
            if message.error() is None:
                found[message.partition() or 0].append(int(message.value() or b""))
            else:
                ended.add(message.partition() or 0)
    reader.close()
    return found


def check(bootstrap: str, acknowledged: Sequence[int], seen: Sequence[int]) -> None:
    """Require each acknowledged number once in the log and in its partition's order, and that the
    group was given each one."""
    log = log_of(bootstrap, "numbers", len(acknowledged))
    every = Counter(number for partition in log for number in partition)
    assert every.keys() >= set(acknowledged)
    assert [number for number, times in every.items() if times > 1] == []
    assert all(partition == sorted(partition) for partition in log)
    assert set(seen) >= set(acknowledged)
    assert len(acknowledged) > 0


Produce = Callable[[str, Kills], list[int]]
Consume = Callable[[str, threading.Event], list[int]]


def produce_by_confluent(bootstrap: str, kills: Kills) -> list[int]:
    """Send numbers until enough nodes were killed, and return those that were acknowledged."""
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5}
    )
    acknowledged: list[int] = []

    def delivered(error: object, message: confluent_kafka.Message) -> None:
        if error is None:
            acknowledged.append(int(message.value() or b""))

    for number in count():
        if kills.are_over:
            break
        producer.produce(
            "numbers", str(number), partition=number % PARTITIONS, on_delivery=delivered
        )
        producer.poll(0.005)
    assert producer.flush(PATIENCE_S) == 0
    return acknowledged


def consume_by_confluent(bootstrap: str, is_over: threading.Event) -> list[int]:
    """Read as the member of a group, and commit, until the end."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "confluent",
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": True,
            "auto.commit.interval.ms": 200,
        }
    )
    consumer.subscribe(["numbers"])
    seen: list[int] = []
    quiet_s = 0.0
    while not is_over.is_set() or quiet_s < QUIET_S:
        messages = [m for m in consumer.consume(500, 0.2) if m.error() is None]
        quiet_s = 0.0 if messages else quiet_s + 0.2
        seen += [int(message.value() or b"") for message in messages]
    consumer.close()
    return seen


QUIET_S = 10.0
"""The seconds without a record after which a reader ends: longer than a session."""


def produce_by_kafka_python(bootstrap: str, kills: Kills) -> list[int]:
    """Send numbers until enough nodes were killed, and return those that were acknowledged."""
    producer = kafka.KafkaProducer(
        bootstrap_servers=bootstrap.split(","), acks="all", enable_idempotence=True, linger_ms=5
    )
    sent = []
    for number in count():
        if kills.are_over:
            break
        future = producer.send("numbers", str(number).encode(), partition=number % PARTITIONS)
        sent.append((number, future))
        time.sleep(0.005)
    producer.flush(PATIENCE_S)
    producer.close()
    return [number for number, future in sent if future.succeeded()]


def consume_by_kafka_python(bootstrap: str, is_over: threading.Event) -> list[int]:
    """Read as the member of a group, and commit, until the end."""
    consumer = kafka.KafkaConsumer(
        "numbers",
        bootstrap_servers=bootstrap.split(","),
        group_id="kafka-python",
        auto_offset_reset="earliest",
        auto_commit_interval_ms=200,
        metadata_max_age_ms=1_000,
    )
    seen: list[int] = []
    quiet_s = 0.0
    while not is_over.is_set() or quiet_s < QUIET_S:
        rows = consumer.poll(timeout_ms=200)
        quiet_s = 0.0 if rows else quiet_s + 0.2
        seen += [int(message.value) for batch in rows.values() for message in batch]
    consumer.close()
    return seen


def produce_by_aiokafka(bootstrap: str, kills: Kills) -> list[int]:
    """Send numbers until enough nodes were killed, and return those that were acknowledged."""

    async def run() -> list[int]:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=bootstrap.split(","), enable_idempotence=True, linger_ms=5
        )
        await producer.start()
        sent = []
        for number in count():
            if kills.are_over:
                break
            place = {"partition": number % PARTITIONS}
            sent.append((number, await producer.send("numbers", str(number).encode(), **place)))
            await asyncio.sleep(0.005)
        await producer.stop()
        return [number for number, future in sent if future.exception() is None]

    return asyncio.run(run())


def consume_by_aiokafka(bootstrap: str, is_over: threading.Event) -> list[int]:
    """Read as the member of a group, and commit, until the end."""

    async def run() -> list[int]:
        consumer = aiokafka.AIOKafkaConsumer(
            "numbers",
            bootstrap_servers=bootstrap.split(","),
            group_id="aiokafka",
            auto_offset_reset="earliest",
            auto_commit_interval_ms=200,
        )
        await consumer.start()
        seen: list[int] = []
        quiet_s = 0.0
        while not is_over.is_set() or quiet_s < QUIET_S:
            rows = await consumer.getmany(timeout_ms=200)
            quiet_s = 0.0 if rows else quiet_s + 0.2
            seen += [int(message.value) for batch in rows.values() for message in batch]
        await consumer.stop()
        return seen

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("produce", "consume"),
    [
        (produce_by_confluent, consume_by_confluent),
        (produce_by_kafka_python, consume_by_kafka_python),
        (produce_by_aiokafka, consume_by_aiokafka),
    ],
    ids=["confluent", "kafka-python", "aiokafka"],
)
def test_every_acknowledged_number_is_there_once_and_read_by_a_group(
    failing: tuple[str, Kills], produce: Produce, consume: Consume
) -> None:
    bootstrap, kills = failing
    is_over, seen = threading.Event(), list[int]()
    reader = threading.Thread(target=lambda: seen.extend(consume(bootstrap, is_over)), daemon=True)
    reader.start()
    kills.start()
    try:
        acknowledged = produce(bootstrap, kills)
    finally:
        is_over.set()
    reader.join(PATIENCE_S)
    check(bootstrap, acknowledged, seen)


def copied_of(bootstrap: str, group: str) -> int:
    """Return how many numbers a group has committed."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        places = [TopicPartition("numbers", index) for index in range(PARTITIONS)]
        found = consumer.committed(places, PATIENCE_S)
        return sum(max(0, place.offset) for place in found)
    except KafkaException:
        return 0
    finally:
        consumer.close()


def copy_by_aiokafka(bootstrap: str, kills: Kills) -> None:
    """Copy the numbers in transactions; after an error, start again from the committed offsets."""

    async def once() -> None:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=bootstrap.split(","), transactional_id="aiokafka-copies"
        )
        consumer = aiokafka.AIOKafkaConsumer(
            "numbers",
            bootstrap_servers=bootstrap.split(","),
            group_id="aiokafka-copies",
            session_timeout_ms=SESSION_MS,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
        )
        await producer.start()
        await consumer.start()
        try:
            idle = 0
            while idle < 50:
                rows = await consumer.getmany(timeout_ms=200, max_records=20)
                idle = 0 if rows else idle + 1
                if not rows:
                    continue
                async with producer.transaction():
                    for place, batch in rows.items():
                        for message in batch:
                            await producer.send("copies", message.value, partition=place.partition)
                    ends = {place: batch[-1].offset + 1 for place, batch in rows.items()}
                    await producer.send_offsets_to_transaction(ends, "aiokafka-copies")
        finally:
            await consumer.stop()
            await producer.stop()

    while not kills.are_over or copied_of(bootstrap, "aiokafka-copies") < NUMBERS:
        try:
            asyncio.run(once())
        except (TimeoutError, KafkaError):
            continue


def test_aiokafka_copies_each_number_exactly_once(failing: tuple[str, Kills]) -> None:
    """librdkafka 2.16 is left out: it may wait for ever for a group's coordinator that was removed
    from the metadata while it was down."""
    bootstrap, kills = failing
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap})
    for number in range(NUMBERS):
        producer.produce("numbers", str(number), partition=number % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0
    kills.start()
    copy_by_aiokafka(bootstrap, kills)
    copies = log_of(bootstrap, "copies", NUMBERS)
    assert sorted(number for partition in copies for number in partition) == list(range(NUMBERS))
