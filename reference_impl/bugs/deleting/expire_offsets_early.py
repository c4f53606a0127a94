"""Committed offsets expire after offsets.retention.minutes taken as seconds."""

from __future__ import annotations

from reference_impl.core.rules import Rules

SECOND_MS = 1_000


class ExpireOffsetsEarly(Rules):
    """Real-world kin: KAFKA-8069 (offsets that expired early after a reload), KAFKA-13636 (offsets
    of a group that was rebalancing): the group starts again as auto.offset.reset says.

    Breaks:     offsets of a group without members must stay for offsets.retention.minutes
                (KIP-211).
    Caught by:  workload offsets, any nemesis or none, config offsets.retention.minutes=2 and
                offsets.retention.check.interval.ms=1000, checker committed_offsets.
    Within:     one run of 30 seconds.
    """

    def offsets_retention_ms(self, minutes: int) -> int:
        """Return the time as if the minutes were seconds."""
        return minutes * SECOND_MS
