"""The segments of one partition in order, and searches across all of them. Source:
LogSegments.java.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from reference_impl.core.log.batch_scan import CheckBatch, CorruptLog, check_whole, scan_batches
from reference_impl.core.log.segments.segment import Segment, Slice
from reference_impl.core.log.segments.time_search import BatchOnDisk
from reference_impl.core.log.segments.transaction_index import AbortedTransaction
from reference_impl.wire.batches.records import CorruptRecord


class Segments:
    """The segments of a log, never empty; the last one is active, the others are closed."""

    def __init__(self, segments: list[Segment]) -> None:
        self._segments = segments
        self.active.become_active()

    @property
    def active(self) -> Segment:
        """The segment that is appended to."""
        return self._segments[-1]

    @property
    def base_offsets(self) -> list[int]:
        """The base offset of each segment."""
        return [segment.base_offset for segment in self._segments]

    @property
    def size_bytes(self) -> int:
        """Bytes of all `.log` files."""
        return sum(segment.size for segment in self._segments)

    def __iter__(self) -> Iterator[Segment]:
        """Iterate over all segments, oldest first, even if the list changes meanwhile."""
        return iter(list(self._segments))

    @property
    def closed(self) -> list[Segment]:
        """All segments but the active one, oldest first."""
        return self._segments[:-1]

    def replace(self, old: list[Segment], new: Segment) -> None:
        """Put one segment in the place of several neighbours."""
        first = self._segments.index(old[0])
        self._segments[first : first + len(old)] = [new]

    def add(self, segment: Segment) -> None:
        """Append a segment, which becomes the active one."""
        segment.become_active()
        self._segments.append(segment)

    def from_offset(self, offset: int) -> list[Segment]:
        """Return the segment that holds the offset, and all later ones."""
        found = bisect_right(self._segments, offset, key=lambda segment: segment.base_offset)
        return self._segments[max(found - 1, 0) :]

    # -- reading -------------------------------------------------------------------------------

    def locate(
        self, offset: int, max_bytes: int, limit_offset: int | None, at_least_one: bool
    ) -> Slice | None:
        """Return the slice of batches from `offset` on, in the first segment that has any. Return
        None if none is below the limit, or if the first is larger than `max_bytes` and
        `at_least_one` is False."""
        segments = self.from_offset(offset)
        for segment, following in zip(segments, [*segments[1:], None], strict=True):
            limit = limit_offset
            if following is not None and (limit is None or limit >= following.base_offset):
                limit = None  # it does not lie in this segment
            found = segment.locate(offset, max_bytes, limit, at_least_one)
            if found is not None:
                return found if found.size > 0 else None
            if limit is not None:
                return None
        return None

    def batches(self, from_offset: int, check: CheckBatch = check_whole) -> Iterator[memoryview]:
        """Yield every batch of the log, across its segments, from the one with this offset on, or
        from the next one if none has it. Raise CorruptLog where one is altered."""
        for segment in self.from_offset(from_offset):
            if (found := segment.find_batch(from_offset)) is None:
                continue
            try:
                start, end = found[1], segment.size
                for _, _, batch in scan_batches(segment.log, start, end, check):
                    yield batch
            except CorruptRecord as error:
                raise CorruptLog(segment.log.path, str(error)) from error

    def batch_at_time(self, timestamp: int, from_offset: int) -> BatchOnDisk | None:
        """Return the first batch of the log with records at or after `from_offset` whose header
        says that one of its records is not older than the timestamp. Return None if no segment has
        one."""
        for segment in self.from_offset(from_offset):
            if segment.newest[0] >= timestamp:
                found = segment.batch_at_time(timestamp, from_offset)
                if found is not None:
                    return found
        return None

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp of all, -1 if there is none."""
        return max(segment.newest[0] for segment in self._segments)

    # -- aborted transactions ------------------------------------------------------------------

    def note_aborted(self, aborted: AbortedTransaction) -> None:
        """Add an aborted transaction to the index of the segment that holds its marker."""
        self.from_offset(aborted.last_offset)[0].transaction_index.append(aborted)

    def aborted_between(self, from_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """Return the aborted transactions that may have records in the range
        (TransactionIndex.collectAbortedTxns): those whose marker comes later count as well."""
        found = []
        for segment in self.from_offset(from_offset):
            for aborted in segment.transaction_index:
                if aborted.last_offset >= from_offset and aborted.first_offset < end_offset:
                    found.append(aborted)
                if aborted.last_stable_offset >= end_offset:
                    return found
        return found

    def forget_aborted_from(self, offset: int) -> None:
        """Drop the entries whose markers are at `offset` or later; they will be noted again."""
        for segment in self._segments:
            segment.transaction_index.truncate_to(offset)

    def sync_aborted_from(self, offset: int) -> None:
        """Make the entries with markers at `offset` or later survive a loss of power."""
        for segment in self.from_offset(offset):
            segment.transaction_index.sync()

    def broken_transaction_index(self) -> Segment | None:
        """Return the first segment whose transaction index contradicts its log, or None."""
        broken = (each for each in self._segments if each.transaction_index.problem())
        return next(broken, None)

    # -- cutting -------------------------------------------------------------------------------

    def take_below(self, offset: int) -> Iterator[Segment]:
        """Remove the closed segments that lie wholly below the offset from the list, and yield
        them, oldest first."""
        while self.has_below(offset):
            yield self._segments.pop(0)

    def has_below(self, offset: int) -> bool:
        """Return whether a closed segment lies wholly below the offset."""
        return len(self._segments) > 1 and self._segments[1].base_offset <= offset

    def truncate_to(self, offset: int) -> int:
        """Remove the batch that holds `offset` and all after it, deleting the later segments.
        Return the offset after the last batch that is left."""
        while len(self._segments) > 1 and self.active.base_offset > offset:
            self._segments.pop().delete()
        self.active.truncate_to(offset)
        self.active.become_active()
        return self.active.read_next_offset()

    def delete_all(self) -> None:
        """Delete the files of every segment. The object must not be used afterwards."""
        for segment in self._segments:
            segment.delete()

    # -- keeping -------------------------------------------------------------------------------

    def sync_from(self, offset: int) -> None:
        """Sync every segment with data at or after `offset`, so that it survives a loss of
        power."""
        for segment in self.from_offset(offset):
            segment.sync()

    def close(self) -> None:
        """Close the files of all segments."""
        for segment in self._segments:
            segment.close()
