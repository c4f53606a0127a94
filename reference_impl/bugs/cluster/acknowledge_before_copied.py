"""A leader that takes acks=all for acks=1."""

from __future__ import annotations

from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class AcknowledgeBeforeCopied(Rules):
    """Real-world kin: leaders that answer before their followers have fetched.

    Breaks:     acks=all must wait for the whole ISR (producer configuration, acks;
                design#replication).
    Caught by:  workload appends, nemesis partition-leader, checkers lost_writes or append_order.
    Within:     a few runs of 20 seconds with three nodes.
    """

    def may_acknowledge(self, partition: Partition, acks: int, last_offset: int) -> bool:
        """Return True wherever the record is."""
        return True
