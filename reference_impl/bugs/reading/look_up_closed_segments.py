"""A look-up by timestamp searches only segments that are not written to any more."""

from __future__ import annotations

from reference_impl.core.log.segments.time_search import Search
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class LookUpClosedSegments(Rules):
    """Real-world kin: a time index whose last entry is written when its segment closes.

    Breaks:     ListOffsets must find a record of the requested time or later in whichever segment
                it is; "nothing" is right only if there is none (KIP-79).
    Caught by:  workload seeks, any nemesis or none, checker poll_skips (missed-look-up).
    Within:     one run of 20 seconds.
    """

    def offset_at_time(self, partition: Partition, timestamp: int) -> Search:
        """Return the first record at or after this time, or None if there is none, or if it is in
        the active segment."""
        found = yield from super().offset_at_time(partition, timestamp)
        active = partition.log.segments.active.base_offset
        return found if found is not None and found.offset < active else None
