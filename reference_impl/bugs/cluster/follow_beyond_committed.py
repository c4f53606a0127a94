"""A follower that takes all that it has copied for committed."""

from __future__ import annotations

from reference_impl.core.log.readable_log import ReadableLog
from reference_impl.core.rules import Rules


class FollowBeyondCommitted(Rules):
    """Real-world kin: followers that serve consumers beyond the high watermark of their leader.

    Breaks:     a consumer may read only committed records, from followers, too (KIP-392).
    Caught by:  workload appends, nemesis partition-leader, checker
                invariant follower-high-watermark. No client of the simulator has seen it, since
                the reference client reads from leaders alone.
    Within:     a few runs of 20 seconds with three nodes.
    """

    def followed_high_watermark(self, log: ReadableLog, told: int) -> int:
        """Return the end of the log."""
        return log.log_end_offset
