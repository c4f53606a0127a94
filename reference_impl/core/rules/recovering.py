"""A broker's decisions about the files that it finds at its start, and that it leaves at its
end."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reference_impl.core.log.batch_scan import check_whole
from reference_impl.core.log.flush_state import FlushState
from reference_impl.core.log.producers.recovery import ProducerRecovery
from reference_impl.core.log.recovery.recovery import Loaded, Opening, recover_segment
from reference_impl.core.log.segments.segment import Segment
from reference_impl.core.storage import StorageError
from reference_impl.wire import Struct


class Recovering:
    """Decisions about which files are trusted after a clean stop, a kill, a loss of power and a
    failed sync."""

    def restore_producers(self, recovery: ProducerRecovery) -> None:
        """Restore the state of the producers when a log is opened, so that the leader recognises a
        batch that is sent again (KIP-98; UnifiedLog.rebuildProducerState).
        """
        taken_at = recovery.load_snapshot()
        self.replay_after_snapshot(recovery, taken_at)

    def replay_after_snapshot(self, recovery: ProducerRecovery, taken_at: int) -> None:
        """Add the batches from `taken_at` on, the log end when the snapshot was taken (0 without
        one), to the producers' state, since the snapshot is only as new as its segment
        (ProducerStateManager.truncateAndReload)."""
        recovery.replay_from(taken_at, self.check_batch)

    def check_batch(self, batch: memoryview) -> None:
        """Raise CorruptRecord unless the batch still matches its CRC; if not, it and everything
        after it is torn, and is cut off (LogSegment.recover)."""
        check_whole(batch)

    def recover_unsynced(
        self, opening: Opening, loaded: Loaded, segment: Segment, following: int | None
    ) -> int:
        """Read a segment that may hold unsynced bytes batch by batch, and rebuild its indexes: an
        index may be on the disk although the batches that it points to are not. Cut off a torn
        tail. Return the offset after the last batch. following: the base offset of the next
        segment, None if this is the last. Raise CorruptLog for damage that cannot be a torn tail
        (LogLoader.recoverLog)."""
        return recover_segment(opening, loaded, segment, is_last=following is None)

    def sync_at_shutdown(self, flush: Callable[[], None]) -> None:
        """Sync a log in a clean shutdown, before the file is written that lets the next start skip
        recovery (LogManager.shutdown).
        """
        flush()

    def may_skip_recovery(self, *, was_clean: bool, unopened: int, distrusted: int) -> bool:
        """Return whether the next start may trust all logs after this clean stop. It may not if a
        log has failed (distrusted: how many have), nor if a log was never opened (unopened) since a
        crash (not was_clean), whose torn tail is still there (LogManager.shutdown,
        loadLogsCompletedFlags; KAFKA-10471)."""
        return distrusted == 0 and (was_clean or unopened == 0)

    def kept_in_snapshot(self, records: Iterable[Struct]) -> list[Struct]:
        """Return the records of a snapshot of the metadata: all that make the state, since a node
        that starts with the snapshot reads nothing before it (KIP-630; SnapshotEmitter).
        """
        return list(records)

    def note_failed_sync(self, state: FlushState, error: StorageError) -> None:
        """Store the error in `state`, so that the log takes no more appends after a sync that
        failed: the next sync may succeed although data is lost
        (UnifiedLog.maybeHandleIOException)."""
        state.failure = error
