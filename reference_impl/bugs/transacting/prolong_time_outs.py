"""A transaction's time-out counts from the last partition that joined, not from its beginning."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from reference_impl.core.partitions.purgatory import PartitionKey
from reference_impl.core.rules import Rules
from reference_impl.core.transactions.transaction import Transaction


class ProlongTimeOuts(Rules):
    """Real-world kin: coordinators that take the last update of a transaction for its start.

    Breaks:     a transaction that is open for longer than transaction.timeout.ms must be aborted,
                even if partitions join it all the time (KIP-98;
                TransactionMetadata.txnStartTimestamp).
    Caught by:  workload transactions, any nemesis or none, checker hanging_transactions
                (committed-too-late).
    Within:     one run of 30 seconds.
    """

    def with_partitions(
        self, transaction: Transaction, added: Set[PartitionKey], client_version: int, now_ms: int
    ) -> Transaction:
        """Return the transaction with these partitions, as if it began only now."""
        grown = super().with_partitions(transaction, added, client_version, now_ms)
        return replace(grown, start_ms=now_ms)
