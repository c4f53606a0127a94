"""A batch that is sent again is acknowledged with the offset of the producer's newest batch."""

from __future__ import annotations

from reference_impl.core.log import AppendResult
from reference_impl.core.partitions.batch_validation import ValidatedBatch
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class AnswerRetriesWithNewest(Rules):
    """Real-world kin: redpanda#3003 and PR 5026: a retry is answered with another batch's offset.

    Breaks:     a batch that is sent again must get its first answer (KIP-98), also if other batches
                of the producer follow it in flight.
    Caught by:  workload appends, nemesis reset, checker inconsistent_offsets.
    Within:     one run of 30 seconds.
    """

    def duplicate_of(self, partition: Partition, batch: ValidatedBatch) -> AppendResult | None:
        """Return, for a batch that was sent again, the offsets of the producer's newest batch.
        Return None for a new batch."""
        first = super().duplicate_of(partition, batch)
        entry = partition.log.producer_state.entry(batch.header.producer_id)
        if first is None or entry is None:
            return first
        newest = entry.batches[-1]
        return first._replace(base_offset=newest.first_offset, last_offset=newest.last_offset)
