"""A consumer's decisions about the fetched records that it delivers."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_impl.wire import BatchHeader


class Reading:
    """Decisions on the records that read_committed leaves out, and on the position after a poll."""

    def is_left_out(self, header: BatchHeader, aborting: Collection[int]) -> bool:
        """Return whether read_committed drops a batch: its producer's transaction was aborted, and
        its marker has not come yet (KIP-98; CompletedFetch.isBatchAborted)."""
        return header.is_transactional and header.producer_id in aborting

    def ends_abort(self, producer_id: int, is_abort: bool, aborting: Collection[int]) -> bool:
        """Return whether a marker ends the dropping of a producer's records: its next batch belongs
        to the next transaction (CompletedFetch.containsAbortMarker)."""
        return is_abort and producer_id in aborting

    def position_after(self, offset: int) -> int:
        """Return the position of a poll after it has returned a record."""
        return offset + 1

    def was_delivered(self, offset: int, position: int) -> bool:
        """Return whether a record lies before the position: brokers send whole batches, which may
        begin before the requested offset (CompletedFetch.nextFetchedRecord)."""
        return offset < position

    def is_still_wanted(self, position: int | None, next_offset: int) -> bool:
        """Return whether fetched records may be delivered: the position was not moved by a seek
        meanwhile (FetchCollector.fetchRecords)."""
        return position == next_offset
