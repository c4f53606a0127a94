"""The values that an application hands to a client, and gets from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class TopicPartition(NamedTuple):
    """One partition of one topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


Header = tuple[str | bytes, bytes | None]


@dataclass(frozen=True, slots=True)
class ProducerRecord:
    """One record to be sent. Without a partition, the partitioner chooses one; without a timestamp,
    the record gets the present time."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    partition: int | None = None
    timestamp_ms: int | None = None
    headers: Sequence[Header] = ()


@dataclass(frozen=True, slots=True)
class RecordMetadata:
    """The place of a record in the log. The offset is -1 if unknown (acks=0, or a duplicate)."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


class TimestampType(StrEnum):
    """The side that set a record's timestamp: the producer or the broker (KIP-32)."""

    CREATE_TIME = "CreateTime"
    LOG_APPEND_TIME = "LogAppendTime"


@dataclass(frozen=True, slots=True)
class ConsumerRecord:
    """One record, as it was read."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    timestamp_type: TimestampType
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class OffsetAndMetadata:
    """A position to be committed: the offset of the *next* record to be read."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1


@dataclass(frozen=True, slots=True)
class OffsetAndTimestamp:
    """The first record at or after a time (KIP-79)."""

    offset: int
    timestamp_ms: int
    leader_epoch: int = -1


@dataclass(frozen=True, slots=True)
class ConsumerGroupMetadata:
    """The identity of a consumer that commits offsets inside a transaction (KIP-447)."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return topic -> partition numbers, in the given order, as most requests want them."""
    topics: dict[str, list[int]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition.partition)
    return topics
