"""Further operations: seeks of readers, requests of producers that no client library would send,
operations on topics, and offsets of groups without members.

The reader's own client performs Seek and SeekToTime; the raw producer (ClientSettings.raw) performs
RawSend, Supersede, CommitAsFormer and SendOffsets. Whichever client a process has,
chaos.clients.wire.operator performs the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaos.values.protocols import GroupProtocol, Operation, Send, TopicSpec

Position = tuple[str, int, int]
"""(topic, partition, offset)."""


@dataclass(frozen=True)
class Idle(Operation):
    """Do nothing for a while and leave everything open; the client sends nothing."""

    seconds: float


@dataclass(frozen=True)
class Seek(Operation):
    """Continue reading an assigned partition at this offset; what is read from there on is recorded
    as a new session of the reader."""

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
    """The replication factor; -1 means the brokers' default.replication.factor."""


@dataclass(frozen=True)
class Grow(Operation):
    """Give the topic its final number of partitions (CreatePartitions), and wait until all brokers
    know."""

    topic: TopicSpec


@dataclass(frozen=True)
class DeleteRecords(Operation):
    """Delete all records of a partition below this offset. None means: below the high watermark."""

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
class TryRead(Operation):
    """Try to read a partition on from this offset (None: from its log start) to its end, once; only
    the runner does this, with the raw client, when a final read has failed."""

    topic: str
    partition: int
    offset: int | None = None


@dataclass(frozen=True)
class Membership:
    """The identity of a group member at its coordinator: member id and generation."""

    member_id: str
    generation: int
    """The generation, or the member epoch (KIP-848)."""
    instance_id: str | None = None


@dataclass(frozen=True)
class LiveAsMember(Operation):
    """Be the only member of a group for a while, with requests of our own: join, send heartbeats
    after these pauses, leave, and send one more heartbeat, which must be refused."""

    group: str
    topic: str
    protocol: GroupProtocol
    session_timeout_ms: int
    """The session time-out; under KIP-848 that of the brokers' configuration."""
    pauses_s: tuple[float, ...]
    meets_newcomer: bool = False
    """Whether another member then joins the group, so that this one is told to join again (classic
    protocol); instead of leaving as above, both leave."""


@dataclass(frozen=True)
class RawSend(Send):
    """A send of the raw producer: one batch."""

    again: tuple[int, ...] = ()
    """The older batches of the partition to send again after this one, by how many sends ago each
    was sent: 0 is this one, 1 the one before."""
    is_repeated: bool = False
    """Whether the batch is sent twice, so that the second response contains the offsets of the
    first."""
    as_former: bool = False
    """Whether the fenced producer sends the batch: its epoch is old, and the leader must refuse the
    batch."""
    joins: bool = True
    """Whether AddPartitionsToTxn is sent before the batch, in a transaction. If it is not, the
    leader itself must refuse the batch."""
    first_sequence: int = 0
    """The sequence number of the first batch in a partition; one near the maximum soon wraps to
    0."""
    resends_first: bool = False
    """Whether the partition's last batch is sent again before this one."""
    overlaps: bool = False
    """Whether the batch contains new records, but has sequence numbers of the batch before it. The
    batch is no retry, so the leader must refuse it."""


@dataclass(frozen=True)
class Supersede(Operation):
    """Begin a new epoch: send InitProducerId for the same transactional id, while the earlier
    producer, now fenced, continues to work."""


@dataclass(frozen=True)
class CommitAsFormer(Operation):
    """Send EndTxn(commit) as the fenced producer, for the transaction that its successor's
    InitProducerId has aborted."""


@dataclass(frozen=True)
class SendOldMarker(Operation):
    """Send the leader an ABORT marker with the superseded producer's epoch, as a delayed
    coordinator might do (WriteTxnMarkers). The leader must refuse it, whatever transaction is
    open."""

    topic: str
    partition: int


@dataclass(frozen=True)
class RejoinAsFormer(Operation):
    """Send InitProducerId with the id and epoch of the fenced producer, as a producer does to
    continue after an error (KIP-360); the coordinator must refuse it. If the successor has a
    transaction open, Kafka aborts that first, and checks the epoch only on the next request."""


@dataclass(frozen=True)
class JoinAsStranger(Operation):
    """Send InitProducerId with the producer id of another transactional id, and with the sender's
    own epoch, which is an old epoch of the other producer (KIP-360); it must be refused."""

    transactional_id: str
    """The common prefix of the two transactional ids."""


@dataclass(frozen=True)
class SendOffsets(Operation):
    """Add a group's offsets to the open transaction, as a group member or without a membership."""

    group: str
    topic: str
    offsets: tuple[tuple[int, int], ...]
    """(partition, offset) of each position to add."""
    member: Membership | None = None
    as_former: bool = False
    """Whether the fenced producer sends the offsets, directly to the group's coordinator, which
    must refuse them."""


@dataclass(frozen=True)
class CommitPosition(Operation):
    """Commit an offset for a group by one OffsetCommit request, and wait for the response; do not
    repeat it after an error."""

    group: str
    topic: str
    partition: int
    offset: int
    member: Membership | None = None
    """The member in whose name to commit; None for a group without members."""
    beside: tuple[Position, ...] = ()
    """Further positions to commit in the same request."""


@dataclass(frozen=True)
class DeletePositions(Operation):
    """Delete a group's committed offsets for these partitions (OffsetDelete), or, with whole_group,
    the group itself (DeleteGroups); `places` then names all offsets that it can have. The group has
    no members."""

    group: str
    places: tuple[tuple[str, int], ...]
    """(topic, partition) of each offset to delete."""
    whole_group: bool = False


@dataclass(frozen=True)
class AddOffsets(Operation):
    """Add the offsets after the records that the group member has polled to its open transaction.
    (A Commit does so by itself.)"""


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
    """Send in a transaction with a transactional id of its own, and abandon it. No successor fences
    it, so the coordinator must abort it when it times out."""

    transactional_id: str = ""
    timeout_ms: int = 3_000


@dataclass(frozen=True)
class FetchPositions(Operation):
    """Fetch the group's committed offsets (OffsetFetch, require_stable)."""

    group: str
    topic: str
    partitions: tuple[int, ...]
    beside: tuple[str, ...] = ()
    """Further topics, whose offsets for the same partitions are fetched by the same request."""
