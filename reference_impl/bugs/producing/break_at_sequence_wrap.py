"""A producer cannot continue after sequence number 2^31 - 1, which must be followed by 0."""

from __future__ import annotations

from reference_impl.core.partitions.batch_validation import ValidatedBatch
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.refused import Refused
from reference_impl.core.rules import Rules
from reference_impl.wire import ErrorCode


class BreakAtSequenceWrap(Rules):
    """Real-world kin: sequences that continue in 64 bits.

    Breaks:     sequences must wrap around from 2^31 - 1 to 0
                (DefaultRecordBatch.incrementSequence).
    Caught by:  workload sequences, any nemesis or none, checker idempotence; and the conformance
                cases of Produce.
    Within:     one run of 20 seconds.
    """

    def check_sequence(self, partition: Partition, batch: ValidatedBatch) -> None:
        """Refuse every sequence below the producer's last in its epoch, also the 0 after 2^31 -
        1."""
        super().check_sequence(partition, batch)
        entry = partition.log.producer_state.entry(batch.header.producer_id)
        if entry is None or not entry.batches:
            return
        is_same_epoch = entry.producer_epoch == batch.header.producer_epoch
        if is_same_epoch and batch.header.base_sequence < entry.last_sequence:
            raise Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
