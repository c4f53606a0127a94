"""A heartbeat of a member of a classic group is accepted, but does not renew its session."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.effects import Effect
from reference_impl.core.groups.classic.group import Member
from reference_impl.core.rules import Rules
from reference_impl.core.rules.grouping import AnyMember


class IgnoreHeartbeats(Rules):
    """Real-world kin: coordinators that answer before they look for the member's timer.

    Breaks:     a member that sends a heartbeat within session.timeout.ms after the last one must
                stay a member (KIP-62).
    Caught by:  workload sessions, any nemesis or none, checker group_liveness
                (session-cut-short).
    Within:     one run of 20 seconds.
    """

    def session_renewed(self, member: AnyMember, session: Iterator[Effect]) -> Iterator[Effect]:
        """Return no effects for a member of a classic group."""
        if isinstance(member, Member):
            return iter(())
        return super().session_renewed(member, session)
