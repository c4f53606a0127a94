"""A leader that takes its proposal of an ISR for the controller's decision."""

from __future__ import annotations

from collections.abc import Collection

from reference_impl.core.rules import Rules


class CountWhatItProposes(Rules):
    """Real-world kin: leaders before KIP-497 that shrank the ISR by themselves.

    Breaks:     a committed record must be on all members of the ISR that the controller knows
                (KIP-497).
    Caught by:  workload appends, nemesis partition-leader, checkers invariant isr-is-complete or
                lost_writes.
    Within:     a few runs of 20 seconds with three nodes.
    """

    def maximal_isr(self, members: Collection[int], proposed: Collection[int]) -> Collection[int]:
        """Return the proposed ISR, if there is one."""
        return proposed or members
