"""read_committed readers receive records of transactions that are not decided yet."""

from __future__ import annotations

from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class ServeUndecidedRecords(Rules):
    """Real-world kin: a fetch that is bounded by the high watermark, whatever the isolation level.

    Breaks:     read_committed must end where the first undecided transaction begins (KIP-98, LSO).
    Caught by:  workload transactions, any nemesis or none, checkers dirty_reads and aborted_reads.
    Within:     one run of 10 seconds.
    """

    def readable_end(self, partition: Partition, isolation_level: int) -> int:
        """Return the high watermark whatever the isolation level."""
        return partition.high_watermark
