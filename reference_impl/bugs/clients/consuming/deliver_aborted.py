"""A read_committed consumer delivers the records of aborted transactions."""

from __future__ import annotations

from collections.abc import Collection

from reference_impl.client.rules import ClientRules
from reference_impl.wire import BatchHeader


class DeliverAborted(ClientRules):
    """Real-world kin: clients that ask for read_committed and do not filter.

    Breaks:     read_committed must leave aborted records out (KIP-98).
    Caught by:  workload transactions, any nemesis or none,
                checker aborted_reads.
    """

    def is_left_out(self, header: BatchHeader, aborting: Collection[int]) -> bool:
        """Return False for every batch."""
        return False
