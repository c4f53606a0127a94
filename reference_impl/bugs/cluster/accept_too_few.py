"""A leader that commits what too few replicas have."""

from __future__ import annotations

from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class AcceptTooFew(Rules):
    """Real-world kin: the last replica standing, before KIP-966.

    Breaks:     a committed record must be on as many replicas as min.insync.replicas says
                (KIP-966).
    Caught by:  workload appends, nemesis lagging-node, checker lost_writes, with
                default.replication.factor=2 and min.insync.replicas=2: the leader acknowledges
                alone, and the follower, which is eligible still, is elected after it; the invariant
                min-isr sees it first.
    Within:     a few runs of 20 seconds with three nodes.
    """

    def high_watermark(self, partition: Partition) -> int:
        """Return the smallest log end of the ISR, however small the ISR is, but never less than the
        present high watermark."""
        return max(partition.high_watermark, min(partition.ends_that_count()))
