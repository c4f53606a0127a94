"""One committed transaction in thirty has an abort marker in one of its partitions."""

from __future__ import annotations

from reference_impl.core.rules import Rules
from reference_impl.core.transactions.states import State
from reference_impl.core.transactions.transaction import Transaction

EVERY = 90


class TearTransactions(Rules):
    """Real-world kin: markers of two attempts that meet in different partitions (KIP-890).

    Breaks:     a transaction must have one outcome, the same in all its partitions (KIP-98).
    Caught by:  workload transactions, any nemesis or none, checkers torn_transactions and
                ends_honoured.
    Within:     one run of 20 seconds.
    """

    def __init__(self) -> None:
        self._markers = 0

    def is_committed(self, transaction: Transaction) -> bool:
        """Return False for one in ninety of the markers of transactions that are to commit in
        several partitions."""
        if transaction.state is not State.PREPARE_COMMIT or len(transaction.partitions) < 2:
            return super().is_committed(transaction)
        self._markers += 1
        return self._markers % EVERY != 0
