"""A look-up by timestamp searches only the active segment."""

from __future__ import annotations

from reference_impl.core.log.segments.time_search import Search, search
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class LookUpNewestSegment(Rules):
    """Real-world kin: time indexes of closed segments that are not loaded after a restart.

    Breaks:     ListOffsets must answer the first record whose timestamp is not before the requested
                one, in whichever segment it is (KIP-79).
    Caught by:  workload seeks, any nemesis or none, config log.roll.ms=1000 (segments that close
                during the run), checker poll_skips.
    Within:     one run of 20 seconds.
    """

    def offset_at_time(self, partition: Partition, timestamp: int) -> Search:
        """Look the timestamp up in the active segment only."""
        log = partition.log
        return search(log.segments.active, timestamp, log.log_start_offset)
