"""A leader that proposes a follower for the ISR which lacks committed records."""

from __future__ import annotations

from reference_impl.core.rules import Rules


class JoinEarly(Rules):
    """Real-world kin: KAFKA-7128, where a follower joined that had not reached the leader's epoch.

    Breaks:     each member of the ISR must have everything that is committed (design#replication).
    Caught by:  workload appends, nemesis partition-leader, checker invariant isr-is-complete.
    Within:     a few runs of 20 seconds with three nodes.
    """

    def has_reached(self, follower_end: int, high_watermark: int, epoch_start: int) -> bool:
        """Return True for each follower that fetches."""
        return True
