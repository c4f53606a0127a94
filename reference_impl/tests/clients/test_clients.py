"""Real clients against the broker: each produces with each codec, and a group reads it back."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import aiokafka
import confluent_kafka
import kafka
import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic  # type: ignore[attr-defined]

PATIENCE_S = 180
COUNT = 50
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def expected(codec: str) -> set[bytes]:
    return {f"{codec} {number} ".encode() * 10 for number in range(COUNT)}


@pytest.mark.parametrize("codec", CODECS)
def test_confluent_kafka(bootstrap: str, codec: str) -> None:
    topic = f"confluent-{codec}"
    failed: list[Any] = []

    def delivered(error: Any, _: Any) -> None:
        if error is not None:
            failed.append(error)

    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "compression.type": codec,
            "linger.ms": 5,
        }
    )
    for value in expected(codec):
        producer.produce(topic, value, key=value[:9], on_delivery=delivered)
    assert producer.flush(PATIENCE_S) == 0
    assert failed == []
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": topic,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    consumer = confluent_kafka.Consumer(settings)
    consumer.subscribe([topic])
    found: list[bytes] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < COUNT and time.monotonic() < deadline:
        for message in consumer.consume(COUNT, 0.5):
            assert message.error() is None
            found.append(message.value() or b"")
    committed = consumer.commit(asynchronous=False)
    consumer.close()
    assert (len(found), set(found)) == (COUNT, expected(codec))
    assert sum(partition.offset for partition in committed) == COUNT


@pytest.mark.parametrize("codec", CODECS)
def test_kafka_python(bootstrap: str, codec: str) -> None:
    topic = f"kafka-python-{codec}"
    compression = None if codec == "none" else codec
    producer = kafka.KafkaProducer(
        bootstrap_servers=bootstrap, compression_type=compression, linger_ms=5, acks="all"
    )
    sent = [producer.send(topic, value) for value in expected(codec)]
    for future in sent:
        assert future.get(PATIENCE_S).offset >= 0
    producer.close()
    consumer = kafka.KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=topic,
        auto_offset_reset="earliest",
        metadata_max_age_ms=1_000,
        consumer_timeout_ms=PATIENCE_S * 1000,
    )
    found = []
    for message in consumer:
        found.append(message.value)
        if len(found) == COUNT:
            break
    consumer.commit()
    ends = [consumer.committed(partition) for partition in consumer.assignment()]
    consumer.close()
    assert set(found) == expected(codec)
    assert sum(offset or 0 for offset in ends) == COUNT


@pytest.mark.parametrize("codec", CODECS)
def test_aiokafka(bootstrap: str, codec: str) -> None:
    async def run() -> list[bytes]:
        topic = f"aiokafka-{codec}"
        compression = None if codec == "none" else codec
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=bootstrap, compression_type=compression, enable_idempotence=True
        )
        await producer.start()
        for value in expected(codec):
            await producer.send(topic, value)
        await producer.stop()
        consumer = aiokafka.AIOKafkaConsumer(
            topic, bootstrap_servers=bootstrap, group_id=topic, auto_offset_reset="earliest"
        )
        await consumer.start()
        found: list[bytes] = []
        while len(found) < COUNT:
            rows: dict[Any, Any] = await consumer.getmany(timeout_ms=500)
            found += [message.value for batch in rows.values() for message in batch]
        await consumer.commit()
        await consumer.stop()
        return found

    found = asyncio.run(asyncio.wait_for(run(), PATIENCE_S))
    assert (len(found), set(found)) == (COUNT, expected(codec))


def test_the_admin_client_of_confluent_kafka(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topic = NewTopic("admin", 1, 1, config={"retention.ms": "1000"})
    admin.create_topics([topic])["admin"].result(PATIENCE_S)
    admin.create_partitions([NewPartitions("admin", 3)])["admin"].result(PATIENCE_S)
    described = admin.list_topics(timeout=PATIENCE_S).topics["admin"]
    assert sorted(described.partitions) == [0, 1, 2]
    resource = ConfigResource(ConfigResource.Type.TOPIC, "admin")
    entries = admin.describe_configs([resource])[resource].result(PATIENCE_S)
    assert entries["retention.ms"].value == "1000"
    admin.delete_topics(["admin"])["admin"].result(PATIENCE_S)
    assert "admin" not in admin.list_topics(timeout=PATIENCE_S).topics
