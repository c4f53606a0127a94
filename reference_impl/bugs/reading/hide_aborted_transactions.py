"""A Fetch response does not list the aborted transactions."""

from __future__ import annotations

from reference_impl.core.log.segments.transaction_index import AbortedTransaction
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class HideAbortedTransactions(Rules):
    """Real-world kin: a broker whose transaction index is lost or incomplete, after a crash or a
    copy of the log to other storage.

    Breaks:     a consumer with isolation.level=read_committed must deliver no record of an aborted
                transaction (KIP-98): it drops them itself, but only those that the response lists.
    Caught by:  workload transactions, any nemesis or none, checker aborted_reads.
    Within:     one run of 10 seconds.
    """

    def aborted_transactions(
        self, partition: Partition, from_offset: int, end_offset: int
    ) -> list[AbortedTransaction]:
        """Return no aborted transactions, so that readers skip none."""
        return []
