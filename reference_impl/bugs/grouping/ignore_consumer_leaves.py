"""A member of a consumer group that leaves stays a member until its session ends."""

from __future__ import annotations

from collections.abc import Mapping

from reference_impl.core.groups.consumer.model.member import ConsumerMember
from reference_impl.core.rules import Rules
from reference_impl.core.rules.grouping import AnyMember


class IgnoreConsumerLeaves(Rules):
    """Real-world kin: coordinators that leave the work to the session's timer.

    Breaks:     once a heartbeat with member epoch -1 is answered, its sender must not be a member
                any more (KIP-848).
    Caught by:  workload sessions, any nemesis or none, checker group_liveness
                (member-after-leaving).
    Within:     one run of 20 seconds.
    """

    def lets_go(self, member: AnyMember, members: Mapping[str, AnyMember]) -> bool:
        """Return False for a member of a consumer group."""
        return not isinstance(member, ConsumerMember) and super().lets_go(member, members)
