"""The timers of consumer groups: a key is (TIMER, what, group, member).

Source: GroupMetadataManager.java (scheduleConsumerGroupSessionTimeout, ...RebalanceTimeout,
...JoinTimeoutIfAbsent, ...SyncTimeout). A member whose timer fires is removed from the group.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.effects import CancelTimer, Effect, SetTimer
from reference_impl.core.groups.classic import timers
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.consumer.model.member import ConsumerMember

SESSION = timers.SESSION
"""The same purpose as in the classic protocol, so that the session timer of a group survives a
change of its protocol."""
REVOCATION, MEMBER_JOIN, MEMBER_SYNC = "revocation", "member-join", "member-sync"
KINDS = (SESSION, REVOCATION, MEMBER_JOIN, MEMBER_SYNC)


def expect_heartbeat(group_id: str, member: ConsumerMember, timeout_ms: int) -> Iterator[Effect]:
    """Restart the member's session timeout. A classic member brings its own timeout; the others
    have the group's."""
    if member.classic is not None:
        timeout_ms = member.classic.session_timeout_ms
    yield SetTimer(timers.key(SESSION, group_id, member.member_id), timeout_ms)


def expect_revocation(group_id: str, member: ConsumerMember) -> Iterator[Effect]:
    """Give the member its rebalance timeout to stop reading the partitions that it lost."""
    yield SetTimer(timers.key(REVOCATION, group_id, member.member_id), member.rebalance_timeout_ms)


def revocation_is_over(group_id: str, member_id: str) -> Iterator[Effect]:
    """Cancel the revocation timer: there is nothing left that the member must stop reading."""
    yield CancelTimer(timers.key(REVOCATION, group_id, member_id))


def expect_join(group: ConsumerGroup, member: ConsumerMember) -> Iterator[Effect]:
    """Start a timer of the rebalance timeout for a classic member that was asked to rejoin. Asking
    again does not restart it."""
    if member.member_id not in group.awaited_joins:
        group.awaited_joins.add(member.member_id)
        yield SetTimer(
            timers.key(MEMBER_JOIN, group.group_id, member.member_id), member.rebalance_timeout_ms
        )


def join_is_over(group: ConsumerGroup, member_id: str) -> Iterator[Effect]:
    """Cancel the join timer, as the member has joined again, and remove it from `awaited_joins`."""
    group.awaited_joins.discard(member_id)
    yield CancelTimer(timers.key(MEMBER_JOIN, group.group_id, member_id))


def expect_sync(group_id: str, member: ConsumerMember) -> Iterator[Effect]:
    """Start a timer for a classic member that has joined and must fetch its assignment by
    SyncGroup."""
    yield SetTimer(timers.key(MEMBER_SYNC, group_id, member.member_id), member.rebalance_timeout_ms)


def sync_is_over(group_id: str, member_id: str) -> Iterator[Effect]:
    """Cancel the sync timer, as the member has fetched its assignment."""
    yield CancelTimer(timers.key(MEMBER_SYNC, group_id, member_id))


def forget_member(group: ConsumerGroup, member_id: str) -> Iterator[Effect]:
    """Cancel all timers of this member, and remove it from `awaited_joins`."""
    group.awaited_joins.discard(member_id)
    for what in KINDS:
        yield CancelTimer(timers.key(what, group.group_id, member_id))
