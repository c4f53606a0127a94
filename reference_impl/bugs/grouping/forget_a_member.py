"""In each generation of several members, the last member gets no assignment, and its partitions are
not read."""

from __future__ import annotations

from collections.abc import Mapping

from reference_impl.core.groups.classic.group import Member
from reference_impl.core.rules import Rules


class ForgetAMember(Rules):
    """Real-world kin: assignments that are matched by member ids that have changed meanwhile.

    Breaks:     each partition of a subscribed topic must have an owner in a stable group (docs,
                design, "Consumers"; SyncGroup).
    Caught by:  workload groups-positions, any nemesis or none, checker group_liveness (a partition
                without an owner); and the conformance cases of SyncGroup.
    Within:     one run of 75 seconds: judges allow for rebalance and session time-outs.
    """

    def part_of(self, member: Member, given_out: Mapping[str, bytes]) -> bytes:
        """Return an empty assignment for the member with the highest id, unless it is the only
        one."""
        is_last = member.member_id == max(given_out, default="")
        if is_last and len(given_out) > 1:
            return b""
        return super().part_of(member, given_out)
