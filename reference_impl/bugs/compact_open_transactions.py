"""Compaction goes beyond the last stable offset."""

from __future__ import annotations

from reference_impl.core.log.readable_log import ReadableLog
from reference_impl.core.rules import Rules


class CompactOpenTransactions(Rules):
    """Real-world kin: cleaners that take a closed segment for a decided one.

    Breaks:     only what is decided replaces a record (LogCleanerManager, cleanableOffsets): where
                a transaction is cleaned while it is open, and then aborted, the value that it did
                not replace is gone.
    Caught by:  workload compaction-transactions, any nemesis or none, checkers
                compaction and lost_writes.
    Within:     one run of 20 seconds.
    """

    def cleanable_end(self, log: ReadableLog) -> int:
        """Return where cleaning ends: here only the active segment is spared."""
        return log.segments.active.base_offset
