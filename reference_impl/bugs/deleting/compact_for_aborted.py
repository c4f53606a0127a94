"""Compaction lets a record of an aborted transaction replace the committed record of its key."""

from __future__ import annotations

from reference_impl.core.log.cleaning.cleaned_transactions import CleanedTransactions
from reference_impl.core.rules import Rules
from reference_impl.wire.batches.records import BatchHeader


class CompactForAborted(Rules):
    """Real-world kin: cleaners from before KIP-98 that do not know of transactions.

    Breaks:     the last committed value of each key must stay (design#compaction; KIP-98).
    Caught by:  workload compaction-transactions, any nemesis or none, checkers compaction and
                lost_writes.
    Within:     one run of 20 seconds.
    """

    def replaces_older(self, header: BatchHeader, transactions: CleanedTransactions) -> bool:
        """Return True also for records of aborted transactions."""
        return True
