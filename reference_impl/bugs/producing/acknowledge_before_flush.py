"""Produce is acknowledged before the flush that `flush.messages` requires."""

from __future__ import annotations

from dataclasses import replace

from reference_impl.core.configs.keys import LONG_MAX
from reference_impl.core.log import AppendResult
from reference_impl.core.partitions.batch_validation import ValidatedBatch
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class AcknowledgeBeforeFlush(Rules):
    """Real-world kin: brokers, and disks, which cache writes although they were told to sync them.

    Breaks:     with flush.messages=1 an acknowledged record must survive a loss of power (docs,
                topicconfigs, flush.messages).
    Caught by:  workload appends, nemesis power-loss-all, config log.flush.interval.messages=1,
                checker lost_writes. It needs a disk of its own (root): no kill shows it, since the
                operating system keeps the bytes that were written.
    Within:     one run of 15 seconds.
    """

    def append(self, partition: Partition, batch: ValidatedBatch, now_ms: int) -> AppendResult:
        """Append the batch, but leave its flush for later."""
        log = partition.log
        asked = log.config
        log.config = replace(asked, flush_messages=LONG_MAX, flush_ms=LONG_MAX)
        try:
            return super().append(partition, batch, now_ms)
        finally:
            log.config = asked
