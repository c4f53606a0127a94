"""The calls that an application makes of a client. Each call is a value; its answer is a Complete
or a Fail.

Each docstring says what the answer's value is; if it does not, the value is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reference_impl.client.values import (
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    ProducerRecord,
    TopicPartition,
)


@dataclass(frozen=True, slots=True)
class Call:
    """Base of all calls."""


# --- producer -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Send(Call):
    """Send a record. The answer is its RecordMetadata once it is acknowledged."""

    record: ProducerRecord


@dataclass(frozen=True, slots=True)
class Flush(Call):
    """Send without lingering. The answer comes when all records sent before are settled."""


@dataclass(frozen=True, slots=True)
class PartitionsFor(Call):
    """Get the partitions of a topic. The answer is a sorted list of numbers. A consumer has this
    call, too."""

    topic: str


@dataclass(frozen=True, slots=True)
class InitTransactions(Call):
    """Fence the predecessors with this transactional.id, and end what they left open."""


@dataclass(frozen=True, slots=True)
class BeginTransaction(Call):
    """Begin a transaction: every record sent from here on is part of it."""


@dataclass(frozen=True, slots=True)
class SendOffsetsToTransaction(Call):
    """Commit a consumer's offsets if, and only if, the transaction is committed."""

    offsets: Mapping[TopicPartition, OffsetAndMetadata]
    group: ConsumerGroupMetadata


@dataclass(frozen=True, slots=True)
class CommitTransaction(Call):
    """Send the waiting records, then commit. After a TimedOut, call it again: it continues the same
    commit."""


@dataclass(frozen=True, slots=True)
class AbortTransaction(Call):
    """Drop the waiting records, then abort."""


# --- consumer -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Subscribe(Call):
    """Subscribe to these topics in place of earlier ones. The next Poll joins the group, which
    assigns their partitions to its members."""

    topics: frozenset[str]
    is_listening: bool = False
    """Whether the application has a listener: then it answers every PartitionsChanged with
    ChangeHandled, and the consumer waits for that."""


@dataclass(frozen=True, slots=True)
class SubscribePattern(Call):
    """Subscribe to all topics whose whole name matches the pattern, which the broker evaluates
    (RE2/J; KIP-848)."""

    pattern: str
    is_listening: bool = False


@dataclass(frozen=True, slots=True)
class ChangeHandled(Call):
    """Tell the consumer that the application has handled the last PartitionsChanged."""


@dataclass(frozen=True, slots=True)
class Assign(Call):
    """Read exactly these partitions, in place of those assigned before and without joining a group.
    It fails while topics are subscribed."""

    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class Unsubscribe(Call):
    """Leave the group, or stop reading the assigned partitions; before that, commit the positions
    if `enable.auto.commit` is on."""


@dataclass(frozen=True, slots=True)
class Poll(Call):
    """Get records. The answer is a list of ConsumerRecord, which is empty if none came in time."""

    timeout_ms: int
    max_records: int | None = None
    """The most records to return; None means max.poll.records."""


@dataclass(frozen=True, slots=True)
class Commit(Call):
    """Commit offsets of the group, or the positions if they are None. The answer is what was
    committed."""

    offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None


@dataclass(frozen=True, slots=True)
class Committed(Call):
    """Fetch the offsets that the group has committed. The answer is a dict without uncommitted
    partitions."""

    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class Seek(Call):
    """Continue reading a partition at this offset. leader_epoch: that of the record before it, -1
    if it is unknown; with it, no leader that was replaced is asked (KIP-320)."""

    partition: TopicPartition
    offset: int
    leader_epoch: int = -1


@dataclass(frozen=True, slots=True)
class SeekToBeginning(Call):
    """Read from the start of these partitions (all of the assignment if empty)."""

    partitions: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True, slots=True)
class SeekToEnd(Call):
    """Read the records that come after the end of these partitions (all of the assignment if
    empty)."""

    partitions: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True, slots=True)
class Pause(Call):
    """Fetch nothing from these partitions until they are resumed."""

    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class Resume(Call):
    """Undo Pause: fetch from these partitions again."""

    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class Position(Call):
    """Get the position of an assigned partition. The answer is the offset of its next record, once
    it is known."""

    partition: TopicPartition


@dataclass(frozen=True, slots=True)
class OffsetsForTimes(Call):
    """Get the first record at or after a time for each partition. The answer is a dict of
    OffsetAndTimestamp or None. The times -1 (end) and -2 (beginning) are Kafka's own."""

    times: Mapping[TopicPartition, int]


# --- both ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Close(Call):
    """End everything in progress within this time; no call may follow."""

    timeout_ms: int = 30_000
