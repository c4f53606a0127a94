"""A fetch that begins at the first offset of a later segment gets nothing."""

from __future__ import annotations

from reference_impl.core.log.segments.segment import Slice
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class StopAtSegments(Rules):
    """Real-world kin: searches that look for the segment below an offset, and read to its end.

    Breaks:     a fetch below the high watermark must get at least one batch (KIP-74), so that
                every reader reaches the end of the log (design#log).
    Caught by:  workload appends, any nemesis or none, config log.roll.ms=2000 (segments to stop
                at), checker readable_partitions.
    Within:     one run of 20 seconds, and four minutes in which the final reads wait in vain.
    """

    def located(
        self, partition: Partition, offset: int, max_bytes: int, end: int, *, at_least_one: bool
    ) -> Slice | None:
        """Return None at the first offset of each segment but the first, or if there is nothing to
        read."""
        if offset in partition.log.segment_base_offsets[1:]:
            return None
        return super().located(partition, offset, max_bytes, end, at_least_one=at_least_one)
