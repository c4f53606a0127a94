"""Committed offsets, and who commits them. Source: OffsetMetadataManager.java; KIP-211, KIP-320
(leader epoch)."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from reference_impl.core.log.directories.checkpoints import TopicPartition
from reference_impl.wire.codec.primitives import ZERO_UUID


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """A group's position in one partition."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    topic_id: UUID = ZERO_UUID
    log_offset: int = -1
    """The offset of the commit's record in the log. It tells whether a transactional commit,
    applied later, is older than another commit of the same partition."""
    expire_timestamp_ms: int = -1
    """The time at which the offset expires, in milliseconds of the wall clock, if its client set
    one (OffsetCommit v2-4); -1 if the common retention applies (KIP-211)."""


@dataclass(frozen=True, slots=True)
class Committer:
    """The sender of a commit, in the classic or the consumer protocol."""

    member_id: str
    instance_id: str | None
    epoch: int
    """The generation (classic protocol) or the member epoch (consumer protocol)."""
    version: int
    in_transaction: bool = False

    @property
    def is_nobody(self) -> bool:
        """Return whether the sender names no consumer: a transactional producer from before
        KIP-447."""
        return self.epoch < 0 and not self.member_id and self.instance_id is None


class Offsets:
    """The committed offsets of all groups."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[TopicPartition, CommittedOffset]] = {}

    def put(self, group_id: str, key: TopicPartition, committed: CommittedOffset) -> None:
        """Store a commit of a group, in place of an earlier one for the same partition."""
        self._groups.setdefault(group_id, {})[key] = committed

    def remove(self, group_id: str, key: TopicPartition) -> None:
        """Forget the offset that a group has committed for a partition, if there is one."""
        offsets = self._groups.get(group_id)
        if offsets is not None:
            offsets.pop(key, None)
            if not offsets:
                del self._groups[group_id]

    def of(self, group_id: str) -> dict[TopicPartition, CommittedOffset]:
        """Return the offsets that a group has committed, by partition: empty if there are none. Do
        not change the result."""
        return self._groups.get(group_id, {})

    def groups_with(self, topic: str) -> list[tuple[str, TopicPartition]]:
        """Return (group, partition) of every commit to a topic."""
        return [
            (group_id, key)
            for group_id, offsets in self._groups.items()
            for key in offsets
            if key[0] == topic
        ]
