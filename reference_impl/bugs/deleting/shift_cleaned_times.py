"""Compaction changes the timestamp of a record if its batch contains a tombstone."""

from __future__ import annotations

from reference_impl.core.rules import Rules
from reference_impl.wire.batches.records import Record


class ShiftCleanedTimes(Rules):
    """Real-world kin: deltas that are copied although their base has changed: it was replaced by
    the delete horizon (KIP-534).

    Breaks:     a record must have the same timestamp whenever it is read (KIP-32).
    Caught by:  workload compaction, any nemesis or none, checkers phantom_records and
                inconsistent_offsets: readers before and after the cleaning got different times.
    Within:     one run of 20 seconds.
    """

    def cleaned(self, record: Record, moved_ms: int) -> Record:
        """Return the record with its old timestamp delta, although the base has changed."""
        return super().cleaned(record, 0)
