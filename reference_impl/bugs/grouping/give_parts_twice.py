"""Two members of a classic group get the same assignment."""

from __future__ import annotations

from collections.abc import Mapping

from reference_impl.core.groups.classic.group import Member
from reference_impl.core.rules import Rules


class GivePartsTwice(Rules):
    """Real-world kin: an assignment that is stored under the wrong member id.

    Breaks:     in a generation a partition must have only one owner (docs, design, "Consumers";
                SyncGroup).
    Caught by:  workload groups-positions, any nemesis or none, checker committed_offsets
                (two-owners).
    Within:     one run of 20 seconds.
    """

    def part_of(self, member: Member, given_out: Mapping[str, bytes]) -> bytes:
        """Return the largest assignment for every member, instead of its own."""
        return max(given_out.values(), key=len, default=b"")
