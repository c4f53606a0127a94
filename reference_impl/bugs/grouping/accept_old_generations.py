"""A member of an old generation may still commit offsets."""

from __future__ import annotations

from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.groups.offsets import Committer
from reference_impl.core.rules import Rules


class AcceptOldGenerations(Rules):
    """Real-world kin: coordinators that accept a commit from every client that names the group.

    Breaks:     a commit of an old generation must be refused: its partitions belong to other
                members by then (OffsetCommitRequest.json, GenerationIdOrMemberEpoch; ClassicGroup,
                validateOffsetCommit).
    Caught by:  workload groups-positions, any nemesis or none, checker committed_offsets
                (old-generation-commits).
    Within:     one run of 20 seconds.
    """

    def check_committing_member(self, group: ClassicGroup, committer: Committer) -> None:
        """Check nothing, so that former members may commit."""

    def check_generation(self, group: ClassicGroup, committer: Committer) -> None:
        """Check nothing, so that members of old generations may commit."""
