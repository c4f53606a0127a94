"""A partition whose owner died is not assigned to another member."""

from __future__ import annotations

from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.consumer.model.member import TopicIdPartition
from reference_impl.core.rules import Rules


class NeverRelease(Rules):
    """Real-world kin: maps of owners from which a fenced member is not removed.

    Breaks:     it must be possible at once to assign the partitions of a member that is gone to
                others (KIP-848, Member fencing).
    Caught by:  workload groups-consumer, any nemesis or none, checker group_liveness: partitions of
                crashed members have no owner.
    Within:     one run of 75 seconds: judges allow for rebalance and session time-outs.
    """

    def __init__(self) -> None:
        self._owners: dict[TopicIdPartition, str] = {}

    def is_released(
        self, group: ConsumerGroup, member_id: str, partition: TopicIdPartition
    ) -> bool:
        """Return whether the previous owner has released the partition; an owner that is gone
        counts as one that has not."""
        if not super().is_released(group, member_id, partition):
            return False
        owner = self._owners.setdefault(partition, member_id)
        if owner == member_id or owner in group.members:
            self._owners[partition] = member_id
            return True
        return False
