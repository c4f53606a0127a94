"""The common base of the offset index and the time index: a file of entries of one size, in rising
order.

Source: AbstractIndex.java. Kafka maps a preallocated file into memory and trims it when the
segment closes; here the file only ever grows by whole entries, which leaves the same bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from struct import Struct

from reference_impl.core.storage import Storage


class SparseIndex:
    """Entries `(a, b)`, rising in both. The index of the active segment is kept in memory as
    well.
    """

    def __init__(
        self, storage: Storage, path: str, base_offset: int, form: Struct, max_bytes: int
    ) -> None:
        self.path = path
        self.base_offset = base_offset
        self._form = form
        self._entries_max = max_bytes // form.size
        self._file = storage.open(path, create=True)
        size = self._file.size()
        self.has_whole_entries = size % form.size == 0
        self._count = size // form.size
        self._is_synced = False
        self._memory: bytearray | None = None
        self._last = self._entry(self._count - 1) if self._count else None

    def __len__(self) -> int:
        return self._count

    @property
    def entries_max(self) -> int:
        """The number of entries for which `segment.index.bytes` leaves room."""
        return self._entries_max

    def _entry(self, index: int) -> tuple[int, int]:
        size = self._form.size
        if self._memory is not None:
            first, second = self._form.unpack_from(self._memory, index * size)
        else:
            first, second = self._form.unpack(self._file.read(index * size, size))
        return first, second

    def _append(self, first: int, second: int) -> None:
        packed = self._form.pack(first, second)
        self._file.append(packed)
        self._is_synced = False
        if self._memory is None and self._count == 0:
            self._memory = bytearray()
        if self._memory is not None:
            self._memory += packed
        self._count += 1
        self._last = (first, second)

    def _count_up_to(self, target: int, field: int) -> int:
        """Return how many entries have a value of at most `target` in this field (binary
        search)."""
        if self._last is None or self._last[field] <= target:
            return self._count
        return bisect_right(range(self._count), target, key=lambda n: self._entry(n)[field])

    def keep_in_memory(self) -> None:
        """Read the whole index into memory, for the active segment's many lookups."""
        if self._memory is None:
            self._memory = bytearray(self._file.read(0, self._count * self._form.size))

    def release_memory(self) -> None:
        """Drop the copy in memory; the few lookups in a closed segment read the file."""
        self._memory = None

    def keep_entries(self, count: int) -> None:
        """Drop all entries but the first `count`."""
        self._file.truncate(count * self._form.size)
        self._is_synced = False
        self._count = count
        if self._memory is not None:
            del self._memory[count * self._form.size :]
        self._last = self._entry(count - 1) if count else None
        self.has_whole_entries = True

    def sync(self) -> None:
        """Return when the entries would survive a loss of power."""
        if not self._is_synced:
            self._file.sync()
            self._is_synced = True

    def close(self) -> None:
        """Give the file back."""
        self._file.close()
