"""A member that leaves in the middle of a rebalance stays a member until its session ends."""

from __future__ import annotations

from collections.abc import Mapping

from reference_impl.core.groups.classic.group import Member
from reference_impl.core.rules import Rules
from reference_impl.core.rules.grouping import AnyMember


class ForgetLeavesInRebalances(Rules):
    """Real-world kin: coordinators that answer LeaveGroup first, and look at the group after the
    rebalance.

    Breaks:     once LeaveGroup is answered, its sender must not be a member any more, and the
                rebalance must not wait for it (LeaveGroupRequest.json; KIP-62).
    Caught by:  workload sessions, any nemesis or none, checker group_liveness
                (member-after-leaving).
    Within:     one run of 30 seconds.
    """

    def lets_go(self, member: AnyMember, members: Mapping[str, AnyMember]) -> bool:
        """Return False while another member waits for the next generation."""
        joins = any(isinstance(each, Member) and each.awaiting_join for each in members.values())
        return not joins and super().lets_go(member, members)
