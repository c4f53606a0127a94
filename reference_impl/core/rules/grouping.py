"""What a group coordinator decides about members, assignments and committed offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from reference_impl.core.groups.classic_group import ClassicGroup, Member
from reference_impl.core.groups.consumer.commits import Committer
from reference_impl.core.groups.consumer.group import ConsumerGroup
from reference_impl.core.groups.consumer.member import (
    JOIN_EPOCH,
    ConsumerMember,
    TopicIdPartition,
    is_subset,
)
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode

if TYPE_CHECKING:
    from reference_impl.core.groups.group_log import GroupLog, KeyValue


class Grouping:
    """Who owns a partition, who may commit, and where a group goes on."""

    def part_of(self, member: Member, given_out: Mapping[str, bytes]) -> bytes:
        """Each member gets the part that the leader gave it: no two read the same partition.

        Source: GroupMetadataManager.java, setAndPersistAssignment (classicGroupSync).
        """
        return given_out.get(member.member_id, b"")

    def check_committing_member(self, group: ClassicGroup, committer: Committer) -> None:
        """Who commits is a member, and was not replaced under its group.instance.id (KIP-345)."""
        group.checked_member(committer.member_id, committer.instance_id)

    def check_generation(self, group: ClassicGroup, committer: Committer) -> None:
        """Who missed a generation may commit over what its successor has read since.

        Source: ClassicGroup.java, validateOffsetCommit.
        """
        if committer.epoch != group.generation:
            raise Refused(ErrorCode.ILLEGAL_GENERATION)

    def write_commits(
        self,
        log: GroupLog,
        group_id: str,
        records: Sequence[KeyValue],
        writer: tuple[int, int] | None,
    ) -> int:
        """A commit is in `__consumer_offsets` before it is answered; its offset there (KIP-98)."""
        return log.append(group_id, records, writer)

    def is_released(
        self, group: ConsumerGroup, member_id: str, partition: TopicIdPartition
    ) -> bool:
        """A partition is given to a member only when no other may still be reading it.

        Source: KIP-848, Reconciliation of the group; CurrentAssignmentBuilder.java.
        """
        return group.owners.get(partition, member_id) == member_id

    def check_member_epoch(
        self, member: ConsumerMember, epoch: int, reported: set[TopicIdPartition] | None
    ) -> None:
        """Who missed an epoch reads what it may have lost, so it must begin anew (KIP-848).

        The previous epoch is accepted, in case that the answer was lost, from a member that claims
        nothing beyond what it has. Source: throwIfConsumerGroupMemberEpochIsInvalid.
        """
        if epoch in (JOIN_EPOCH, member.epoch):
            return
        is_retry = epoch == member.previous_epoch and epoch < member.epoch
        if is_retry and is_subset(reported, member.assigned):
            return
        kind = "greater" if epoch > member.epoch else "smaller"
        raise Refused(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a {kind} member epoch ({epoch}) than the one known by"
            f" the group coordinator ({member.epoch}). The member must abandon all its partitions"
            " and rejoin.",
        )

    def check_commit_epoch(
        self, member: ConsumerMember, epoch: int, partition: TopicIdPartition
    ) -> None:
        """A member commits for what it reads: since its epoch nobody else had the partition.

        Source: ConsumerGroup.java (validateOffsetCommit); KIP-848, KIP-1251 (an older epoch will do
        from the one on in which the member got the partition).
        """
        since = member.assignment_epoch(partition)
        is_since_then = since is not None and since <= epoch < member.epoch
        if epoch != member.epoch and not is_since_then:
            is_classic = member.classic is not None
            raise Refused(
                ErrorCode.ILLEGAL_GENERATION if is_classic else ErrorCode.STALE_MEMBER_EPOCH
            )
