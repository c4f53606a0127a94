"""The offset index: where in the `.log` file to start looking for an offset.

Source: OffsetIndex.java; design#messageset. One entry of 8 bytes for about every
`index.interval.bytes` of log: the last offset of a batch, relative to the base offset of the
segment (int32), and the position of the batch (int32). So an index never points past the batch
that is looked for.
"""

from __future__ import annotations

from struct import Struct

from reference_impl.core.log.segments.sparse_index import SparseIndex
from reference_impl.core.storage import Storage

_ENTRY = Struct(">ii")


class OffsetIndex(SparseIndex):
    """The offset index of one segment, in the file `<base offset>.index`."""

    def __init__(self, storage: Storage, path: str, base_offset: int, max_bytes: int) -> None:
        super().__init__(storage, path, base_offset, _ENTRY, max_bytes)

    @property
    def is_full(self) -> bool:
        """Return whether the index is full, so that its segment must be closed."""
        return self._count >= self._entries_max

    @property
    def last_offset(self) -> int:
        """The offset of the last entry, or the base offset if there is none."""
        return self.base_offset + (self._last[0] if self._last else 0)

    @property
    def last_position(self) -> int:
        """The position of the last entry, or 0 if there is none."""
        return self._last[1] if self._last else 0

    def append(self, last_offset: int, position: int) -> None:
        """Add an entry: the batch that ends with `last_offset` starts at `position`."""
        self._append(last_offset - self.base_offset, position)

    def position_before(self, offset: int) -> int:
        """Return a file position at or before the batch that holds `offset`, 0 if no entry precedes
        it."""
        count = self._count_up_to(offset - self.base_offset, 0)
        return self._entry(count - 1)[1] if count else 0

    def boundary_before(self, position: int) -> int:
        """Return the start of some batch, at or before `position`."""
        count = self._count_up_to(position, 1)
        return self._entry(count - 1)[1] if count else 0

    def truncate_to(self, offset: int) -> None:
        """Keep only entries below `offset`."""
        self.keep_entries(self._count_up_to(offset - self.base_offset - 1, 0))

    def problem(self, log_size: int) -> str | None:
        """Return why the file cannot be this segment's index, or None if it can (sanityCheck)."""
        if not self.has_whole_entries:
            return "its size is not a multiple of 8"
        if self._last and (self._last[0] < 0 or not 0 <= self._last[1] < max(log_size, 1)):
            return "its last entry points outside the segment"
        return None
