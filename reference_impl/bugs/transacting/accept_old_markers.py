"""A partition accepts a transaction marker of an older producer epoch or of a former
coordinator."""

from __future__ import annotations

from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules
from reference_impl.core.transactions.transaction import Marker


class AcceptOldMarkers(Rules):
    """Real-world kin: KIP-1228 and KAFKA-19446: a late marker ends a transaction that began after
    the one for which it was written.

    Breaks:     a marker of an older epoch must be refused (KIP-98; KIP-890).
    Caught by:  workload zombies, any nemesis or none, checkers fencing and ends_honoured: a fenced
                producer sends a marker itself; and the conformance cases of WriteTxnMarkers.
    Within:     one run of 30 seconds.
    """

    def check_marker(self, partition: Partition, marker: Marker) -> None:
        """Check nothing, so that markers of old epochs are written."""
