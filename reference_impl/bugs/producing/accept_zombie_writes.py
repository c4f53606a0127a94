"""A leader appends batches of a fenced producer."""

from __future__ import annotations

from reference_impl.bugs.transacting.admit_fenced_producers import AdmitFencedProducers
from reference_impl.core.partitions.batch_validation import ValidatedBatch
from reference_impl.core.partitions.partition import Partition


class AcceptZombieWrites(AdmitFencedProducers):
    """Real-world kin: leaders that check the sequences for gaps, but accept any other epoch as a
    fresh start.

    Breaks:     once a newer epoch has written to a partition, a batch of an older one must be
                refused (KIP-98; ProducerAppendInfo.checkProducerEpoch). The coordinator lets the
                producer in, too; it would refuse the batch before the leader does (KIP-890).
    Caught by:  workload zombies, any nemesis or none, checker fencing; and the conformance cases of
                Produce.
    Within:     one run of 30 seconds.
    """

    def check_sequence(self, partition: Partition, batch: ValidatedBatch) -> None:
        """Check only batches of the newest epoch, and let older ones pass."""
        entry = partition.log.producer_state.entry(batch.header.producer_id)
        if entry is None or batch.header.producer_epoch >= entry.producer_epoch:
            super().check_sequence(partition, batch)
