"""ListOffsets answers the start of the second segment as the earliest offset."""

from __future__ import annotations

from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class ResetPastStart(Rules):
    """Real-world kin: brokers with tiered storage that answer the start of the local log.

    Breaks:     auto.offset.reset=earliest must begin at the log start (KIP-79; KIP-405 has -4 for
                the other question).
    Caught by:  workload retention, any nemesis or none, checker poll_skips: the position of a
                reader that asked for the earliest offset lies above the log start.
    Within:     one run of 20 seconds.
    """

    def earliest_offset(self, partition: Partition) -> int:
        """Return the base offset of the second segment, if there is one, instead of the log
        start."""
        start = super().earliest_offset(partition)
        bases = [base for base in partition.log.segment_base_offsets if base > start]
        return bases[0] if bases else start
