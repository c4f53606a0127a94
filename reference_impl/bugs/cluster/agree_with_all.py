"""A controller that takes every follower's log for a prefix of its own."""

from __future__ import annotations

from reference_impl.core.rules import Rules
from reference_impl.core.rules.agreeing import LogEnd


class AgreeWithAll(Rules):
    """Real-world kin: logs that are copied without a comparison of epochs, before KIP-101.

    Breaks:     a follower's log must be a prefix of the leader's before records are added
                (KIP-595).
    Caught by:  workload appends, nemesis isolate-controller, checker simulator: a step
                of a node fails when a follower has more than the leader's log.
    Within:     a few runs of 20 seconds with three nodes.
    """

    def agrees(self, epoch: int, end_offset: int, found: LogEnd) -> bool:
        """Return True for every log."""
        return True
