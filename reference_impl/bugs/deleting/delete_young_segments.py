"""Retention deletes segments long before retention.ms."""

from __future__ import annotations

from reference_impl.core.rules import Rules

TOO_SHORT = 4


class DeleteYoungSegments(Rules):
    """Real-world kin: a setting that is read in the wrong unit, or from the wrong level.

    Breaks:     a record must stay for retention.ms (docs, topicconfigs, retention.ms).
    Caught by:  workload retention, any nemesis or none, checker retention (deleted-too-early).
    Within:     one run of 10 seconds.
    """

    def has_expired(self, age_ms: int, retention_ms: int) -> bool:
        """Return whether a quarter of the retention time has passed."""
        return age_ms > retention_ms // TOO_SHORT
