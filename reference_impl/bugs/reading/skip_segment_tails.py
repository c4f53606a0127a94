"""A reader at the last batch of a closed segment gets the next segment instead."""

from __future__ import annotations

from reference_impl.core.log.segments.segment import Slice
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class SkipSegmentTails(Rules):
    """Real-world kin: searches of an index that end one entry early, seen only by the few readers
    whose fetch begins exactly there.

    Breaks:     a fetch must answer the batches from its offset on, without a gap (design#log).
    Caught by:  workload seeks, any nemesis or none, config log.roll.ms=500 (many segments
                to end), checkers poll_skips and offset_gaps.
    Within:     one run of 30 seconds.
    """

    def located(
        self, partition: Partition, offset: int, max_bytes: int, end: int, *, at_least_one: bool
    ) -> Slice | None:
        """Return the next segment's batches if only the last batch of this segment is left to read.
        Return None if there is nothing to read."""
        found = super().located(partition, offset, max_bytes, end, at_least_one=at_least_one)
        later = [base for base in partition.log.segment_base_offsets if base > offset]
        if found is None or not later or found.first_offset < offset:
            return found
        is_last = found.position + found.size == found.file.size()
        is_alone = partition.log.locate(later[0] - 1, 1, end, at_least_one=True)
        if not is_last or is_alone is None or is_alone.position != found.position:
            return found
        return super().located(partition, later[0], max_bytes, end, at_least_one=at_least_one)
