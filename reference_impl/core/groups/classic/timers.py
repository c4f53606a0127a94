"""The timers of groups: each limits the time for an action of a member.

Source: GroupCoordinator's timers (GroupMetadataManager.java: heartbeat, join, sync keys). A key is
(TIMER, what, group, member), but that of the initial delay ends with two times in milliseconds;
setting it again restarts it, which is what a heartbeat does.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.effects import CancelTimer, Effect, SetTimer
from reference_impl.core.events import TimerKey
from reference_impl.core.groups.classic.group import ClassicGroup, Member

TIMER = "group"
SESSION, PENDING_MEMBER, JOIN, INITIAL_JOIN, SYNC = (
    "session",
    "pending-member",
    "join",
    "initial-join",
    "sync",
)
NEW_MEMBER_TIMEOUT_MS = 5 * 60 * 1000
"""The session time of a new member, which cannot send heartbeats while it waits
(ClassicGroup.NEW_MEMBER_JOIN_TIMEOUT_MS)."""


def key(what: str, group_id: str, member_id: str = "") -> TimerKey:
    """Return the key of a group's timer for a member and a purpose."""
    return (TIMER, what, group_id, member_id)


def expect_heartbeat(
    group: ClassicGroup, member: Member, within_ms: int | None = None
) -> Iterator[Effect]:
    """Restart the member's session timer, for `within_ms` if given, else for its session
    timeout."""
    delay_ms = member.session_timeout_ms if within_ms is None else within_ms
    yield SetTimer(key(SESSION, group.group_id, member.member_id), delay_ms)


def forget_member(group: ClassicGroup, member_id: str) -> Iterator[Effect]:
    """Cancel the session timer of this member. It is the only timer of a member that has joined."""
    yield CancelTimer(key(SESSION, group.group_id, member_id))


def expect_pending(group: ClassicGroup, member_id: str, within_ms: int) -> Iterator[Effect]:
    """Start the timer within which a new member must join again with its id (KIP-394)."""
    yield SetTimer(key(PENDING_MEMBER, group.group_id, member_id), within_ms)


def forget_pending(group: ClassicGroup, member_id: str) -> Iterator[Effect]:
    """Cancel the timer of a new member id, because it has joined or left, or its group is
    converted."""
    yield CancelTimer(key(PENDING_MEMBER, group.group_id, member_id))


def wait_for_joins(group: ClassicGroup, within_ms: int) -> Iterator[Effect]:
    """Start the timer for the members' JoinGroups: within the rebalance timeout each must join the
    next generation (KIP-62)."""
    yield SetTimer(key(JOIN, group.group_id), within_ms)


def delay_first_rebalance(
    group: ClassicGroup, delay_ms: int, remaining_ms: int
) -> Iterator[Effect]:
    """Start the timer that delays the first rebalance of an empty group by `delay_ms`, so that more
    members can join (KIP-134). `remaining_ms`, by which the delay may be extended, comes back with
    the timer."""
    yield SetTimer((TIMER, INITIAL_JOIN, group.group_id, delay_ms, remaining_ms), delay_ms)


def joins_are_over(group: ClassicGroup) -> Iterator[Effect]:
    """Cancel the join timer: the next generation begins, or the group changes its protocol."""
    yield CancelTimer(key(JOIN, group.group_id))


def wait_for_syncs(group: ClassicGroup, within_ms: int) -> Iterator[Effect]:
    """Start the timer for the members' SyncGroups: within the rebalance timeout each must ask for
    its assignment (KAFKA-10284)."""
    yield SetTimer(key(SYNC, group.group_id), within_ms)


def syncs_are_over(group: ClassicGroup) -> Iterator[Effect]:
    """Cancel the sync timer: all members came, or the wait no longer matters."""
    yield CancelTimer(key(SYNC, group.group_id))
