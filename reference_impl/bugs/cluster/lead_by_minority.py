"""A candidate that takes its own vote for a majority."""

from __future__ import annotations

from reference_impl.core.rules import Rules


class LeadByMinority(Rules):
    """Real-world kin: clusters that are split in two and have a leader on each side.

    Breaks:     an epoch of the quorum must have only one leader (Raft, 5.2; KIP-595).
    Caught by:  workload appends, nemesis kill-controller, checkers lost_writes or
                inconsistent_offsets: a node that returns elects itself without a look at the other
                logs, drops their committed metadata, and makes a replica the leader that lacks
                acknowledged records; the invariants one-leader and logs-agree see it first.
    Within:     a few runs of 20 seconds with three nodes.
    """

    def has_majority(self, count: int, voters: int) -> bool:
        """Return True for a single vote."""
        return count > 0
