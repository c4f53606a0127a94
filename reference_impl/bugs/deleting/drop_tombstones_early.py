"""Compaction removes tombstones at once instead of after delete.retention.ms."""

from __future__ import annotations

from reference_impl.core.rules import Rules
from reference_impl.wire.batches.records import BatchHeader


class DropTombstonesEarly(Rules):
    """Real-world kin: cleaners that count delete.retention.ms from the last write to a segment
    (before KIP-534), so that the first cleaning removed an old tombstone.

    Breaks:     a tombstone must stay for delete.retention.ms, so that a reader that has seen the
                value is told that it was deleted (docs, topicconfigs, delete.retention.ms;
                KIP-534). It is not guaranteed when a tombstone is removed: that needs a further
                cleaning.
    Caught by:  workload compaction, any nemesis or none, checker compaction
                (tombstone-lost-hours-early).
    Within:     one run of 15 seconds.
    """

    def tombstone_may_go(self, header: BatchHeader, now_ms: int) -> bool:
        """Return True, although readers may not have seen the tombstone."""
        return True
