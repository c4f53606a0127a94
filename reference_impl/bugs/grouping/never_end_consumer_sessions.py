"""A KIP-848 member that stops sending heartbeats keeps its partitions for ever."""

from __future__ import annotations

from reference_impl.core.groups.consumer.model.member import ConsumerMember
from reference_impl.core.rules import Rules


class NeverEndConsumerSessions(Rules):
    """Real-world kin: coordinators that lose the timer of a session when a group is loaded.

    Breaks:     after group.consumer.session.timeout.ms without a heartbeat a member must be
                removed, and its partitions go to others (KIP-848, Member fencing).
    Caught by:  workload groups-consumer, any nemesis or none, checker group_liveness: no member
                reads the partitions of a crashed one.
    Within:     one run of 75 seconds: judges allow for rebalance and session time-outs.
    """

    def was_awaited_in_vain(self, member: ConsumerMember, timer: str) -> bool:
        """Return False, so that no member is removed for missing heartbeats."""
        return False
