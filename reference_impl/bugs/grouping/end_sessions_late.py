"""A member's session ends only after many times the time that it was granted."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.effects import Effect, SetTimer
from reference_impl.core.rules import Rules
from reference_impl.core.rules.grouping import AnyMember

TIMES = 20


class EndSessionsLate(Rules):
    """Real-world kin: a time-out whose unit is mistaken.

    Breaks:     a member that is silent for longer than session.timeout.ms (KIP-848:
                group.consumer.session.timeout.ms) must be removed (KIP-62).
    Caught by:  workload sessions, any nemesis or none, checker group_liveness (session-outlived).
    Within:     one run of 30 seconds.
    """

    def session_renewed(self, member: AnyMember, session: Iterator[Effect]) -> Iterator[Effect]:
        """Yield the session's timer with many times its time."""
        for effect in super().session_renewed(member, session):
            if isinstance(effect, SetTimer):
                yield SetTimer(effect.key, effect.delay_ms * TIMES)
            else:
                yield effect
