"""A Fetch response lists only aborted transactions that began at or after the fetch offset."""

from __future__ import annotations

from reference_impl.core.log.segments.transaction_index import AbortedTransaction
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class ForgetOlderAborts(Rules):
    """Real-world kin: automq#754: a transaction that was aborted in a later segment is not found
    for its records in an earlier one.

    Breaks:     a read_committed reader must be told of every aborted transaction with records in
                the response, wherever it began (KIP-98).
    Caught by:  workload transactions, any nemesis or none, checker aborted_reads.
    Within:     one run of 30 seconds.
    """

    def aborted_transactions(
        self, partition: Partition, from_offset: int, end_offset: int
    ) -> list[AbortedTransaction]:
        """Return the aborted transactions without those that began before the fetch offset."""
        found = super().aborted_transactions(partition, from_offset, end_offset)
        return [each for each in found if each.first_offset >= from_offset]
