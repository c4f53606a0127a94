"""A commit in the current generation is accepted whatever member id it names."""

from __future__ import annotations

from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.groups.offsets import Committer
from reference_impl.core.rules import Rules


class AcceptStrangers(Rules):
    """Real-world kin: coordinators that trust the generation, since only members are told it.

    Breaks:     a commit must be refused unless its sender is a member (UNKNOWN_MEMBER_ID; KIP-345:
                FENCED_INSTANCE_ID): else it could overwrite the position of the partition's owner
                (ClassicGroup, validateOffsetCommit).
    Caught by:  workload groups-positions, any nemesis or none, checker committed_offsets
                (two-owners); groups-static-positions shows it as well.
    Within:     one run of 30 seconds.
    """

    def check_committing_member(self, group: ClassicGroup, committer: Committer) -> None:
        """Check nothing, so that anyone may commit who names the current generation."""
