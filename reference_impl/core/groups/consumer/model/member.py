"""One member of a consumer group, as the log describes it.

Source: ConsumerGroupMember.java; records ConsumerGroupMemberMetadataValue (what the member wants)
and ConsumerGroupCurrentMemberAssignmentValue (what it has). A member is an immutable value: a
change creates another one, which is written to the log before it takes effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

from reference_impl.core.groups.consumer.model.states import MemberState

TopicIdPartition = tuple[UUID, int]
Epochs = Mapping[TopicIdPartition, int]
"""Partition -> the assignment epoch in which the member got it (KIP-1251)."""

LEAVE_EPOCH, LEAVE_STATIC_EPOCH, JOIN_EPOCH = -1, -2, 0
"""The special values of MemberEpoch in a heartbeat: the member leaves, leaves as a static member
that will return, or joins (ConsumerGroupHeartbeatRequest.java)."""


@dataclass(frozen=True, slots=True)
class ClassicMembership:
    """The facts about a member that still speaks the classic protocol (KIP-848, Upgrade)."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    """One member: its identity, its subscription and its assignment."""

    member_id: str
    epoch: int = 0
    previous_epoch: int = 0
    """The member's epoch before the current one. The member still sends it if the answer with the
    current one was lost."""
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topic_names: frozenset[str] = frozenset()
    topic_regex: str = ""
    server_assignor: str | None = None
    classic: ClassicMembership | None = None
    assigned: Epochs = field(default_factory=dict)
    revoking: Epochs = field(default_factory=dict)
    """The partitions that the member must give up but may still be reading."""

    @property
    def owned(self) -> set[TopicIdPartition]:
        """The partitions that no other member may read now."""
        return {*self.assigned, *self.revoking}

    def has_arrived_at(self, assignment_epoch: int) -> bool:
        """Return whether the member has this assignment epoch and owns all of its part of that
        target."""
        return self.state is MemberState.STABLE and self.epoch == assignment_epoch

    def with_epoch(self, epoch: int) -> ConsumerMember:
        """Return a copy of the member in this epoch, with its current one as the previous."""
        return replace(self, epoch=epoch, previous_epoch=self.epoch)

    def assignment_epoch(self, partition: TopicIdPartition) -> int | None:
        """Return the epoch since which the member owns this partition or gives it up, or None if it
        does neither."""
        return self.assigned.get(partition, self.revoking.get(partition))


def is_subset(claimed: set[TopicIdPartition] | None, partitions: Epochs) -> bool:
    """Return whether a member reports its partitions (not None) and all of them are in
    `partitions`."""
    return claimed is not None and claimed <= partitions.keys()
