"""Further operations: seeks of readers, requests of producers that no client library would send,
operations on topics, and offsets of groups without members.

The reader's own client performs Seek and SeekToTime; the raw producer (ClientSettings.raw) performs
RawSend, Supersede, CommitAsFormer and SendOffsets. Whichever client a process has,
chaos.clients.wire.operator performs the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaos.values.protocols import Operation, Send, TopicSpec

Position = tuple[str, int, int]
"""Topic, partition and offset."""


@dataclass(frozen=True)
class Idle(Operation):
    """Do nothing for a while and leave everything open; the client sends nothing."""

    seconds: float


@dataclass(frozen=True)
class Seek(Operation):
    """Continue reading an assigned partition at this offset, in a new session."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True)
class SeekToTime(Operation):
    """Look up the first record at or after a time, and continue reading there, in a new session.

    If no record is that late, the position does not change.
    """

    topic: str
    partition: int
    timestamp_ms: int


@dataclass(frozen=True)
class CreateTopic(Operation):
    """Create a topic; only the runner does this."""

    topic: TopicSpec


@dataclass(frozen=True)
class Recreate(Operation):
    """Delete the topic, create it again under the same name, and wait until all brokers know it.
    Only the process that owns the topic does this; no other process sends to it."""

    topic: TopicSpec
    replication_factor: int = -1
    """-1: as the brokers' default.replication.factor has it."""


@dataclass(frozen=True)
class Grow(Operation):
    """Give the topic its final number of partitions (CreatePartitions), and wait until all brokers
    know."""

    topic: TopicSpec


@dataclass(frozen=True)
class DeleteRecords(Operation):
    """Delete all records of a partition below this offset; None: below the high watermark."""

    topic: str
    partition: int
    offset: int | None


@dataclass(frozen=True)
class ReadLatest(Operation):
    """Read the last record below the leader's high watermark: the value of a register."""

    topic: str
    partition: int


@dataclass(frozen=True)
class AskEnds(Operation):
    """Ask the leader for its log start, high watermark and last stable offset: by a Fetch whose
    records are ignored, or by ListOffsets and OffsetForLeaderEpoch."""

    topic: str
    partition: int
    looks_up: bool = False


@dataclass(frozen=True)
class Membership:
    """The identity of a group member at the coordinator."""

    member_id: str
    generation: int
    """Or the member epoch (KIP-848)."""
    instance_id: str | None = None


@dataclass(frozen=True)
class RawSend(Send):
    """A send of the raw producer: one batch."""

    again: tuple[int, ...] = ()
    """The batches to send once more behind it: so many back in the partition, 0 this one."""
    is_repeated: bool = False
    """It is sent twice, and the second answer tells the offsets."""
    as_former: bool = False
    """By the producer that was superseded: its epoch is fenced, and the leader must refuse it."""
    joins: bool = True
    """AddPartitionsToTxn goes first, in a transaction; otherwise the leader must refuse alone."""
    first_sequence: int = 0
    """The sequence number of a partition's first batch; one near the end wraps soon."""


@dataclass(frozen=True)
class Supersede(Operation):
    """Send InitProducerId for the same transactional id while the earlier producer goes on."""


@dataclass(frozen=True)
class CommitAsFormer(Operation):
    """Send EndTxn as the superseded producer: ask to commit what its successor has aborted."""


@dataclass(frozen=True)
class SendOldMarker(Operation):
    """Send the leader an ABORT marker of the superseded producer, like a coordinator that is late
    (WriteTxnMarkers): the leader must refuse it, whatever transaction is open."""

    topic: str
    partition: int


@dataclass(frozen=True)
class RejoinAsFormer(Operation):
    """Send InitProducerId with the id and epoch of the superseded producer, as a producer does to
    continue after an error (KIP-360); it must be refused. If the successor has a transaction open,
    Kafka aborts that first, and checks the epoch only on the next request."""


@dataclass(frozen=True)
class JoinAsStranger(Operation):
    """Send InitProducerId with the producer id of another transactional id, and an epoch that is
    the sender's own newest, but that the other producer has left behind (KIP-360); it must be
    refused."""

    transactional_id: str
    """The beginning of both names."""


@dataclass(frozen=True)
class SendOffsets(Operation):
    """Add a group's offsets to the open transaction, as a group member or without a membership."""

    group: str
    topic: str
    offsets: tuple[tuple[int, int], ...]
    """Partition and offset."""
    member: Membership | None = None
    as_former: bool = False
    """By the producer that was superseded, straight to the group's coordinator: to be refused."""


@dataclass(frozen=True)
class CommitPosition(Operation):
    """Commit an offset for a group once, and wait for the response."""

    group: str
    topic: str
    partition: int
    offset: int
    member: Membership | None = None
    """In whose name; None: of a group that has no members."""
    beside: tuple[Position, ...] = ()
    """Further positions in the same request."""


@dataclass(frozen=True)
class DeletePositions(Operation):
    """Delete a group's committed offsets for these partitions (OffsetDelete), or, if the group can
    have no others, the group (DeleteGroups). The group has no members."""

    group: str
    places: tuple[tuple[str, int], ...]
    """Topic and partition."""
    whole_group: bool = False


@dataclass(frozen=True)
class AddOffsets(Operation):
    """Add the offsets after the records that the member polled to its open transaction; Commit does
    so implicitly."""


@dataclass(frozen=True)
class CommitInTransaction(Operation):
    """Commit a group's offset in a separate transaction, as a member that may have left the group;
    if the group refuses, abort the transaction."""

    group: str
    topic: str
    partition: int
    offset: int
    member: Membership
    transactional_id: str


@dataclass(frozen=True)
class LeaveOpen(Send):
    """Send in a transaction with its own transactional id, and abandon it. No successor fences it,
    so that the coordinator must abort it when it times out."""

    transactional_id: str = ""
    timeout_ms: int = 3_000


@dataclass(frozen=True)
class FetchPositions(Operation):
    """Fetch the group's committed offsets (OffsetFetch, require_stable)."""

    group: str
    topic: str
    partitions: tuple[int, ...]
    beside: tuple[str, ...] = ()
    """Further topics, of which the same partitions are asked for in the same request."""
