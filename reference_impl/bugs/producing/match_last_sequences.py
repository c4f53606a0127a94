"""A retry is recognised by its last sequence number alone, and another batch is taken for one."""

from __future__ import annotations

from reference_impl.bugs.producing.match_first_sequences import MatchFirstSequences
from reference_impl.core.log.producers.state import BatchMetadata
from reference_impl.core.partitions.batch_validation import ValidatedBatch


class MatchLastSequences(MatchFirstSequences):
    """Real-world kin: brokers that keep one number per batch to recognise retries.

    Breaks:     only a batch with the same first and last sequence number is a retry; another one
                must be appended or refused (KIP-98; ProducerStateEntry.findDuplicateBatch).
    Caught by:  workload sequences, any nemesis or none, checkers inconsistent_offsets (two values
                were acknowledged at one offset) and lost_writes.
    Within:     one run of 20 seconds.
    """

    def _is_same(self, known: BatchMetadata, batch: ValidatedBatch) -> bool:
        return known.last_sequence == batch.header.last_sequence
