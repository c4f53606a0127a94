"""A retry is recognised by its first sequence number alone, and another batch is taken for one."""

from __future__ import annotations

from reference_impl.core.log import AppendResult
from reference_impl.core.log.producers.state import BatchMetadata
from reference_impl.core.partitions.batch_validation import ValidatedBatch
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class MatchFirstSequences(Rules):
    """Real-world kin: brokers that keep one number per batch to recognise retries.

    Breaks:     only a batch with the same first and last sequence number is a retry; another one
                must be appended or refused (KIP-98; ProducerStateEntry.findDuplicateBatch).
    Caught by:  workload sequences, any nemesis or none, checkers inconsistent_offsets (two values
                were acknowledged at one offset) and lost_writes.
    Within:     one run of 20 seconds.
    """

    def duplicate_of(self, partition: Partition, batch: ValidatedBatch) -> AppendResult | None:
        """Return the result of any known batch of the producer's epoch that looks like this one to
        `_is_same`, or None."""
        header, log = batch.header, partition.log
        entry = log.producer_state.entry(header.producer_id)
        if entry is None or entry.producer_epoch != header.producer_epoch:
            return None
        for known in entry.batches:
            if self._is_same(known, batch):
                return AppendResult(
                    known.first_offset, known.last_offset, known.timestamp, log.log_start_offset
                )
        return None

    def _is_same(self, known: BatchMetadata, batch: ValidatedBatch) -> bool:
        return known.first_sequence == batch.header.base_sequence
