"""The leader remembers only the newest batch of each producer, and appends a retry of an older one
twice."""

from __future__ import annotations

from reference_impl.core.log import AppendResult
from reference_impl.core.partitions.batch_validation import ValidatedBatch
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class RememberNewestBatch(Rules):
    """Real-world kin: redpanda#3039: only the newest batch is recognised as a retry.

    Breaks:     a batch that is sent again must be answered, not appended twice, as long as it is
                one of the producer's last five (KIP-98; max.in.flight.requests.per.connection).
    Caught by:  workload appends, nemesis reset, checker duplicates.
    Within:     one run of 30 seconds.
    """

    def duplicate_of(self, partition: Partition, batch: ValidatedBatch) -> AppendResult | None:
        """Return the earlier append only if it is the producer's newest batch, else None."""
        entry = partition.log.producer_state.entry(batch.header.producer_id)
        if entry is None or not entry.batches:
            return None
        is_newest = entry.batches[-1].last_sequence == batch.header.last_sequence
        return super().duplicate_of(partition, batch) if is_newest else None

    def check_sequence(self, partition: Partition, batch: ValidatedBatch) -> None:
        """Let older batches that were sent again pass, so that they are appended twice."""
        if super().duplicate_of(partition, batch) is None:
            super().check_sequence(partition, batch)
