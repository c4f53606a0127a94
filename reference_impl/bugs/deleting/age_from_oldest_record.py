"""Retention takes the age of a segment's first record for the age of the segment."""

from __future__ import annotations

from reference_impl.core.log.segments.segment import Segment
from reference_impl.core.rules import Rules


class AgeFromOldestRecord(Rules):
    """Real-world kin: retention by the time at which a file was created (before KIP-33).

    Breaks:     a record must stay for retention.ms; a segment may be deleted only when its newest
                record is older (docs, topicconfigs, retention.ms). The deletion is too early by at
                most the time from a segment's first record to its last.
    Caught by:  workload retention, any nemesis or none, checker retention (deleted-too-early).
    Within:     one run of 20 seconds.
    """

    def last_written_ms(self, segment: Segment) -> int:
        """Return the time of the segment's first batch instead of its newest record, or that of the
        segment's creation if it has no batch."""
        first = segment.first_timestamp
        return first if first >= 0 else segment.created_ms
