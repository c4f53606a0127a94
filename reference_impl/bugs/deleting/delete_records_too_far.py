"""DeleteRecords deletes all records, whatever offset the request names."""

from __future__ import annotations

from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class DeleteRecordsTooFar(Rules):
    """Real-world kin: deletions rounded up to whole segments.

    Breaks:     records at or above the offset of a DeleteRecords must stay (KIP-107).
    Caught by:  workload delete-records, any nemesis or none, checkers retention and lost_writes.
    Within:     one run of 10 seconds.
    """

    def delete_records(self, partition: Partition, before: int) -> int:
        """Delete up to the high watermark, but answer the offset that was asked for."""
        super().delete_records(partition, before)
        super().delete_records(partition, partition.high_watermark)
        return before
