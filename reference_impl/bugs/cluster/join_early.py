"""A leader that proposes a follower for the ISR which lacks committed records."""

from __future__ import annotations

from reference_impl.core.rules import Rules


class JoinEarly(Rules):
    """Real-world kin: KAFKA-7128, where a follower joined that had not reached the leader's epoch.

    Breaks:     each member of the ISR must have everything that is committed (design#replication).
    Caught by:  workload appends, nemesis catching-up, checkers lost_writes or
                inconsistent_offsets, with replica.fetch.response.max.bytes=1, so that a follower
                needs seconds to catch up: if the leader is killed meanwhile, that follower may be
                elected; the invariant isr-is-complete sees it first.
    Within:     20 runs of 20 seconds with three nodes.
    """

    def has_reached(self, follower_end: int, high_watermark: int, epoch_start: int) -> bool:
        """Return True for each follower that fetches."""
        return True
