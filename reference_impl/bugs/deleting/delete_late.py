"""Retention deletes segments only after three times retention.ms."""

from __future__ import annotations

from reference_impl.core.rules import Rules

TIMES = 3


class DeleteLate(Rules):
    """Real-world kin: records that must be deleted by law or for lack of space, and a check that
    uses the wrong clock.

    Breaks:     a closed segment must be deleted by the next check after its newest record is older
                than retention.ms (docs, topicconfigs, retention.ms;
                log.retention.check.interval.ms).
    Caught by:  workload retention, any nemesis or none, checker retention (kept-too-long).
    Within:     one run of 30 seconds.
    """

    def has_expired(self, age_ms: int, retention_ms: int) -> bool:
        """Return whether three times the retention time has passed."""
        return age_ms > retention_ms * TIMES
