"""A controller that commits what its own log alone holds."""

from __future__ import annotations

from collections.abc import Iterable

from reference_impl.core.rules import Rules


class CommitByOne(Rules):
    """Real-world kin: Raft implementations that count an entry before a majority has it.

    Breaks:     committed metadata must be in the logs of a majority (Raft, 5.3; KIP-595).
    Caught by:  workload transactions, nemesis isolate-controller, checker leader_epochs
                (two-leaders): the controller that is cut off fences the other brokers and makes its
                own the leader, in an epoch that its successor gives to another broker; the
                invariants leader-is-complete, committed-stays and images-equal see it first.
    Within:     a few runs of 20 seconds with three nodes.
    """

    def committed_end(self, ends: Iterable[int], epoch_start_offset: int) -> int | None:
        """Return the end of the longest log. Return None if it has nothing of this epoch."""
        reached = max(ends)
        return reached if reached > epoch_start_offset else None
