"""A voter that grants its vote to each candidate of an epoch that asks."""

from __future__ import annotations

from reference_impl.core.quorum.voters.voter_set import ReplicaKey
from reference_impl.core.rules import Rules


class VoteTwice(Rules):
    """Real-world kin: NATS 2.12.1 (nats-server#7567), where two nodes lead one group.

    Breaks:     a voter has one vote in each epoch, so that two majorities cannot elect two leaders
                (Raft, 5.2; KIP-595).
    Caught by:  workload appends, nemesis none, checker invariant one-vote, with
                controller.quorum.election.timeout.ms=5, so that two candidates meet. No client
                sees it: a node follows the first leader of an epoch that it hears of, so that the
                second one commits nothing, decides nothing, and resigns.
    Within:     a few runs of 20 seconds with three nodes.
    """

    def may_vote_for(
        self, candidate: ReplicaKey, voted: ReplicaKey | None, leader_id: int | None
    ) -> bool:
        """Return whether no leader of the epoch is known."""
        return leader_id is None
