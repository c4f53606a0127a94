"""A member's session ends after 70 % of the time that it was granted."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.effects import Effect, SetTimer
from reference_impl.core.rules import Rules
from reference_impl.core.rules.grouping import AnyMember

PERCENT = 70


class EndSessionsEarly(Rules):
    """Real-world kin: timers that count from the last tick instead of from now.

    Breaks:     a member that sends a heartbeat within session.timeout.ms (KIP-848:
                group.consumer.session.timeout.ms) after the last one must stay a member (KIP-62).
    Caught by:  workload sessions, any nemesis or none, checker group_liveness
                (session-cut-short).
    Within:     one run of 20 seconds.
    """

    def session_renewed(self, member: AnyMember, session: Iterator[Effect]) -> Iterator[Effect]:
        """Yield the session's timer with a part of its time."""
        for effect in super().session_renewed(member, session):
            if isinstance(effect, SetTimer):
                yield SetTimer(effect.key, effect.delay_ms * PERCENT // 100)
            else:
                yield effect
