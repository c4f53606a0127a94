"""LeaveGroup: a member leaves by itself, or an administrator removes it (KIP-345).

Source: GroupMetadataManager.java (classicGroupLeaveToClassicGroup).
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.effects import Effect
from reference_impl.core.groups.classic import rebalance, timers
from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.groups.classic.states import State
from reference_impl.core.groups.coordinator import GroupCoordinator
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode


def leave(
    coordinator: GroupCoordinator, group: ClassicGroup, member_id: str, instance_id: str | None
) -> Iterator[Effect]:
    """Remove one member, or a pending member id, and begin or complete a rebalance. With an
    instance id alone, remove its current member. Raise Refused, before anything has changed, if the
    member is unknown or was replaced."""
    if group.state is State.DEAD:
        raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if not member_id and instance_id is not None:
        # An administrator names only the instance: remove its current member.
        member_id = group.static_members.get(instance_id, "")
    elif member_id in group.pending_members:
        group.pending_members.discard(member_id)
        yield from timers.forget_pending(group, member_id)
        if group.state is not State.EMPTY:
            # As in Kafka, each leaver begins a rebalance, also one that had no part in the group.
            yield from rebalance.change(coordinator, group)
        return
    member = group.checked_member(member_id, instance_id)
    if coordinator.rules.lets_go(member, group.members):
        yield from rebalance.drop(coordinator, group, member)
