"""A broker's decisions about the files that it finds, and leaves behind."""

from __future__ import annotations

from reference_impl.core.log.recovery import RecoveryOptions


class Recovering:
    """How far files are trusted after a clean stop, a kill, a loss of power and a failed sync."""

    def restores_producer_state(self) -> bool:
        """Return whether a restarted leader knows which batches it has (KIP-98;
        ProducerStateManager).
        """
        return True

    def replays_after_snapshot(self) -> bool:
        """Return whether the batches behind a snapshot of the producers count, too: the snapshot is
        as old as its segment (ProducerStateManager.truncateAndReload,
        UnifiedLog.rebuildProducerState).
        """
        return True

    def checks_batches_after_crash(self) -> bool:
        """Return whether a batch must have the CRC that it was written with to stay in the log; the
        rest of the tail is torn, and cut off (LogSegment.recover).
        """
        return True

    def rebuilds_indexes_after_crash(self) -> bool:
        """Return whether indexes are rebuilt from the log after a crash: an index may be on the
        medium where the batches that it points to are not (LogLoader.recoverLog)."""
        return True

    def syncs_at_shutdown(self) -> bool:
        """Return whether a clean shutdown syncs every log before it leaves the mark which lets the
        next start skip recovery (LogManager.shutdown).
        """
        return True

    def distrusts_failed_syncs(self) -> bool:
        """Return whether a log takes no more appends after a sync that failed: the next one may
        succeed although the data of the first is lost (UnifiedLog.maybeHandleIOException).
        """
        return True

    def recovery_options(self) -> RecoveryOptions:
        """Return what a log asks when it is opened, and later (`core/log/recovery.py`)."""
        return RecoveryOptions(
            self.restores_producer_state(),
            self.replays_after_snapshot(),
            self.checks_batches_after_crash(),
            self.rebuilds_indexes_after_crash(),
            self.syncs_at_shutdown(),
            self.distrusts_failed_syncs(),
        )
