"""Raise the epoch of a group, and compute a new target assignment for it.

Source: GroupMetadataManager.java (updateSubscriptionMetadata, maybeUpdateTargetAssignment,
maybeReconcile), TargetAssignmentBuilder.java; KIP-848, Rebalance Process.
"""

from __future__ import annotations

from reference_impl.core.groups.consumer import timers
from reference_impl.core.groups.consumer.assignors import ASSIGNORS
from reference_impl.core.groups.consumer.model import records
from reference_impl.core.groups.consumer.model.draft import Draft
from reference_impl.core.groups.consumer.model.member import ConsumerMember, TopicIdPartition
from reference_impl.core.groups.consumer.model.states import MemberState
from reference_impl.core.groups.consumer.reconciliation import Goal, reconciled
from reference_impl.core.groups.coordinator import GroupCoordinator


def update_epoch(coordinator: GroupCoordinator, draft: Draft, *, bump: bool) -> None:
    """Write a higher group epoch to the draft if `bump`, or if the subscribed topics have changed
    (created, deleted, or with more partitions). Also delete a record of partition metadata that an
    older Kafka left."""
    group, version = draft.group, coordinator.metadata_version
    if not bump and group.hashed_at_version == version:
        return
    metadata_hash = group.hash_of_metadata(coordinator.image)
    rules = coordinator.rules
    if bump or rules.topics_have_changed(group.metadata_hash, metadata_hash):
        draft.write(records.epoch_record(group.group_id, group.epoch + 1, metadata_hash))
    group.hashed_at_version = version
    if group.has_partition_metadata:
        draft.write(records.partition_metadata_tombstone(group.group_id))


def update_target(coordinator: GroupCoordinator, draft: Draft) -> None:
    """Write a new target assignment to the draft if the last one belongs to an older epoch, but not
    more often than group.consumer.assignment.interval.ms, so that a hundred members that join one
    after another are not moved a hundred times. If it is too early, a later heartbeat computes
    it."""
    group = draft.group
    interval_ms = coordinator.settings.of_group(group.group_id, "assignment.interval.ms")
    is_due = coordinator.now_ms >= group.assignment_timestamp_ms + interval_ms
    if group.assignment_epoch >= group.epoch:
        return
    if group.assignment_timestamp_ms and interval_ms and not is_due:
        return
    assignors = coordinator.settings.consumer_assignors
    assign = ASSIGNORS[group.preferred_assignor(assignors)]
    counts = {topic.topic_id: len(topic.partitions) for topic in coordinator.image.topics.values()}
    target = coordinator.rules.target(assign, group.specs(coordinator.image), counts)
    for member_id, part in sorted(target.items()):
        if group.target.get(member_id) != part:
            draft.write(records.target_record(group.group_id, member_id, part))
    draft.write(records.target_epoch_record(group.group_id, group.epoch, coordinator.now_ms))


def reconcile(
    coordinator: GroupCoordinator,
    draft: Draft,
    member: ConsumerMember,
    reported: set[TopicIdPartition] | None,
    *,
    subscription_changed: bool,
) -> ConsumerMember:
    """Return the member after its next step towards the target, and write that step with its timers
    to the draft. Return the member unchanged if there is no step to take. `reported`: the
    partitions that it says it owns."""
    group, rules = draft.group, coordinator.rules
    if not subscription_changed and member.has_arrived_at(group.assignment_epoch):
        return member
    goal = Goal(
        group.assignment_epoch,
        group.part_of(member.member_id),
        group.topic_ids_of(member, coordinator.image),
        lambda partition: rules.is_released(group, member.member_id, partition),
        reported,
        subscription_changed,
    )
    updated = reconciled(member, goal)
    if updated == member:
        return member
    draft.write(records.current_record(group.group_id, updated))
    if updated.classic is None:  # a classic member has the timers of its join and its sync
        if updated.state is MemberState.UNREVOKED_PARTITIONS:
            draft.then(timers.expect_revocation(group.group_id, updated))
        else:
            draft.then(timers.revocation_is_over(group.group_id, updated.member_id))
    return updated
