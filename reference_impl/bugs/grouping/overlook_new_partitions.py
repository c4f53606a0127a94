"""A group of KIP-848 does not notice partitions that are added to its topics until its members
change."""

from __future__ import annotations

from reference_impl.core.rules import Rules


class OverlookNewPartitions(Rules):
    """Real-world kin: coordinators that assign partitions only when members change.

    Breaks:     each partition of a subscribed topic must have an owner, also one that was added
                later (KIP-848, Group epoch).
    Caught by:  workload groups-growing, any nemesis or none, checker group_liveness (a partition
                without an owner).
    Within:     one run of 75 seconds: judges allow for rebalance and session time-outs.
    """

    def topics_have_changed(self, known_hash: int, metadata_hash: int) -> bool:
        """Return False, so that only members change a group."""
        return False
