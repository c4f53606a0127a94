"""What a leader decides about a reader: where it begins, how far it may see, what it must drop."""

from __future__ import annotations

from reference_impl.core.log.transaction_index import AbortedTransaction
from reference_impl.core.partition import Partition

READ_COMMITTED = 1


class Reading:
    """Positions, isolation levels and aborted transactions."""

    def readable_end(self, partition: Partition, isolation_level: int) -> int:
        """read_committed ends where the first undecided transaction begins (KIP-98, LSO)."""
        if isolation_level == READ_COMMITTED:
            return partition.log.last_stable_offset
        return partition.high_watermark

    def aborted_transactions(
        self, partition: Partition, from_offset: int, end_offset: int
    ) -> list[AbortedTransaction]:
        """read_committed is told what it must leave out (KIP-98)."""
        return partition.log.aborted_transactions(from_offset, end_offset)
