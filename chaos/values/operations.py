"""Further operations: of readers who go elsewhere, of producers that no client library would be, on
topics themselves, and on positions of groups that have no members.

Seek and SeekToTime are the reader's own client's; RawSend, Supersede, CommitAsFormer and
SendOffsets are the raw producer's (ClientSettings.raw). Whichever client it is, the others are
chaos.clients.wire.operator's.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaos.values.protocols import Operation, Send, TopicSpec

Position = tuple[str, int, int]
"""Topic, partition and offset."""


@dataclass(frozen=True)
class Idle(Operation):
    """Do nothing for a while, with everything left open; no client is involved."""

    seconds: float


@dataclass(frozen=True)
class Seek(Operation):
    """Go on reading an assigned partition from this offset: a new session."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True)
class SeekToTime(Operation):
    """Look up the first record at or after a time, and go on reading from there: a new session.

    Where no record is as late, the position stays.
    """

    topic: str
    partition: int
    timestamp_ms: int


@dataclass(frozen=True)
class CreateTopic(Operation):
    """Make a topic: the runner's."""

    topic: TopicSpec


@dataclass(frozen=True)
class Recreate(Operation):
    """Delete the topic, create it again under the same name, and wait until all brokers know. Only
    the process that owns the topic does this: no other sends to it."""

    topic: TopicSpec
    replication_factor: int = -1
    """-1: as the brokers' default.replication.factor has it."""


@dataclass(frozen=True)
class Grow(Operation):
    """Give the topic all its partitions (CreatePartitions), and wait until all brokers know."""

    topic: TopicSpec


@dataclass(frozen=True)
class DeleteRecords(Operation):
    """Delete all records of a partition below this offset; None: below the high watermark."""

    topic: str
    partition: int
    offset: int | None


@dataclass(frozen=True)
class ReadLatest(Operation):
    """Read the last record below the high watermark which the leader tells: a register."""

    topic: str
    partition: int


@dataclass(frozen=True)
class AskEnds(Operation):
    """Ask the leader where its log begins, and how far it is replicated and decided: by a Fetch
    whose records nobody takes, or by ListOffsets and OffsetForLeaderEpoch."""

    topic: str
    partition: int
    looks_up: bool = False


@dataclass(frozen=True)
class Membership:
    """The identity that a member of a group had at the coordinator."""

    member_id: str
    generation: int
    """Or the member epoch (KIP-848)."""
    instance_id: str | None = None


@dataclass(frozen=True)
class RawSend(Send):
    """A send as the raw producer makes it: one batch."""

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
    """InitProducerId for the same transactional id, while the producer before it lives on."""


@dataclass(frozen=True)
class CommitAsFormer(Operation):
    """EndTxn by the producer that was superseded: commit what its successor has aborted."""


@dataclass(frozen=True)
class SendOldMarker(Operation):
    """Send the leader an ABORT marker of the producer that was superseded, as a coordinator would
    that is late (WriteTxnMarkers): the leader must refuse it, whatever transaction is open."""

    topic: str
    partition: int


@dataclass(frozen=True)
class RejoinAsFormer(Operation):
    """InitProducerId with the id and epoch of the producer that was superseded, as one that wants
    to go on after an error (KIP-360): to be refused. Where the successor has a transaction open,
    Kafka aborts that first, and looks at the epoch of the next request."""


@dataclass(frozen=True)
class JoinAsStranger(Operation):
    """InitProducerId with the producer id of another transactional id, and an epoch that this one
    has left behind, though it is the own one's newest (KIP-360): to be refused."""

    transactional_id: str
    """The beginning of both names."""


@dataclass(frozen=True)
class SendOffsets(Operation):
    """Put positions of a group into the open transaction, as a member or as nobody."""

    group: str
    topic: str
    offsets: tuple[tuple[int, int], ...]
    """Partition and offset."""
    member: Membership | None = None
    as_former: bool = False
    """By the producer that was superseded, straight to the group's coordinator: to be refused."""


@dataclass(frozen=True)
class CommitPosition(Operation):
    """Commit an offset for a group once, and await the answer."""

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
    """Delete what a group without members has committed for these partitions (OffsetDelete), or, if
    they are all that it may have, the group (DeleteGroups)."""

    group: str
    places: tuple[tuple[str, int], ...]
    """Topic and partition."""
    whole_group: bool = False


@dataclass(frozen=True)
class AddOffsets(Operation):
    """Add the positions after what the member polled to its open transaction; a commit does so by
    itself."""


@dataclass(frozen=True)
class CommitInTransaction(Operation):
    """Commit an offset for a group in a transaction of its own, as a member that may have left the
    group; if the group refuses, the transaction is aborted."""

    group: str
    topic: str
    partition: int
    offset: int
    member: Membership
    transactional_id: str


@dataclass(frozen=True)
class LeaveOpen(Send):
    """Send in a transaction of an id of its own, whose producer is never heard of again: no
    successor ends it, so that the coordinator must when its time is over."""

    transactional_id: str = ""
    timeout_ms: int = 3_000


@dataclass(frozen=True)
class FetchPositions(Operation):
    """Ask which offsets the group has committed (OffsetFetch, require_stable)."""

    group: str
    topic: str
    partitions: tuple[int, ...]
    beside: tuple[str, ...] = ()
    """Further topics, of which the same partitions are asked for in the same request."""
