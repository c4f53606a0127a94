"""A voter that keeps its vote in memory alone, and has forgotten it after a restart."""

from __future__ import annotations

from collections.abc import Callable

from reference_impl.core.rules import Rules


class ForgetVotes(Rules):
    """Real-world kin: voters that answer before their vote is on the disk.

    Breaks:     a voter has one vote in each epoch, over restarts, too (Raft, 5.2; KIP-595).
    Caught by:  workload appends, nemesis kill-again, checker invariant one-vote. No client sees it:
                a controller decides nothing before a majority has the first record of its epoch,
                and a voter with that record refuses the other candidates of the epoch, whose logs
                are older.
    Within:     20 runs of 20 seconds with three nodes.
    """

    def keep_election(self, save: Callable[[], None]) -> None:
        """Write nothing to the disk."""
