"""The leader forgets the state of its producers whenever it starts a new segment."""

from __future__ import annotations

from reference_impl.core.log import AppendResult
from reference_impl.core.partitions.batch_validation import ValidatedBatch
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class ForgetProducersAtRoll(Rules):
    """Real-world kin: state of producers that is stored with the segment to which they write
    (redpanda PR 5356).

    Breaks:     a batch that is sent again must be answered, not appended twice (KIP-98), also if a
                segment was closed in between.
    Caught by:  workload appends, nemesis reset, config log.roll.ms=200 (a segment for every few
                batches), checker duplicates.
    Within:     one run of 30 seconds.
    """

    def append(self, partition: Partition, batch: ValidatedBatch, now_ms: int) -> AppendResult:
        """Append the batch. If that starts a segment, forget every producer without an open
        transaction."""
        before = len(partition.log.segment_base_offsets)
        appended = super().append(partition, batch, now_ms)
        if len(partition.log.segment_base_offsets) > before:
            open_ones = [
                entry
                for entry in partition.log.producer_state.entries()
                if entry.current_txn_first_offset is not None
            ]
            partition.log.producer_state.load(open_ones)
        return appended
