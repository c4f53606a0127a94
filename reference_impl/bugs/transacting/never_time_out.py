"""A transaction whose producer is gone stays open for ever: its time-out is ignored."""

from __future__ import annotations

from reference_impl.core.rules import Rules
from reference_impl.core.transactions.transaction import Transaction


class NeverTimeOut(Rules):
    """Real-world kin: coordinators that forget their open transactions with an election (redpanda
    PR 8566), so that their time-outs are never checked.

    Breaks:     a transaction that is open for longer than transaction.timeout.ms must be aborted
                (KIP-98).
    Caught by:  workload transactions, any nemesis or none, checker hanging_transactions
                (committed-too-late); and the conformance cases of transactions.
    Within:     one run of 30 seconds.
    """

    def has_timed_out(self, transaction: Transaction, now_ms: int) -> bool:
        """Return False, so that no transaction ever times out."""
        return False
