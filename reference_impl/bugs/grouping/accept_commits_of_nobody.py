"""A commit that names no member is accepted while the group has members."""

from __future__ import annotations

from reference_impl.core.groups.offsets import Committer
from reference_impl.core.rules import Rules


class AcceptCommitsOfNobody(Rules):
    """Real-world kin: coordinators that let every client without a member id set a group's
    position, as tools do that reset offsets.

    Breaks:     such a commit must be refused while the group has members, since it can overwrite
                the position of a partition's owner (ClassicGroup and ConsumerGroup,
                validateOffsetCommit).
    Caught by:  workload groups-positions, any nemesis or none, checker committed_offsets
                (commit-without-member).
    Within:     one run of 20 seconds.
    """

    def check_names_member(self, committer: Committer) -> None:
        """Check nothing, so that anyone may commit."""
