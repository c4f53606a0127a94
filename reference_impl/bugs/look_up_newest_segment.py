"""A look-up by timestamp searches only the active segment."""

from __future__ import annotations

from reference_impl.core.log.segments.segment import TimestampOffset
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class LookUpNewestSegment(Rules):
    """Real-world kin: time indexes of closed segments that are not loaded after a restart.

    Breaks:     ListOffsets answers the first record whose timestamp is not before the requested
                one, in whichever segment it is (KIP-79).
    Caught by:  workload seeks, any nemesis or none, config log.roll.ms=1000 (segments that close
                during the run), checker poll_skips.
    Within:     one run of 20 seconds.
    """

    def offset_at_time(self, partition: Partition, timestamp: int) -> TimestampOffset | None:
        """Look the timestamp up in the active segment only."""
        segments = partition.log.segments
        return segments.active.find_timestamp(timestamp, partition.log.log_start_offset)
