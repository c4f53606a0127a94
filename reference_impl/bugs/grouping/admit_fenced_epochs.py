"""A KIP-848 member with an old member epoch is not fenced."""

from __future__ import annotations

from reference_impl.core.groups.consumer.model.member import ConsumerMember, TopicIdPartition
from reference_impl.core.rules import Rules


class AdmitFencedEpochs(Rules):
    """Real-world kin: coordinators that know a member by its id alone.

    Breaks:     a heartbeat of an older member epoch must be answered FENCED_MEMBER_EPOCH (KIP-848):
                the member gives up its partitions and joins again.
    Caught by:  the conformance cases of ConsumerGroupHeartbeat. A client library never sends an
                older epoch by itself.
    Within:     one examination.
    """

    def check_member_epoch(
        self, member: ConsumerMember, epoch: int, reported: set[TopicIdPartition] | None
    ) -> None:
        """Refuse only epochs above the member's, and let older ones pass."""
        if epoch > member.epoch:
            super().check_member_epoch(member, epoch, reported)
