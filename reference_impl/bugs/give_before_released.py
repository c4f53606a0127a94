"""A partition is assigned to its next owner before the previous one has released it."""

from __future__ import annotations

from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.consumer.model.member import TopicIdPartition
from reference_impl.core.rules import Rules


class GiveBeforeReleased(Rules):
    """Real-world kin: coordinators that hand out a new assignment at once, and hope that the old
    owner hears of it in time.

    Breaks:     at no moment two members own a partition (KIP-848, Reconciliation of the group).
    Caught by:  workload groups-consumer-positions, any nemesis or none, checker committed_offsets:
                the old owner goes on committing after the new one.
    Within:     one run of 20 seconds.
    """

    def is_released(
        self, group: ConsumerGroup, member_id: str, partition: TopicIdPartition
    ) -> bool:
        """Return True: do not wait for the owner before."""
        return True
