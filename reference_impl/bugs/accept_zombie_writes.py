"""A leader appends what a fenced producer sends."""

from __future__ import annotations

from reference_impl.core.batch_validation import ValidatedBatch
from reference_impl.core.partition import Partition
from reference_impl.core.rules import Rules


class AcceptZombieWrites(Rules):
    """Real-world kin: leaders that look for gaps in the sequences, and take another epoch for a new
    beginning.

    Breaks:     once a newer epoch has written to a partition, a batch of an older one is refused
                (KIP-98; ProducerAppendInfo.checkProducerEpoch).
    Caught by:  workload transactions, any nemesis or none, checker fencing.
    Within:     one run of 30 seconds.
    """

    def check_sequence(self, partition: Partition, batch: ValidatedBatch) -> None:
        """Let older epochs pass."""
        entry = partition.log.producer_state.entry(batch.header.producer_id)
        if entry is None or batch.header.producer_epoch >= entry.producer_epoch:
            super().check_sequence(partition, batch)
