"""Take one member's next step towards its target.

Source: KIP-848, Reconciliation of the group; CurrentAssignmentBuilder.java. These are pure
functions of a member, its target and the partitions that others hold; they return the member after
the step.

A step is the first of these that applies:

1. there is something to give up: tell the member, and wait until it reports that it stopped;
2. otherwise it moves to the target's epoch, with everything of its part that is free;
3. what others still hold comes later, when they have let go of it.

So two members never read one partition at the same time, although no member waits for all others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from uuid import UUID

from reference_impl.core.groups.consumer.model.member import (
    ConsumerMember,
    Epochs,
    TopicIdPartition,
)
from reference_impl.core.groups.consumer.model.states import (
    MemberMove,
    MemberState,
    next_member_state,
)


@dataclass(frozen=True, slots=True)
class Goal:
    """The target of a member, and what it reports about itself."""

    epoch: int
    partitions: frozenset[TopicIdPartition]
    subscribed: frozenset[UUID]
    """The topics to which the member subscribes now; the target may have been made before that."""
    is_free: Callable[[TopicIdPartition], bool]
    """A function that returns whether the member may take a partition, because no other member
    holds it (rules.is_released)."""
    reported: set[TopicIdPartition] | None
    """The partitions that the member says it reads (TopicPartitions); None if the heartbeat does
    not say."""
    subscription_changed: bool


def reconciled(member: ConsumerMember, goal: Goal) -> ConsumerMember:
    """Return the member after its next step, or unchanged if there is no step to take now."""
    if member.state is MemberState.UNREVOKED_PARTITIONS and _still_reads(member.revoking, goal):
        return _unsubscribed(member, goal) if goal.subscription_changed else member
    if member.state is MemberState.STABLE and member.epoch == goal.epoch:
        return _unsubscribed(member, goal) if goal.subscription_changed else member
    return _next_step(member, goal)


def _still_reads(revoking: Epochs, goal: Goal) -> bool:
    """Return whether the member may still be reading any of the partitions in `revoking`, which it
    must give up. A member that does not report its partitions may be."""
    return goal.reported is None or not goal.reported.isdisjoint(revoking)


def _unsubscribed(member: ConsumerMember, goal: Goal) -> ConsumerMember:
    """Return the member without the partitions of topics that it no longer subscribes to: it must
    give them up at once, not only with the next target."""
    lost = {key: epoch for key, epoch in member.assigned.items() if key[0] not in goal.subscribed}
    if not lost:
        return member
    kept = {key: epoch for key, epoch in member.assigned.items() if key not in lost}
    revoking = {**member.revoking, **lost}
    updated = replace(member.with_epoch(member.epoch), assigned=kept)
    if not _still_reads(revoking, goal):
        return updated
    state = next_member_state(member.state, MemberMove.MUST_REVOKE)
    return replace(updated, state=state, revoking=revoking)


def _next_step(member: ConsumerMember, goal: Goal) -> ConsumerMember:
    target = {key for key in goal.partitions if key[0] in goal.subscribed}
    kept = {key: epoch for key, epoch in member.assigned.items() if key in target}
    lost = {key: epoch for key, epoch in member.assigned.items() if key not in target}
    if lost and _still_reads(lost, goal):
        return replace(
            member.with_epoch(member.epoch),
            state=next_member_state(member.state, MemberMove.MUST_REVOKE),
            assigned=kept,
            revoking=lost,
        )
    missing = target - kept.keys()
    free = {key for key in missing if goal.is_free(key)}
    move = MemberMove.ARRIVES if free == missing else MemberMove.MUST_WAIT
    return replace(
        member.with_epoch(goal.epoch),
        state=next_member_state(member.state, move),
        assigned={**kept, **dict.fromkeys(sorted(free), goal.epoch)},
        revoking={},
    )
