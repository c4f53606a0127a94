"""TxnOffsetCommit accepts offsets from a member of an old generation."""

from __future__ import annotations

from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.groups.offsets import Committer
from reference_impl.core.rules import Rules


class AcceptOldGenerationsInTransactions(Rules):
    """Real-world kin: coordinators before KIP-447, which fenced the producer and not the member.

    Breaks:     TxnOffsetCommit names member and generation, and must be refused for an old
                generation (KIP-447): its partitions belong to other members by then, which process
                the same input again.
    Caught by:  workload transform, any nemesis or none, checkers committed_offsets and
                exactly_once; and the conformance cases of TxnOffsetCommit.
    Within:     one run of 30 seconds.
    """

    def check_committing_member(self, group: ClassicGroup, committer: Committer) -> None:
        """Check only commits outside transactions."""
        if not committer.in_transaction:
            super().check_committing_member(group, committer)

    def check_generation(self, group: ClassicGroup, committer: Committer) -> None:
        """Check only commits outside transactions."""
        if not committer.in_transaction:
            super().check_generation(group, committer)
