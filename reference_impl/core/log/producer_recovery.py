"""The producer state of a log that was opened or cut: the newest snapshot, then what follows it.

Source: UnifiedLog.rebuildProducerState, ProducerStateManager.truncateAndReload.
"""

from __future__ import annotations

from collections.abc import Callable

from reference_impl.core.log.producer_snapshot import Snapshots
from reference_impl.core.log.producer_state import CompletedTransaction, ProducerStateManager
from reference_impl.core.log.segments import Segments
from reference_impl.wire.records import read_header


def restore_producers(
    producers: ProducerStateManager,
    segments: Segments,
    snapshots: Snapshots,
    log_start_offset: int,
    log_end_offset: int,
    note_aborted: Callable[[CompletedTransaction], None],
    *,
    replay: bool = True,
    check: bool = True,
) -> None:
    """Restore an empty producer state to the log end, or without `replay` only to the snapshot.

    The transaction index is synced when a snapshot is taken, so its entries up to there are right;
    those after it are rebuilt.
    """
    broken = segments.broken_transaction_index()
    limit = log_end_offset if broken is None else broken.base_offset
    taken_at, entries = snapshots.newest(log_start_offset, limit)
    producers.load(entries)
    if not replay:
        return
    segments.forget_aborted_from(taken_at)
    for batch in segments.batches(max(taken_at, log_start_offset), check=check):
        header = read_header(batch)
        if header.has_producer_id:
            completed = producers.update(header, header.base_offset, batch)
            if completed is not None and completed.is_aborted:
                note_aborted(completed)
