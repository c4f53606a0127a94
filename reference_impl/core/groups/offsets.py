"""Committed offsets, and who may commit. Source: OffsetMetadataManager.java, ClassicGroup.java
(validateOffsetCommit); KIP-211, KIP-320 (leader epoch), KIP-447."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from reference_impl.core.groups.classic_group import ClassicGroup
from reference_impl.core.groups.states import State
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode
from reference_impl.wire.primitives import ZERO_UUID


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """Where a group is in one partition."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    topic_id: UUID = ZERO_UUID
    log_offset: int = -1
    """Of the record: a commit that was pending does not undo one that was written after it."""


TopicPartition = tuple[str, int]


class Offsets:
    """The committed offsets of all groups."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[TopicPartition, CommittedOffset]] = {}

    def put(self, group_id: str, key: TopicPartition, committed: CommittedOffset) -> None:
        """Take a commit into account."""
        self._groups.setdefault(group_id, {})[key] = committed

    def remove(self, group_id: str, key: TopicPartition) -> None:
        """Forget one partition of one group."""
        offsets = self._groups.get(group_id)
        if offsets is not None:
            offsets.pop(key, None)
            if not offsets:
                del self._groups[group_id]

    def of(self, group_id: str) -> dict[TopicPartition, CommittedOffset]:
        """Everything that a group has committed."""
        return self._groups.get(group_id, {})

    def groups_with(self, topic: str) -> list[tuple[str, TopicPartition]]:
        """(group, partition) of every commit to a topic."""
        return [
            (group_id, key)
            for group_id, offsets in self._groups.items()
            for key in offsets
            if key[0] == topic
        ]


def check_commit(
    group: ClassicGroup,
    member_id: str,
    instance_id: str | None,
    generation: int,
    *,
    in_transaction: bool = False,
) -> None:
    """Whether this member may commit now; raises Refused.

    In a transaction the producer is what is fenced; versions before KIP-447 know no member.
    """
    if group.state is State.DEAD:
        raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if generation < 0 and group.state is State.EMPTY:
        return  # a consumer that assigns partitions to itself, or an admin client
    if generation >= 0 or member_id or instance_id is not None:
        group.checked_member(member_id, instance_id)
        if generation != group.generation:
            raise Refused(ErrorCode.ILLEGAL_GENERATION)
    elif not in_transaction:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
    if group.state is State.COMPLETING_REBALANCE and not in_transaction:
        # The member knows the new generation, but not yet whether the partition is still its own.
        raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)
