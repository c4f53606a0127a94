"""One transaction in forty gets no marker in one of its partitions."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from reference_impl.core.partitions.purgatory import PartitionKey
from reference_impl.core.rules import Rules
from reference_impl.core.transactions.transaction import Transaction

EVERY = 40


class ForgetMarkers(Rules):
    """Real-world kin: KIP-664 and KAFKA-9144, hanging transactions.

    Breaks:     every partition of a decided transaction must get its marker (KIP-98); without it
                the last stable offset does not advance, and read_committed readers wait for ever.
    Caught by:  workload transactions, any nemesis or none, checkers torn_transactions (the
                producer's next marker ends both transactions), hanging_transactions and
                ends_honoured.
    Within:     one run of 20 seconds.
    """

    def __init__(self) -> None:
        self._transactions = 0

    def unmarked(
        self, transaction: Transaction, marked: Collection[PartitionKey]
    ) -> Sequence[PartitionKey]:
        """Return the partitions that lack a marker; every fortieth time that there are several,
        without the last of them."""
        partitions = super().unmarked(transaction, marked)
        if len(partitions) < 2:
            return partitions
        self._transactions += 1
        return partitions[:-1] if self._transactions % EVERY == 0 else partitions
