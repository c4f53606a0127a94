"""After a failed sync the log continues, and relies on the next sync."""

from __future__ import annotations

from reference_impl.core.log.flush_state import FlushState
from reference_impl.core.rules import Rules
from reference_impl.core.storage import StorageError


class TrustFailedSyncs(Rules):
    """Real-world kin: the fsync errors of 2018 (PostgreSQL and others): the kernel reports a page
    that it could not write once, and then treats it as written.

    Breaks:     with flush.messages=1 an acknowledged record must survive a loss of power (docs,
                topicconfigs, flush.messages; UnifiedLog.maybeHandleIOException).
    Caught by:  workload appends, nemesis failed-syncs, config log.flush.interval.messages=1,
                checker lost_writes.
    Within:     one run of 30 seconds.
    """

    def note_failed_sync(self, state: FlushState, error: StorageError) -> None:
        """Forget the error, so that the next sync counts as a success."""
