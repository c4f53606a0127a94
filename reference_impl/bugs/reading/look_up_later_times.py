"""A look-up by timestamp does not find a record with exactly that timestamp."""

from __future__ import annotations

from reference_impl.core.log.segments.time_search import Search
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class LookUpLaterTimes(Rules):
    """Real-world kin: `>` instead of `>=` in the search of a time index.

    Breaks:     ListOffsets must answer the first record whose timestamp is not before the requested
                one (KIP-79).
    Caught by:  workload seeks, any nemesis or none, checker poll_skips.
    Within:     one run of 20 seconds.
    """

    def offset_at_time(self, partition: Partition, timestamp: int) -> Search:
        """Return the first record that is later than the timestamp, not one with that timestamp."""
        return super().offset_at_time(partition, timestamp + 1)
