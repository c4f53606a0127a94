"""Identify the member that sends a heartbeat: in which group, and whether it is new, known or
replaced.

Source: GroupMetadataManager.java (getOrMaybeCreateConsumerGroup, throwIfConsumerGroupIsFull,
getOrMaybeSubscribe{Dynamic,Static}ConsumerGroupMember, replaceMember); KIP-848, KIP-345.
"""

from __future__ import annotations

from dataclasses import replace

from reference_impl.core.groups import group_log
from reference_impl.core.groups.classic import timers
from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.groups.classic.states import State
from reference_impl.core.groups.consumer.migration.conversion import upgraded
from reference_impl.core.groups.consumer.model import records
from reference_impl.core.groups.consumer.model.draft import Draft
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.consumer.model.member import (
    JOIN_EPOCH,
    LEAVE_STATIC_EPOCH,
    ConsumerMember,
    TopicIdPartition,
)
from reference_impl.core.groups.coordinator import GroupCoordinator
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode, Struct


def group_to_enter(coordinator: GroupCoordinator, group_id: str, joins: bool) -> Draft:
    """Return a draft of the consumer group. For a member that joins, it may be a new group, or one
    that replaces a classic group. Raise Refused if the classic group cannot be converted, or if
    there is no consumer group and the member does not join."""
    group = coordinator.group(group_id)
    if isinstance(group, ConsumerGroup):
        return Draft(group)
    if group is None:
        if joins:
            return Draft(ConsumerGroup(group_id))
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
    if not joins:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    if group.state is not State.EMPTY:
        return upgraded(coordinator, group)
    return _instead_of_empty(group)


def _instead_of_empty(group: ClassicGroup) -> Draft:
    """Return the draft of a consumer group that replaces an empty classic group, perhaps only a
    holder of offsets."""
    draft = Draft(ConsumerGroup(group.group_id), [group_log.group_tombstone(group.group_id)])
    for member_id in sorted(group.pending_members):
        draft.then(timers.forget_pending(group, member_id))
    return draft


def check_size(coordinator: GroupCoordinator, group: ConsumerGroup, member_id: str) -> None:
    """Raise Refused if the group is full (group.consumer.max.size); existing members may stay."""
    size_max = coordinator.settings.number("group.consumer.max.size")
    if len(group.members) >= size_max and member_id not in group.members:
        raise Refused(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {size_max} members.",
        )


def speaker(
    coordinator: GroupCoordinator,
    draft: Draft,
    body: Struct,
    member_id: str,
    reported: set[TopicIdPartition] | None,
) -> ConsumerMember:
    """Return the member that sent the heartbeat, as it was before, or a new one if an unknown
    member joins. `reported`: the partitions that it says it owns. Raise Refused if a member that
    does not join is unknown, was replaced or names a wrong epoch, or if the instance id of one that
    joins is not released (`static_joiner`)."""
    group, joins = draft.group, body.member_epoch == JOIN_EPOCH
    if joins and body.instance_id is not None:
        return static_joiner(draft, member_id, body.instance_id)
    if joins:
        return group.members.get(member_id, ConsumerMember(member_id))
    member = group.speaking_member(member_id, body.instance_id)
    coordinator.rules.check_member_epoch(member, body.member_epoch, reported)
    return member


def static_joiner(
    draft: Draft, member_id: str, instance_id: str, *, is_classic: bool = False
) -> ConsumerMember:
    """Return the member that joins with an instance id: a new one, or the one of the process before
    a restart, which takes the new member id in the draft. A process may only be replaced once it
    has said that it will come back (epoch -2): else raise Refused(UNRELEASED_INSTANCE_ID). But if
    the old or the new process speaks the classic protocol (`is_classic`: the new one), the new one
    always wins."""
    group = draft.group
    before = group.static_member(instance_id)
    if before is None:
        return group.members.get(member_id, ConsumerMember(member_id))
    both_are_new = not is_classic and before.classic is None
    if both_are_new and before.epoch != LEAVE_STATIC_EPOCH:
        raise Refused(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group"
            f" because the instance id is owned by {before.member_id} member.",
        )
    after = replace(before, member_id=member_id, epoch=0, previous_epoch=0)
    part = group.part_of(before.member_id)
    draft.write(
        *records.member_tombstones(group.group_id, before.member_id),
        records.member_record(group.group_id, after),
        records.target_record(group.group_id, member_id, part),
        records.current_record(group.group_id, after),
    )
    return after
