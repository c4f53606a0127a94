"""OffsetForLeaderEpoch answers an end offset below the epoch's last records."""

from __future__ import annotations

from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class EndEpochsEarly(Rules):
    """Real-world kin: caches of epochs that are truncated with the log, but not extended with it.

    Breaks:     an epoch must end where the next one begins, or at the end of the log: otherwise a
                consumer that has read further assumes that the rest was truncated, and a follower
                truncates it (KIP-101).
    Caught by:  workload transactions, any nemesis or none, checker high_watermark: acknowledged
                records lie after the end of the epoch in which they were written.
    Within:     one run of 20 seconds.
    """

    def end_of_epoch(self, partition: Partition, leader_epoch: int) -> tuple[int, int]:
        """Return the epoch, and an end offset that leaves out its last record."""
        epoch, end_offset = super().end_of_epoch(partition, leader_epoch)
        return epoch, max(end_offset - 1, partition.log.log_start_offset)
