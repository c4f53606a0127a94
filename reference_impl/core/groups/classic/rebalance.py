"""The life of one rebalance: wait for members, begin the generation, drop the absent ones.

Source: GroupMetadataManager.java (prepareRebalance, maybeCompleteJoinElseSchedule,
completeClassicGroupJoin, tryCompleteInitialRebalanceElseSchedule, expirePendingSync,
removeMemberAndUpdateClassicGroup); KIP-62, KIP-134, KAFKA-10284.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reference_impl.core.effects import Effect
from reference_impl.core.groups.classic import answers, timers
from reference_impl.core.groups.classic.group import ClassicGroup, Member
from reference_impl.core.groups.classic.states import Move, State
from reference_impl.core.groups.coordinator import GroupCoordinator
from reference_impl.wire import ErrorCode


def change(coordinator: GroupCoordinator, group: ClassicGroup) -> Iterator[Effect]:
    """React to a changed membership: complete the running rebalance if all have joined, or begin
    one if none runs."""
    if group.state is State.PREPARING_REBALANCE:
        yield from complete_if_joined(coordinator, group)
    else:
        yield from prepare(coordinator, group)


def prepare(coordinator: GroupCoordinator, group: ClassicGroup) -> Iterator[Effect]:
    """Begin a rebalance: refuse waiting SyncGroups, and wait for the members of the next
    generation. If the group was empty, wait for the initial delay; else complete the rebalance now
    if all members have joined already."""
    if group.state is State.COMPLETING_REBALANCE:
        yield from refuse_syncs(group, ErrorCode.REBALANCE_IN_PROGRESS)
    yield from timers.syncs_are_over(group)
    group.pending_syncs.clear()
    group.is_initial_rebalance = group.state is State.EMPTY
    if group.is_initial_rebalance:
        group.move(Move.MEMBER_JOINS)
        delay_ms = coordinator.settings.initial_delay_ms
        remaining_ms = max(group.rebalance_timeout_ms() - delay_ms, 0)
        yield from timers.delay_first_rebalance(group, delay_ms, remaining_ms)
    else:
        group.move(Move.MEMBERSHIP_CHANGES)
        yield from timers.wait_for_joins(group, group.rebalance_timeout_ms())
        yield from complete_if_joined(coordinator, group)


def initial_delay_is_over(
    coordinator: GroupCoordinator, group: ClassicGroup, delay_ms: int, remaining_ms: int
) -> Iterator[Effect]:
    """Begin the first generation. If a member has joined during the delay and time remains, wait
    once more instead (KIP-134). Do nothing if the group has left its initial rebalance."""
    if group.state is not State.PREPARING_REBALANCE or not group.is_initial_rebalance:
        return
    if group.new_member_added and remaining_ms > 0:
        group.new_member_added = False
        next_delay_ms = min(coordinator.settings.initial_delay_ms, remaining_ms)
        yield from timers.delay_first_rebalance(
            group, next_delay_ms, max(remaining_ms - delay_ms, 0)
        )
    else:
        yield from complete_join(coordinator, group)


def complete_if_joined(coordinator: GroupCoordinator, group: ClassicGroup) -> Iterator[Effect]:
    """Begin the generation if a rebalance, other than the first, waits for nobody any more. If not,
    the time to join goes on: nobody extends it (maybeCompleteJoinPhase)."""
    if group.state is not State.PREPARING_REBALANCE or group.is_initial_rebalance:
        return
    if coordinator.rules.is_join_over(group, timed_out=False):
        yield from complete_join(coordinator, group)


def complete_join(coordinator: GroupCoordinator, group: ClassicGroup) -> Iterator[Effect]:
    """Complete the JoinGroup phase: remove the dynamic members that have not joined, begin the next
    generation, and answer those that have. If no member is left, save the empty group; if only
    absent static members are, wait once more. Do nothing outside of this phase."""
    if group.state is not State.PREPARING_REBALANCE:
        return
    yield from timers.joins_are_over(group)
    group.is_initial_rebalance = group.new_member_added = False
    for member in list(group.members.values()):
        # Static members keep their place until their session times out (KIP-345).
        if member.awaiting_join is None and member.instance_id is None:
            group.remove(member.member_id)
            yield from timers.forget_member(group, member.member_id)
    if group.members and not group.elect_joined_leader():
        # Only static members are left, and none is here: their sessions decide.
        yield from timers.wait_for_joins(group, group.rebalance_timeout_ms())
        return
    group.generation += 1
    group.state_timestamp_ms = coordinator.now_ms
    group.pending_syncs.clear()
    if not group.members:
        group.protocol = None
        group.move(Move.NOBODY_JOINED)
        yield from coordinator.try_to_save(group)
        return
    group.protocol = group.select_protocol()
    group.move(Move.ALL_JOINED)
    yield from _tell_generation(group)
    yield from timers.wait_for_syncs(group, group.rebalance_timeout_ms())


def _tell_generation(group: ClassicGroup) -> Iterator[Effect]:
    for member in group.members.values():
        group.pending_syncs.add(member.member_id)
        request, member.awaiting_join = member.awaiting_join, None
        if request is not None:
            yield answers.joined(request, group, member, members=answers.members_for(group, member))
        member.is_new = False
        yield from timers.expect_heartbeat(group, member)


def syncs_timed_out(coordinator: GroupCoordinator, group: ClassicGroup) -> Iterator[Effect]:
    """Remove the members that joined but did not send SyncGroup in time, and rebalance. Do nothing
    if there are none."""
    if group.state not in (State.COMPLETING_REBALANCE, State.STABLE) or not group.pending_syncs:
        return
    for member_id in sorted(group.pending_syncs):
        group.remove(member_id)
        yield from timers.forget_member(group, member_id)
    yield from prepare(coordinator, group)


def session_timed_out(
    coordinator: GroupCoordinator, group: ClassicGroup, member_id: str
) -> Iterator[Effect]:
    """Remove a member that sent no heartbeat for its session timeout, unless its JoinGroup or
    SyncGroup waits (rules.session_has_ended). Do nothing if it is gone."""
    member = group.members.get(member_id)
    if member is None:
        return
    # If the member stays, its timer starts again with the answer to its request.
    if coordinator.rules.session_has_ended(member):
        yield from drop(coordinator, group, member)


def drop(coordinator: GroupCoordinator, group: ClassicGroup, member: Member) -> Iterator[Effect]:
    """Remove a member, answer its waiting request with UNKNOWN_MEMBER_ID, and rebalance so that the
    others get its partitions."""
    yield from _turn_away(group, member, ErrorCode.UNKNOWN_MEMBER_ID)
    yield from timers.forget_member(group, member.member_id)
    group.remove(member.member_id)
    yield from change(coordinator, group)


def _turn_away(group: ClassicGroup, member: Member, code: ErrorCode) -> Iterator[Effect]:
    """Answer the parked JoinGroup or SyncGroup of a member with this error."""
    if member.awaiting_join is not None:
        yield answers.join_refused(member.awaiting_join, code, member.member_id)
        member.awaiting_join = None
    if member.awaiting_sync is not None:
        yield answers.sync_refused(member.awaiting_sync, code)
        member.awaiting_sync = None


def fence(group: ClassicGroup, member: Member) -> Iterator[Effect]:
    """Cancel the session timer of a member whose group.instance.id a newer process takes (KIP-345),
    and answer its waiting request with FENCED_INSTANCE_ID. The caller replaces the member."""
    yield from timers.forget_member(group, member.member_id)
    yield from _turn_away(group, member, ErrorCode.FENCED_INSTANCE_ID)


def turn_all_away(group: ClassicGroup, code: ErrorCode) -> Iterator[Effect]:
    """Answer every parked request of a group with an error."""
    for member in group.members.values():
        yield from _turn_away(group, member, code)


def abandon(group: ClassicGroup, code: ErrorCode) -> Iterator[Effect]:
    """Answer every parked request with an error, and cancel the timers of pending members, joins
    and syncs, because the group changes its protocol."""
    yield from turn_all_away(group, code)
    for member_id in sorted(group.pending_members):
        yield from timers.forget_pending(group, member_id)
    yield from timers.joins_are_over(group)
    yield from timers.syncs_are_over(group)


def refuse_syncs(group: ClassicGroup, code: ErrorCode) -> Iterator[Effect]:
    """Drop the assignments of all members, and refuse the SyncGroups that wait for an assignment
    which will never be made. Restart the sessions of their senders."""
    for member in group.members.values():
        member.assignment = b""
        if member.awaiting_sync is not None:
            yield answers.sync_refused(member.awaiting_sync, code)
            member.awaiting_sync = None
            yield from timers.expect_heartbeat(group, member)


def timer_fired(
    coordinator: GroupCoordinator, group: ClassicGroup, what: str, rest: Sequence[str | int]
) -> Iterator[Effect]:
    """Handle a timer with these parts of its key: a member's session is over, the time to join with
    a new member id, to join the next generation or to sync is, or the initial delay is."""
    match what:
        case timers.SESSION:
            yield from session_timed_out(coordinator, group, str(rest[0]))
        case timers.PENDING_MEMBER:
            group.pending_members.discard(str(rest[0]))
            yield from complete_if_joined(coordinator, group)
        case timers.JOIN:
            if coordinator.rules.is_join_over(group, timed_out=True):
                yield from complete_join(coordinator, group)
        case timers.INITIAL_JOIN:
            yield from initial_delay_is_over(coordinator, group, int(rest[0]), int(rest[1]))
        case timers.SYNC:
            yield from syncs_timed_out(coordinator, group)
