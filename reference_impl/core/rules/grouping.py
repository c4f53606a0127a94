"""The group coordinator's decisions about members, assignments and committed offsets."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeVar
from uuid import UUID

from reference_impl.core.effects import Effect
from reference_impl.core.groups.classic.group import ClassicGroup, Member
from reference_impl.core.groups.classic.states import State
from reference_impl.core.groups.consumer.assignors import Assignor, MemberSpec
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.consumer.model.member import (
    JOIN_EPOCH,
    ConsumerMember,
    TopicIdPartition,
    is_subset,
)
from reference_impl.core.groups.consumer.model.states import MemberState
from reference_impl.core.groups.consumer.timers import REVOCATION
from reference_impl.core.groups.group_log import Entry, GroupLog, group_from
from reference_impl.core.groups.offsets import CommittedOffset, Committer, Offsets
from reference_impl.core.log.directories.checkpoints import TopicPartition
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode, Struct

AnyMember = TypeVar("AnyMember", Member, ConsumerMember)
Target = Mapping[str, frozenset[TopicIdPartition]]
"""Member id -> the partitions that the member should own."""


class Grouping:
    """Decisions on the owner of a partition, on the members that may commit, and on the offset at
    which a group continues."""

    def part_of(self, member: Member, given_out: Mapping[str, bytes]) -> bytes:
        """Return the part of the leader's assignment that belongs to this member, so that no two
        members read the same partition; no bytes if the leader gave it none. Source:
        GroupMetadataManager.java, setAndPersistAssignment (classicGroupSync)."""
        return given_out.get(member.member_id, b"")

    def check_speaker(
        self, group: ClassicGroup, member_id: str, instance_id: str | None, generation: int
    ) -> Member:
        """Return the member that sends a Heartbeat or SyncGroup. Raise Refused if it is unknown,
        was replaced, or is of another generation, so that it learns that it must join again.

        Source: GroupMetadataManager.java, validateClassicGroupHeartbeat and validateSyncGroup.
        """
        member = group.checked_member(member_id, instance_id)
        if generation != group.generation:
            raise Refused(ErrorCode.ILLEGAL_GENERATION)
        return member

    def must_join_again(self, group: ClassicGroup) -> bool:
        """Return whether a heartbeat is answered REBALANCE_IN_PROGRESS: while a rebalance collects
        the members, which learn of it by their heartbeats (KIP-62; GroupMetadataManager.java,
        classicGroupHeartbeatToClassicGroup)."""
        return group.state is State.PREPARING_REBALANCE

    def session_renewed(self, member: AnyMember, session: Iterator[Effect]) -> Iterator[Effect]:
        """Return the effects of a heartbeat on its member's session: the timer `session`, so that
        the whole session time-out begins again (KIP-62; KIP-848, Member failure detection)."""
        return session

    def lets_go(self, member: AnyMember, members: Mapping[str, AnyMember]) -> bool:
        """Return whether a member that asks to leave is removed at once: whenever it is still a
        member, so that the others need not wait for the end of its session.

        Source: GroupMetadataManager.java, classicGroupLeave and consumerGroupLeave; KIP-848.
        """
        return member.member_id in members

    def session_has_ended(self, member: Member) -> bool:
        """Return whether a member is removed when its session timer fires. One that waits for the
        answer to a JoinGroup or SyncGroup cannot send heartbeats and is kept. A new member is
        removed even then, since its timer is longer (KIP-62; GroupMetadataManager.java,
        expireClassicGroupMemberHeartbeat)."""
        return member.is_new or not (member.awaiting_join or member.awaiting_sync)

    def loaded_group(self, group_id: str, value: Struct) -> ClassicGroup:
        """Return the classic group that a record of `__consumer_offsets` describes, as a new
        coordinator finds it: its generation, and each member with its id and group.instance.id, by
        which the members go on without joining again (KIP-345; GroupMetadataManager.java, replay of
        GroupMetadataValue)."""
        return group_from(group_id, value)

    def members_to_expect(self, loaded: Mapping[str, AnyMember]) -> Collection[AnyMember]:
        """Return the members from before a restart whose session timeouts start again: all of them,
        since some may have left meanwhile (GroupMetadataManager.java, onLoaded)."""
        return loaded.values()

    def is_join_over(self, group: ClassicGroup, *, timed_out: bool) -> bool:
        """Return whether the next generation begins: all current members have sent their JoinGroup,
        or the rebalance time-out has passed (KIP-62)."""
        return timed_out or group.has_all_joined()

    def was_awaited_in_vain(self, member: ConsumerMember, timer: str) -> bool:
        """Return whether a member must be removed when one of its timers fires. The revocation
        timer removes it only while it still has partitions to revoke (KIP-848, Member fencing)."""
        return timer != REVOCATION or member.state is MemberState.UNREVOKED_PARTITIONS

    def target(
        self, assign: Assignor, members: Sequence[MemberSpec], counts: Mapping[UUID, int]
    ) -> Target:
        """Return the target assignment of a group: exactly what the assignor gives to each member
        (KIP-848, Assignment process).
        """
        return assign(members, counts)

    def topics_have_changed(self, known_hash: int, metadata_hash: int) -> bool:
        """Return whether a group needs a new epoch because its topics have changed: one was created
        or deleted, or has more partitions (KIP-848, Group epoch; KIP-1101)."""
        return metadata_hash != known_hash

    def newer_commit(
        self, known: CommittedOffset | None, commit: CommittedOffset
    ) -> CommittedOffset:
        """Return the commit that is in force after another one was written: the later one, even if
        its offset is smaller, since a group may go back (OffsetMetadataManager.replay).
        """
        return commit

    def check_names_member(self, committer: Committer) -> None:
        """Raise Refused(UNKNOWN_MEMBER_ID) for a commit that names no member although the group has
        some: it could overwrite the position of a partition's owner. Allow it to transactional
        producers from before KIP-447, which name none.

        Source: ClassicGroup.java, ConsumerGroup.java (validateOffsetCommit).
        """
        if not committer.in_transaction:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)

    def check_committing_member(self, group: ClassicGroup, committer: Committer) -> None:
        """Raise Refused unless the committer is a current member that no newer instance has
        replaced under its group.instance.id (KIP-345)."""
        group.checked_member(committer.member_id, committer.instance_id)

    def check_generation(self, group: ClassicGroup, committer: Committer) -> None:
        """Raise Refused(ILLEGAL_GENERATION) for a member of any generation but the current one: its
        commit could overwrite the position of the partition's new owner. Source: ClassicGroup.java,
        validateOffsetCommit."""
        if committer.epoch != group.generation:
            raise Refused(ErrorCode.ILLEGAL_GENERATION)

    def write_commits(
        self, log: GroupLog, group_id: str, records: Sequence[Entry], writer: tuple[int, int] | None
    ) -> int:
        """Write commits to `__consumer_offsets` before they are answered (KIP-98).

        Return the log offset of the first one.
        """
        return log.append(records, writer)

    def write_deletions(self, log: GroupLog, group_id: str, records: Sequence[Entry]) -> None:
        """Write the tombstones of a group or of its offsets to `__consumer_offsets` before their
        deletion is answered: otherwise the next start would undo it (KIP-229, KIP-496)."""
        log.append(records)

    def answer_waits(self, uncommitted: Collection[Partition]) -> bool:
        """Return whether an answer must wait until the records of these partitions, on which it
        rests, are replicated. It must whenever there are such partitions: otherwise a new
        coordinator may lack records that a client has seen in a response.

        Source: CoordinatorRuntime.java, deferredEventQueue.
        """
        return bool(uncommitted)

    def positions_of_deleted(
        self, offsets: Offsets, topic: str
    ) -> Sequence[tuple[str, TopicPartition]]:
        """Return the commits to delete with a topic, as (group id, partition): all of that topic,
        so that no group continues from them in a new topic of the same name.

        Source: GroupCoordinatorService.java, onPartitionsDeleted.
        """
        return offsets.groups_with(topic)

    def is_released(
        self, group: ConsumerGroup, member_id: str, partition: TopicIdPartition
    ) -> bool:
        """Return whether a member may be given a partition: not while another may still read it.

        Source: KIP-848, Reconciliation of the group; CurrentAssignmentBuilder.java.
        """
        return group.owners.get(partition, member_id) == member_id

    def check_member_epoch(
        self, member: ConsumerMember, epoch: int, reported: set[TopicIdPartition] | None
    ) -> None:
        """Raise Refused(FENCED_MEMBER_EPOCH) for a member that missed an epoch: it may be reading
        partitions which it has lost, so it must join again (JOIN_EPOCH; KIP-848). The previous
        epoch is also accepted, because the answer with the current one may be lost, if the member
        reports no partitions beyond its own. Source: throwIfConsumerGroupMemberEpochIsInvalid."""
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
        """Raise Refused unless the member names its current epoch, or an older one since which it
        has had the partition, so that no other member can have committed for it meanwhile.

        Source: ConsumerGroup.java (validateOffsetCommit); KIP-848, KIP-1251 (an older epoch is
        accepted if the member already had the partition in it).
        """
        since = member.assignment_epoch(partition)
        is_since_then = since is not None and since <= epoch < member.epoch
        if epoch != member.epoch and not is_since_then:
            is_classic = member.classic is not None
            raise Refused(
                ErrorCode.ILLEGAL_GENERATION if is_classic else ErrorCode.STALE_MEMBER_EPOCH
            )
