"""DeleteRecords empties the log, which then begins at the offset that it is given."""

from __future__ import annotations

from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class RestartLogs(Rules):
    """Real-world kin: a log that is truncated fully where only its start has to move (UnifiedLog
    has both, truncateFullyAndStartAt and maybeIncrementLogStartOffset).

    Breaks:     records at or above the offset of a DeleteRecords must stay (KIP-107), and no offset
                may be assigned again.
    Caught by:  workload delete-records, any nemesis or none, checkers lost_writes and
                inconsistent_offsets; the invariant offsets-never-go-back sees it first.
    Within:     one run of 10 seconds.
    """

    def delete_records(self, partition: Partition, before: int) -> int:
        """Delete all records, and give the next one the offset of the new log start."""
        start = super().delete_records(partition, before)
        partition.log.truncate_fully_and_start_at(start)
        return start
