"""A leader accepts a transactional batch for a partition that was not added to the transaction."""

from __future__ import annotations

from reference_impl.core.partitions.purgatory import PartitionKey
from reference_impl.core.rules import Rules
from reference_impl.core.transactions.transaction import Transaction


class WriteOutsideTransactions(Rules):
    """Real-world kin: KAFKA-14402: every broker before KIP-890, part 1.

    Breaks:     a batch that comes after the end of its transaction must be refused (KIP-890):
                otherwise it begins a transaction that is never ended, and the last stable offset
                does not advance.
    Caught by:  workload zombies, any nemesis or none, checkers ends_honoured, torn_transactions and
                hanging_transactions (no marker ends the record); and the conformance cases of
                transactions.
    Within:     one run of 30 seconds.
    """

    def check_takes_part(self, transaction: Transaction, partition: PartitionKey) -> None:
        """Check nothing, so that batches outside an open transaction are written."""
