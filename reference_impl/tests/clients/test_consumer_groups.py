"""Real clients that speak the new protocol of consumer groups (KIP-848)."""

from __future__ import annotations

import time
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient

from reference_impl.wire.tests.java_oracle import launch

SOURCE = Path(__file__).parent / "java" / "ConsumerGroups.java"
PATIENCE_S = 180
COUNT = 40


def produce(bootstrap: str, topic: str, prefix: str) -> set[bytes]:
    """COUNT records, spread over the partitions."""
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
    values = {f"{prefix}{number}".encode() for number in range(COUNT)}
    for value in sorted(values):
        producer.produce(topic, value, key=value)
    assert producer.flush(PATIENCE_S) == 0
    return values


def member(bootstrap: str, group: str, protocol: str = "consumer") -> confluent_kafka.Consumer:
    settings: dict[str, object] = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    if protocol == "classic":
        settings |= {"partition.assignment.strategy": "cooperative-sticky"}
    return confluent_kafka.Consumer(settings)


def poll_until(consumers: list[confluent_kafka.Consumer], wanted: set[bytes]) -> list[bytes]:
    """Let all members poll until everything is read; what was read, in its order."""
    found: list[bytes] = []
    deadline = time.monotonic() + PATIENCE_S
    while not wanted <= set(found) and time.monotonic() < deadline:
        for consumer in consumers:
            for message in consumer.consume(COUNT, 0.1):
                assert message.error() is None, message.error()
                found.append(message.value() or b"")
    return found


def share(consumers: list[confluent_kafka.Consumer], parts: list[int]) -> list[int]:
    """Poll until the members have as many partitions as wanted, or patience ends."""
    deadline = time.monotonic() + PATIENCE_S
    sizes: list[int] = []
    while sizes != parts and time.monotonic() < deadline:
        for consumer in consumers:
            assert consumer.consume(1, 0.1) == []
        sizes = sorted(len(consumer.assignment()) for consumer in consumers)
    return sizes


def test_confluent_kafka_shares_a_topic_and_takes_over_from_who_leaves(bootstrap: str) -> None:
    topic = "kip-848"
    first = produce(bootstrap, topic, "first ")
    one, two = member(bootstrap, topic), member(bootstrap, topic)
    one.subscribe([topic])
    assert set(poll_until([one], first)) == first
    assert one.commit(asynchronous=False)
    two.subscribe([topic])
    assert share([one, two], [1, 1]) == [1, 1]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    described = admin.describe_consumer_groups([topic])[topic].result(PATIENCE_S)
    assert (described.type.name, described.state.name) == ("CONSUMER", "STABLE")
    assert sorted(len(each.assignment.topic_partitions) for each in described.members) == [1, 1]
    one.close()
    second = produce(bootstrap, topic, "second ")
    assert sorted(poll_until([two], second)) == sorted(second)
    two.close()


def test_confluent_kafka_subscribes_by_pattern(bootstrap: str) -> None:
    wanted = produce(bootstrap, "pattern-one", "a") | produce(bootstrap, "pattern-two", "b")
    consumer = member(bootstrap, "patterns")
    consumer.subscribe(["^pattern-.*"])
    assert set(poll_until([consumer], wanted)) == wanted
    consumer.close()


def test_a_group_of_confluent_kafka_moves_to_the_new_protocol_and_back(bootstrap: str) -> None:
    topic = "migration"
    first = produce(bootstrap, topic, "first ")
    classic = member(bootstrap, topic, "classic")
    classic.subscribe([topic])
    assert set(poll_until([classic], first)) == first
    assert classic.commit(asynchronous=False)
    modern = member(bootstrap, topic)
    modern.subscribe([topic])
    assert share([classic, modern], [1, 1]) == [1, 1]
    second = produce(bootstrap, topic, "second ")
    assert sorted(poll_until([classic, modern], second)) == sorted(second)
    assert classic.commit(asynchronous=False)
    assert modern.commit(asynchronous=False)
    modern.close()
    third = produce(bootstrap, topic, "third ")
    assert sorted(poll_until([classic], third)) == sorted(third)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    described = admin.describe_consumer_groups([topic])[topic].result(PATIENCE_S)
    assert described.type.name == "CLASSIC"
    classic.close()


@pytest.mark.needs("java", "kafka-jars")
def test_java_consumers_share_a_topic_by_either_assignor(bootstrap: str) -> None:
    printed = launch(SOURCE, "4.3.1", bootstrap)
    said = [line for line in printed.splitlines() if line.startswith("group ")]
    assert said == [
        "group uniform: 100 of 100 values, 2 members, stable",
        "group range: 100 of 100 values, 2 members, stable",
        "group pattern: 100 of 100 values, 1 member, stable",
    ], printed
