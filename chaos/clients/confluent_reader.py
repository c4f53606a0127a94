"""Reading whole partitions by confluent-kafka: what an ordinary consumer is given in the end.

Where a partition ends is asked over the wire, without isolation: a read_committed consumer that
stops at a last stable offset below the high watermark has not read the partition, it waits for a
transaction to end. librdkafka's end-of-partition event carries the position behind control records
and aborted ones, which no message would show.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from chaos.clients import payload
from chaos.clients.confluent_config import consumer_config, name_of
from chaos.clients.wire_link import EARLIEST, LATEST, WireCluster, WireError
from chaos.protocols import Completion, Outcome, ReadAll, Record

READ_TIMEOUT_S = 60.0
"""More than a transaction's timeout (10 s) and Kafka's sweep for such (10 s) together."""
RETRY_S = 0.3


def record_of(message: Message, nonce: bytes) -> Record:
    """One delivered record."""
    value, problem = payload.decode(message.value(), nonce)
    extra: dict[str, Any] = {
        "leader_epoch": message.leader_epoch(),
        "timestamp_ms": message.timestamp()[1],
    }
    if problem is not None:
        extra["detail"] = problem
    topic, partition = _partition_of(message)
    return Record(topic, partition, value, message.offset(), extra=extra)


def _partition_of(message: Message) -> tuple[str, int]:
    topic, partition = message.topic(), message.partition()
    assert topic is not None and partition is not None  # a delivered message has both
    return topic, partition


@dataclass
class _Reading:
    """One partition: what it must reach, and what came."""

    log_start: int
    high_watermark: int
    records: list[Record] = field(default_factory=list)
    position: int = -1

    @property
    def complete(self) -> bool:
        return self.position >= self.high_watermark


def read_all(operation: ReadAll, bootstrap: str, nonce: bytes) -> Completion:
    """Read the partitions from log start to the high watermark; INFO for what was not reached."""
    deadline = time.monotonic() + READ_TIMEOUT_S
    isolation = operation.isolation.value
    while True:
        consumer = Consumer(
            consumer_config(bootstrap, isolation, nonce) | {"enable.partition.eof": True}
        )
        readings: dict[tuple[str, int], _Reading] = {}
        problem: str | None = None
        try:
            readings = _bounds(operation, bootstrap)
            problem = _read(consumer, readings, nonce, deadline)
        except (KafkaException, WireError) as error:
            problem = str(error)
        finally:
            with suppress(KafkaException, RuntimeError):
                consumer.close()
        if problem is None or time.monotonic() > deadline:
            return _completion(operation, readings, problem)
        time.sleep(RETRY_S)  # and start over: half of a log and another half make no log


def _bounds(operation: ReadAll, bootstrap: str) -> dict[tuple[str, int], _Reading]:
    cluster = WireCluster(bootstrap)
    try:
        readings = {}
        for topic, partition in operation.partitions:
            leader = cluster.leader(topic, partition)
            readings[topic, partition] = _Reading(
                cluster.offset(leader, topic, partition, EARLIEST),
                cluster.offset(leader, topic, partition, LATEST),
            )
        return readings
    finally:
        cluster.close()


def _read(
    consumer: Consumer,
    readings: dict[tuple[str, int], _Reading],
    nonce: bytes,
    deadline: float,
) -> str | None:
    """Read until every partition is complete; returns what stood in the way, if anything."""
    consumer.assign([TopicPartition(t, p, r.log_start) for (t, p), r in readings.items()])
    while not all(reading.complete for reading in readings.values()):
        if time.monotonic() > deadline:
            return "the end was not reached in time"
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


def _completion(
    operation: ReadAll, readings: dict[tuple[str, int], _Reading], problem: str | None
) -> Completion:
    records: list[Record] = []
    for topic, partition in operation.partitions:
        reading = readings.get((topic, partition))
        complete = reading is not None and reading.complete
        records += reading.records if reading else []
        extra = {
            "f": "read_all",
            "log_start": reading.log_start if reading else None,
            "high_watermark": reading.high_watermark if reading else None,
            "detail": None if complete else problem,
        }
        outcome = Outcome.OK if complete else Outcome.INFO
        records.append(Record(topic, partition, None, None, outcome, extra=extra))
    outcome = Outcome.OK if problem is None else Outcome.INFO
    return Completion(outcome, records, None if problem is None else "_NOT_READ", problem)
