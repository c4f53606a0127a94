"""Restore the producer state of a log that was opened or cut: from the newest snapshot and the
batches after it.

Source: UnifiedLog.rebuildProducerState, ProducerStateManager.truncateAndReload.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reference_impl.core.log.batch_scan import CheckBatch
from reference_impl.core.log.producers.snapshot import Snapshots
from reference_impl.core.log.producers.state import CompletedTransaction, ProducerStateManager
from reference_impl.core.log.segments.segments import Segments
from reference_impl.wire.batches.records import read_header


@dataclass(frozen=True)
class ProducerRecovery:
    """An empty producer state, and the files from which it is restored to the log end.

    The transaction index is synced when a snapshot is taken, so its entries up to the snapshot are
    right; later ones are rebuilt.
    """

    producers: ProducerStateManager
    segments: Segments
    snapshots: Snapshots
    log_start_offset: int
    log_end_offset: int
    note_aborted: Callable[[CompletedTransaction], None]

    def load_snapshot(self) -> int:
        """Load the newest valid snapshot, and remove the unusable ones that are newer. Return the
        log end offset at which it was taken, 0 if there is none."""
        broken = self.segments.broken_transaction_index()
        limit = self.log_end_offset if broken is None else broken.base_offset
        taken_at, entries = self.snapshots.newest(self.log_start_offset, limit)
        self.producers.load(entries)
        return taken_at

    def replay_from(self, taken_at: int, check: CheckBatch) -> None:
        """Add the batches after the snapshot to the producer state, and rebuild and sync the
        transaction indexes from there: no later flush does, since the records have been flushed."""
        self.segments.forget_aborted_from(taken_at)
        for batch in self.segments.batches(max(taken_at, self.log_start_offset), check):
            header = read_header(batch)
            if header.has_producer_id:
                completed = self.producers.update(header, header.base_offset, batch)
                if completed is not None and completed.is_aborted:
                    self.note_aborted(completed)
        self.segments.sync_aborted_from(taken_at)
