"""Retention deletes segments after four fifths of retention.ms."""

from __future__ import annotations

from reference_impl.core.rules import Rules

SHARE = 0.8


class DeleteALittleEarly(Rules):
    """Real-world kin: jitter that is subtracted from a limit instead of added to it.

    Breaks:     a record must stay for retention.ms (docs, topicconfigs, retention.ms).
    Caught by:  workload retention, any nemesis or none, checker retention (deleted-too-early).
    Within:     one run of 20 seconds.
    """

    def has_expired(self, age_ms: int, retention_ms: int) -> bool:
        """Return whether four fifths of the retention time have passed."""
        return age_ms > retention_ms * SHARE
