"""Transactions of real clients: librdkafka adds partitions beforehand, Java takes an epoch for each
transaction (KIP-890)."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from reference_impl.wire.tests.java_oracle import launch

SOURCE = Path(__file__).parent / "java" / "Transactions.java"
PATIENCE_S = 180


def producer(bootstrap: str, name: str) -> Producer:
    """Return a producer that has fenced its predecessors."""
    made = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
    made.init_transactions(PATIENCE_S)
    return made


def consumer(bootstrap: str, group: str, isolation: str = "read_committed") -> Consumer:
    """Return a consumer that reads from the start and commits only explicitly."""
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "isolation.level": isolation,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )


def read(bootstrap: str, topic: str, count: int, isolation: str = "read_committed") -> list[str]:
    """Read until `count` values have arrived, and return all that came."""
    reader = consumer(bootstrap, f"read-{topic}-{isolation}", isolation)
    reader.assign([TopicPartition(topic, index, 0) for index in (0, 1)])
    found: list[str] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < deadline:
        for message in reader.consume(count, 0.2):
            assert message.error() is None
            found.append((message.value() or b"").decode())
    reader.close()
    return sorted(found)


def topics(bootstrap: str, *names: str) -> None:
    """Make topics of two partitions."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(name, 2, 1) for name in names]).values():
        made.result(PATIENCE_S)


def test_confluent_kafka_reads_what_was_committed_and_transforms_it_once(bootstrap: str) -> None:
    topics(bootstrap, "rd-in", "rd-out")
    source = producer(bootstrap, "rd-source")
    committed = []
    for number in range(12):
        source.begin_transaction()
        values = [f"{number:02}-{part}" for part in range(4)]
        for part, value in enumerate(values):
            source.produce("rd-in", value, partition=part % 2)
        if number % 3 == 2:
            source.flush(PATIENCE_S)
            source.abort_transaction(PATIENCE_S)
        else:
            source.commit_transaction(PATIENCE_S)
            committed += values
    assert read(bootstrap, "rd-in", len(committed)) == sorted(committed)
    assert len(read(bootstrap, "rd-in", 48, "read_uncommitted")) == 48

    reader = consumer(bootstrap, "rd-transform")
    reader.subscribe(["rd-in"])
    transform = producer(bootstrap, "rd-transform")
    done, deadline = 0, time.monotonic() + PATIENCE_S
    while done < len(committed) and time.monotonic() < deadline:
        messages = reader.consume(7, 0.2)
        if not messages:
            continue
        transform.begin_transaction()
        for message in messages:
            transform.produce("rd-out", message.value() or b"")
        transform.send_offsets_to_transaction(
            reader.position(reader.assignment()), reader.consumer_group_metadata(), PATIENCE_S
        )
        transform.commit_transaction(PATIENCE_S)
        done += len(messages)
    offsets = reader.committed(reader.assignment(), PATIENCE_S)
    assert offsets and [each.offset for each in offsets] == [
        each.offset for each in reader.position(offsets)
    ]
    reader.close()
    assert read(bootstrap, "rd-out", len(committed)) == sorted(committed)


def test_confluent_kafka_is_fenced_by_its_successor(bootstrap: str) -> None:
    topics(bootstrap, "rd-fenced")
    zombie = producer(bootstrap, "rd-fenced")
    zombie.begin_transaction()
    zombie.produce("rd-fenced", "zombie")
    assert zombie.flush(PATIENCE_S) == 0
    successor = producer(bootstrap, "rd-fenced")
    with pytest.raises(KafkaException, match="_FENCED"):
        zombie.commit_transaction(PATIENCE_S)
    successor.begin_transaction()
    successor.produce("rd-fenced", "good")
    successor.commit_transaction(PATIENCE_S)
    assert read(bootstrap, "rd-fenced", 1) == ["good"]


@pytest.mark.needs("java", "kafka-jars")
def test_java_clients_transform_exactly_once(bootstrap: str) -> None:
    printed = launch(SOURCE, "4.3.1", bootstrap)
    starts = ("exactly", "offsets", "described", "fenced")
    said = [line for line in printed.splitlines() if line.split(" ")[0] in starts]
    assert said == ["exactly once true", "offsets 3", "described Ongoing", "fenced true"], printed
