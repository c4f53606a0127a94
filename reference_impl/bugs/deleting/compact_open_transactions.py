"""Compaction goes beyond the last stable offset."""

from __future__ import annotations

from reference_impl.core.log.readable_log import ReadableLog
from reference_impl.core.rules import Rules


class CompactOpenTransactions(Rules):
    """Real-world kin: cleaners that assume that every transaction in a closed segment is decided.

    Breaks:     only a record whose transaction is decided may replace another (LogCleanerManager,
                cleanableOffsets): if the cleaner processes an open transaction that is then
                aborted, the older value, which is still valid, is gone.
    Caught by:  workload compaction-transactions, any nemesis or none, checkers compaction and
                lost_writes.
    Within:     one run of 20 seconds.
    """

    def cleanable_end(self, log: ReadableLog) -> int:
        """Return the offset at which cleaning ends: here the base offset of the active segment."""
        return log.segments.active.base_offset
