"""A leader stamps every batch with the epoch in which the log began."""

from __future__ import annotations

from reference_impl.core.log import AppendResult
from reference_impl.core.partitions.batch_validation import ValidatedBatch
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class StampFirstEpoch(Rules):
    """Real-world kin: an epoch that is read when a log is opened, and never again.

    Breaks:     a batch must have the epoch of the leader who appended it (KIP-101, "Leader Epoch"):
                by it a follower knows what to truncate, and a reader what was truncated.
    Caught by:  workload transactions, nemesis kill, checker leader_epochs.
    Within:     one run of 20 seconds.
    """

    def append(self, partition: Partition, batch: ValidatedBatch, now_ms: int) -> AppendResult:
        """Append the batch under the first epoch of the log."""
        epochs = partition.log.leader_epochs.entries
        epoch = epochs[0][0] if epochs else partition.leader_epoch
        result = partition.log.append(batch.data, batch.header, epoch, now_ms)
        partition.advance_high_watermark()
        return result
