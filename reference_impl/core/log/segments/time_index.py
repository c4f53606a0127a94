"""The time index: the offset from which to search for a timestamp.

Source: TimeIndex.java; KIP-33. An entry of 12 bytes has the largest timestamp so far (int64), and
the last offset of the batch that has it, relative to the base offset (int32). Entries rise in time;
a closed segment ends with the largest timestamp it holds.
"""

from __future__ import annotations

from struct import Struct

from reference_impl.core.log.segments.sparse_index import SparseIndex
from reference_impl.core.storage import Storage
from reference_impl.wire.batches.records import NO_TIMESTAMP

_ENTRY = Struct(">qi")


class TimeIndex(SparseIndex):
    """The time index of one segment, in the file `<base offset>.timeindex`."""

    def __init__(self, storage: Storage, path: str, base_offset: int, max_bytes: int) -> None:
        super().__init__(storage, path, base_offset, _ENTRY, max_bytes)

    @property
    def is_full(self) -> bool:
        """Return whether the index is full: only the place for the entry that closes the segment is
        free."""
        return self._count >= self._entries_max - 1

    @property
    def last_timestamp(self) -> int:
        """The timestamp of the last entry, -1 if there is none."""
        return self._last[0] if self._last else NO_TIMESTAMP

    @property
    def last_offset(self) -> int:
        """The offset of the last entry, or the base offset if there is none."""
        return self.base_offset + (self._last[1] if self._last else 0)

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Add an entry if this timestamp is larger than that of the last entry."""
        if timestamp > self.last_timestamp:
            self._append(timestamp, offset - self.base_offset)

    def offset_before(self, timestamp: int) -> int:
        """Return the offset from which to search for a timestamp. Every batch that ends before it
        is older."""
        count = self._count_up_to(timestamp, 0)
        return self.base_offset + (self._entry(count - 1)[1] if count else 0)

    def truncate_to(self, offset: int) -> None:
        """Keep only entries below `offset`."""
        self.keep_entries(self._count_up_to(offset - self.base_offset - 1, 1))

    def problem(self) -> str | None:
        """Return why the file cannot be this segment's index, or None if it can (sanityCheck)."""
        if not self.has_whole_entries:
            return "its size is not a multiple of 12"
        if self._last and (self._last[1] < 0 or self._last[0] < self._entry(0)[0]):
            return "its last entry is before its first"
        return None
