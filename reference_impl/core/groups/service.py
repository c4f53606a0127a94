"""Start the groups of the last process, and let the timers of groups and members fire."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.effects import Effect
from reference_impl.core.events import TimerKey
from reference_impl.core.groups import expiry
from reference_impl.core.groups.classic import rebalance
from reference_impl.core.groups.classic import timers as classic_timers
from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.groups.classic.states import State
from reference_impl.core.groups.consumer import leaving, timers
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.consumer.model.states import MemberState
from reference_impl.core.groups.coordinator import GroupCoordinator


def start(coordinator: GroupCoordinator) -> Iterator[Effect]:
    """Start the session timeouts of members from before a restart."""
    for group in coordinator.groups.values():
        if isinstance(group, ConsumerGroup):
            yield from _start_consumer_group(coordinator, group)
        else:
            yield from _start_classic_group(coordinator, group)
    yield expiry.next_round(coordinator)


def _start_classic_group(coordinator: GroupCoordinator, group: ClassicGroup) -> Iterator[Effect]:
    for member in coordinator.rules.members_to_expect(group.members):
        yield from classic_timers.expect_heartbeat(group, member)
    if len(group.members) > coordinator.settings.group_size_max:
        # The limit was lowered meanwhile: who joins again finds room, or does not (KIP-389).
        yield from rebalance.prepare(coordinator, group)


def _start_consumer_group(coordinator: GroupCoordinator, group: ConsumerGroup) -> Iterator[Effect]:
    timeout_ms = coordinator.settings.of_group(group.group_id, "session.timeout.ms")
    for member in coordinator.rules.members_to_expect(group.members):
        yield from timers.expect_heartbeat(group.group_id, member, timeout_ms)
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            yield from timers.expect_revocation(group.group_id, member)


def timer_fired(coordinator: GroupCoordinator, key: TimerKey) -> Iterator[Effect]:
    """Handle a timer: a member was not heard from in time, or a delay is over."""
    _, what, *rest = key
    if what == expiry.EXPIRY:
        yield from expiry.expire_offsets(coordinator)
        return
    group_id, *rest = rest
    group = coordinator.groups.get(str(group_id))
    if isinstance(group, ConsumerGroup):
        if what in timers.KINDS:
            yield from leaving.timer_fired(coordinator, group, str(what), str(rest[0]))
    elif group is not None and group.state is not State.DEAD:
        yield from rebalance.timer_fired(coordinator, group, str(what), rest)
