"""A leader that commits whatever its own log holds."""

from __future__ import annotations

from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class CountItselfAlone(Rules):
    """Real-world kin: leaders that count their own log alone, as for acks=1.

    Breaks:     a record acknowledged under acks=all must be in the log of each member of the ISR
                (design#replication).
    Caught by:  workload appends, nemesis partition-leader, checkers lost_writes or append_order.
    Within:     a few runs of 20 seconds with three nodes.
    """

    def high_watermark(self, partition: Partition) -> int:
        """Return the end of the leader's own log."""
        return partition.log.log_end_offset
