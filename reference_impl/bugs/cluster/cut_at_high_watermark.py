"""A follower that cuts its log at its own high watermark before it fetches."""

from __future__ import annotations

from reference_impl.core.log.readable_log import ReadableLog
from reference_impl.core.rules import Rules


class CutAtHighWatermark(Rules):
    """Real-world kin: replication before KIP-101, which lost records that were committed, but not
    known to be.

    Breaks:     a follower may cut off only what its leader does not have (KIP-101).
    Caught by:  workload appends, nemesis kill-all, checkers lost_writes or
                invariant committed-stays.
    Within:     a few runs of 20 seconds with three nodes.
    """

    def kept_end(self, log: ReadableLog) -> int:
        """Return the high watermark, which comes late."""
        return log.high_watermark
