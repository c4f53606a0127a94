"""One abort in eight is acknowledged, but written to the partitions as a commit."""

from __future__ import annotations

from reference_impl.core.rules import Rules
from reference_impl.core.transactions.states import State
from reference_impl.core.transactions.transaction import Transaction

EVERY = 8


class CommitDecidedAborts(Rules):
    """Real-world kin: KIP-890: an abort whose answer was lost, and a late commit.

    Breaks:     a transaction whose abort was acknowledged must be aborted (KIP-98).
    Caught by:  workload transactions, any nemesis or none, checkers ends_honoured,
                aborted_reads and dirty_reads (delivered, and no commit was ever asked for).
    Within:     one run of 20 seconds.
    """

    def __init__(self) -> None:
        self._aborts = 0
        self._chosen: Transaction | None = None

    def is_committed(self, transaction: Transaction) -> bool:
        """Return True also for every partition of every eighth transaction that is to abort."""
        if transaction.state is State.PREPARE_COMMIT:
            return True
        if transaction is not self._chosen:
            self._chosen = transaction
            self._aborts += 1
        return self._aborts % EVERY == 0
