"""A transaction is complete without the markers of partitions that have no leader."""

from __future__ import annotations

from reference_impl.core.rules import Rules


class SkipMarkersWithoutLeader(Rules):
    """Real-world kin: KAFKA-20734, in Apache Kafka 4.3.1; a partition without a leader is taken for
    a deleted one.

    Breaks:     every partition of a decided transaction must get its marker (KIP-98).
    Caught by:  workload transactions, nemesis kill-leader, checkers hanging_transactions,
                ends_honoured and torn_transactions, where partitions have one replica.
    Within:     a few runs of 20 seconds with three nodes.
    """

    def needs_marker(self, leader: int | None) -> bool:
        """Return whether the partition has a leader."""
        return leader is not None and leader >= 0
