"""The partitions that a consumer reads, and its position in each. Source:
SubscriptionState.java."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

from reference_impl.client.errors import IllegalState
from reference_impl.client.rules import CORRECT, ClientRules
from reference_impl.client.values import OffsetAndMetadata, TopicPartition

LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2
"""The symbolic timestamps of ListOffsetsRequest.json."""


class Mode(Enum):
    """The party that decides which partitions are read."""

    NOBODY = auto()
    GROUP = auto()
    APPLICATION = auto()


@dataclass(slots=True)
class PartitionState:
    """One partition of a consumer. It is fetched once the position is known."""

    position: int | None = None
    leader_epoch: int = -1
    """The leader epoch of the last record read, committed with the position (KIP-320)."""
    valid_epoch: int = -1
    """The newest leader epoch whose leader is known to have the records that were read
    (reading/truncation.py)."""
    reset_to: int | None = None
    """The timestamp at which reading must begin, as long as its offset is not known from
    ListOffsets; otherwise None."""
    is_paused: bool = False
    is_being_revoked: bool = False
    """Whether the partition is about to be revoked: its position was committed for the next owner,
    so it must not change."""
    is_looked_up: bool = False
    """Whether a look-up of the position is in progress."""
    high_watermark: int = -1
    not_before_ms: int = 0

    @property
    def may_be_read(self) -> bool:
        """Return whether the application may be given records of this partition."""
        return not (self.is_paused or self.is_being_revoked)

    def seek(self, offset: int, leader_epoch: int = -1) -> None:
        """Set the position, which the application has chosen, to this offset."""
        self.position, self.leader_epoch, self.reset_to = offset, leader_epoch, None
        self.valid_epoch, self.not_before_ms = -1, 0

    def is_valid_under(self, leader_epoch: int) -> bool:
        """Return whether the position needs no check against this leader: it was checked, or it
        names no epoch."""
        return self.leader_epoch < 0 or self.valid_epoch >= leader_epoch

    def reset(self, timestamp_ms: int) -> None:
        """Drop the position. ListOffsets will be asked for the offset at this timestamp."""
        self.position, self.reset_to = None, timestamp_ms


class Subscription:
    """The topics, pattern or partitions that the application asked for, and the state of every
    partition that the consumer holds now."""

    def __init__(self, rules: ClientRules = CORRECT) -> None:
        self._rules = rules
        self.mode = Mode.NOBODY
        self.topics: frozenset[str] = frozenset()
        self.pattern: str | None = None
        """A regular expression: the group reads all topics with such a name (KIP-848)."""
        self.is_listening = False
        self.partitions: dict[TopicPartition, PartitionState] = {}

    def subscribe(
        self, topics: frozenset[str], *, is_listening: bool, pattern: str | None = None
    ) -> None:
        """Subscribe to topics or a pattern: the group chooses the partitions. Raise IllegalState if
        partitions were assigned, or if names and a pattern would replace each other."""
        if self.mode is Mode.GROUP and (pattern is None) != (self.pattern is None):
            raise IllegalState("topics are subscribed by name or by pattern: unsubscribe first")
        self._enter(Mode.GROUP)
        self.topics, self.pattern, self.is_listening = topics, pattern, is_listening

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions, which the application chooses. Raise IllegalState if topics are
        subscribed."""
        self._enter(Mode.APPLICATION)
        self.topics = frozenset(partition.topic for partition in partitions)
        self.hold(partitions)

    def _enter(self, mode: Mode) -> None:
        if self.mode not in (Mode.NOBODY, mode):
            raise IllegalState("subscribe and assign exclude each other: unsubscribe first")
        self.mode = mode

    def clear(self) -> None:
        """Forget the subscription or assignment, with the states of all partitions."""
        self.mode, self.topics, self.is_listening = Mode.NOBODY, frozenset(), False
        self.pattern = None
        self.partitions = {}

    def hold(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions; those that were read before keep their positions."""
        self.partitions = {
            partition: self.partitions.get(partition, PartitionState())
            for partition in sorted(partitions)
        }

    def revoke(self, partitions: Iterable[TopicPartition]) -> None:
        """Deliver no further records of these partitions: the group is about to take them away
        (SubscriptionState.markPendingRevocation)."""
        for partition in partitions:
            if partition in self.partitions:
                self.partitions[partition].is_being_revoked = True

    def state(self, partition: TopicPartition) -> PartitionState:
        """Return the state of an assigned partition. Raise IllegalState if it is not assigned."""
        if partition not in self.partitions:
            raise IllegalState(f"{partition} is not assigned to this consumer")
        return self.partitions[partition]

    def positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the known positions of all partitions, which a commit without arguments
        commits."""
        return {
            partition: self._rules.to_commit(state.position, state.leader_epoch)
            for partition, state in self.partitions.items()
            if state.position is not None
        }
