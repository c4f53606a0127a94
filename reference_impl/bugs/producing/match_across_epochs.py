"""A retry is recognised by its sequence numbers whatever its epoch, so that the first batches of a
new epoch are taken for those of the epoch before."""

from __future__ import annotations

from reference_impl.core.log import AppendResult
from reference_impl.core.partitions.batch_validation import ValidatedBatch
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class MatchAcrossEpochs(Rules):
    """Real-world kin: brokers that keep a producer's batches when its epoch changes.

    Breaks:     sequence numbers must begin again with each epoch, so that only a batch of the same
                epoch is a retry (KIP-98; KIP-360).
    Caught by:  workload zombies, any nemesis or none, checkers inconsistent_offsets (two values
                were acknowledged at one offset) and lost_writes.
    Within:     one run of 20 seconds.
    """

    def duplicate_of(self, partition: Partition, batch: ValidatedBatch) -> AppendResult | None:
        """Return the result of a known batch with the same sequence numbers in any epoch. Return
        None if none has them."""
        header, log = batch.header, partition.log
        entry = log.producer_state.entry(header.producer_id)
        for known in () if entry is None else entry.batches:
            numbers = known.first_sequence, known.last_sequence
            if numbers == (header.base_sequence, header.last_sequence):
                return AppendResult(
                    known.first_offset, known.last_offset, known.timestamp, log.log_start_offset
                )
        return None
