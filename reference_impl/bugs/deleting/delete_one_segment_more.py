"""Retention by size deletes until the log is shorter than retention.bytes, not just above it."""

from __future__ import annotations

from reference_impl.core.rules import Rules


class DeleteOneSegmentMore(Rules):
    """Real-world kin: a lower limit that is used as an upper limit.

    Breaks:     at least retention.bytes of a log must stay: a segment may be deleted only if the
                others have at least that size (docs, topicconfigs, retention.bytes).
    Caught by:  workload retention-size, any nemesis or none, checker retention
                (deleted-below-size).
    Within:     one run of 20 seconds.
    """

    def exceeds_size(self, size_bytes: int, segment_bytes: int, retention_bytes: int) -> bool:
        """Return whether the log has at least `retention_bytes` with this segment, where the
        correct rule counts it without."""
        return size_bytes >= retention_bytes
