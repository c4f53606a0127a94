"""Read whole partitions by confluent-kafka, as an ordinary consumer does, at the end of a run.

librdkafka's end-of-partition event contains the position after control records and aborted records,
which no delivered message shows.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import cast

from confluent_kafka import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from chaos.clients import payload, whole_partitions
from chaos.clients.confluent.config import consumer_config, name_of
from chaos.clients.whole_partitions import Readings
from chaos.values.protocols import Completion, ReadAll, Record
from chaos.world import World

_TIMESTAMP_TYPES = {TIMESTAMP_CREATE_TIME: "create", TIMESTAMP_LOG_APPEND_TIME: "append"}


def record_of(message: Message, nonce: bytes) -> Record:
    """Return the history's record for one delivered message. Its value is None, and its column
    `detail` says why, if this run has not sent the payload."""
    headers = payload.plain_headers(cast("list[tuple[str, bytes | None]]", message.headers()))
    carried = payload.Carried(message.value(), message.key(), headers)
    value, extra = payload.value_of(carried, nonce)
    extra["leader_epoch"] = message.leader_epoch()
    kind, extra["timestamp_ms"] = message.timestamp()
    extra["timestamp_type"] = _TIMESTAMP_TYPES.get(kind)
    topic, partition = _partition_of(message)
    return Record(topic, partition, value, message.offset(), extra=extra)


def _partition_of(message: Message) -> tuple[str, int]:
    topic, partition = message.topic(), message.partition()
    assert topic is not None and partition is not None  # a delivered message has both
    return topic, partition


async def read_all(world: World, operation: ReadAll, bootstrap: str, nonce: bytes) -> Completion:
    """Read the partitions from log start to the high watermark, with a new consumer after each
    failure. Return the records and a `read_all` row for each partition. The outcome is INFO if an
    end was not reached within READ_TIMEOUT_S."""

    async def attempt(readings: Readings, deadline: float) -> str | None:
        config = consumer_config(bootstrap, operation.isolation.value, nonce)
        consumer = Consumer(config | {"enable.partition.eof": True})
        try:
            return _read(consumer, readings, nonce, deadline)
        finally:
            with suppress(KafkaException, RuntimeError):
                consumer.close()

    return await whole_partitions.read_all(world, operation, bootstrap, attempt, KafkaException)


def _read(consumer: Consumer, readings: Readings, nonce: bytes, deadline: float) -> str | None:
    """Read until every partition is complete, adding records and positions to `readings`. Return
    None, or a sentence about the error or the partitions not read before the deadline."""
    consumer.assign([TopicPartition(t, p, r.log_start) for (t, p), r in readings.items()])
    while not all(reading.complete for reading in readings.values()):
        if time.monotonic() > deadline:
            return whole_partitions.out_of_time(readings)
        for message in consumer.consume(1_000, 0.2):
            error = message.error()
            if error is None:
                readings[_partition_of(message)].records.append(record_of(message, nonce))
            elif error.code() == KafkaError._PARTITION_EOF:
                reading = readings[_partition_of(message)]
                reading.position = max(reading.position, message.offset() or 0)
            else:
                return f"{name_of(error)}: {error.str()}"
    return None
