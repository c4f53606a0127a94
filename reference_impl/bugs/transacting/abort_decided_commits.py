"""One commit in thirty is acknowledged, but written to the partitions as an abort."""

from __future__ import annotations

from reference_impl.core.rules import Rules
from reference_impl.core.transactions.states import State
from reference_impl.core.transactions.transaction import Transaction

EVERY = 30


class AbortDecidedCommits(Rules):
    """Real-world kin: coordinators which time a transaction out while its commit is under way.

    Breaks:     a transaction whose commit was acknowledged must be committed (KIP-98).
    Caught by:  workload transactions, any nemesis or none, checkers ends_honoured and lost_writes.
    Within:     one run of 20 seconds.
    """

    def __init__(self) -> None:
        self._commits = 0
        self._chosen: Transaction | None = None

    def is_committed(self, transaction: Transaction) -> bool:
        """Return whether a marker says COMMIT: False for an abort, and for all partitions of every
        thirtieth transaction that is to commit."""
        if transaction.state is not State.PREPARE_COMMIT:
            return False
        if transaction is not self._chosen:
            self._chosen = transaction
            self._commits += 1
        return self._commits % EVERY != 0
