"""A partition is assigned to its next owner before the previous one has released it."""

from __future__ import annotations

from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.consumer.model.member import TopicIdPartition
from reference_impl.core.rules import Rules


class GiveBeforeReleased(Rules):
    """Real-world kin: coordinators that send a new assignment at once, and rely on the old owner to
    notice it in time.

    Breaks:     two members must never own a partition at the same time (KIP-848, Reconciliation of
                the group).
    Caught by:  workload groups-consumer-positions, any nemesis or none, checker committed_offsets:
                the old owner still commits after the new one.
    Within:     one run of 20 seconds.
    """

    def is_released(
        self, group: ConsumerGroup, member_id: str, partition: TopicIdPartition
    ) -> bool:
        """Return True, without waiting for the previous owner."""
        return True
