"""ListOffsets answers the high watermark as the latest offset, even under read_committed."""

from __future__ import annotations

from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class BeginBehindUndecided(Rules):
    """Real-world kin: a look-up of offsets without an isolation level (before KIP-98).

    Breaks:     the latest offset of a read_committed reader must be the last stable offset
                (KIP-98): else it never sees the transactions that were open when it began.
    Caught by:  workload transactions, any nemesis or none, checker high_watermark (ListOffsets
                names a last stable offset which no Fetch after it has reached); and the conformance
                cases of ListOffsets.
    Within:     one run of 20 seconds.
    """

    def latest_offset(self, partition: Partition, isolation_level: int) -> int:
        """Return the high watermark whatever the isolation level."""
        return partition.high_watermark
