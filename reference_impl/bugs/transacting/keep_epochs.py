"""A producer that takes over a transactional id gets the same epoch as the producer before it."""

from __future__ import annotations

from reference_impl.core.rules import Rules
from reference_impl.core.transactions.transaction import Transaction


class KeepEpochs(Rules):
    """Real-world kin: epochs that are raised only if a transaction was open.

    Breaks:     InitProducerId must answer a higher epoch each time, which fences the previous
                producer (KIP-98).
    Caught by:  workload zombies, any nemesis or none, checker fencing: two producers were given the
                same id and epoch; and the conformance cases of InitProducerId.
    Within:     one run of 20 seconds.
    """

    def next_epoch(self, transaction: Transaction) -> int:
        """Return the epoch that the transaction has, 0 for a new one, instead of the next."""
        return max(transaction.producer_epoch, 0)
