"""A KIP-848 member may commit offsets for partitions that it has lost."""

from __future__ import annotations

from reference_impl.core.groups.consumer.model.member import ConsumerMember, TopicIdPartition
from reference_impl.core.rules import Rules


class AcceptStaleEpochs(Rules):
    """Real-world kin: coordinators that accept a commit from every member of the group.

    Breaks:     a commit of an older member epoch must be refused, unless the member has had the
                partition since then (KIP-848; KIP-1251).
    Caught by:  workload groups-consumer-positions, any nemesis or none, checker committed_offsets;
                and the conformance cases of OffsetCommit.
    Within:     one run of 30 seconds.
    """

    def check_commit_epoch(
        self, member: ConsumerMember, epoch: int, partition: TopicIdPartition
    ) -> None:
        """Refuse only epochs above the member's, and let older ones pass."""
        if epoch > member.epoch:
            super().check_commit_epoch(member, epoch, partition)
