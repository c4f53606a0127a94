"""The common base of the offset index and the time index: a file of entries of one size, in rising
order.

Source: AbstractIndex.java. Kafka maps a preallocated file into memory and trims it when the
segment closes; here the file only ever grows by whole entries, which leaves the same bytes.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from struct import Struct

from reference_impl.core.storage import Storage


class SparseIndex:
    """A file of entries `(a, b)`, rising in both numbers. The index of the active segment is kept
    in memory as well.
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
        self._columns: tuple[array[int], array[int]] | None = None
        """The first numbers of all entries, and the second numbers, if the index is kept in
        memory."""
        self._last = self._entry(self._count - 1) if self._count else None

    def __len__(self) -> int:
        return self._count

    def _entry(self, index: int) -> tuple[int, int]:
        if self._columns is not None:
            return self._columns[0][index], self._columns[1][index]
        size = self._form.size
        first, second = self._form.unpack(self._file.read(index * size, size))
        return first, second

    def _append(self, first: int, second: int) -> None:
        packed = self._form.pack(first, second)
        self._file.append(packed)
        self._is_synced = False
        if self._columns is None and self._count == 0:
            self._columns = array("q"), array("q")
        if self._columns is not None:
            self._columns[0].append(first)
            self._columns[1].append(second)
        self._count += 1
        self._last = (first, second)

    def _count_up_to(self, target: int, field: int) -> int:
        """Return the number of entries with a value of at most `target` in this field (binary
        search)."""
        if self._last is None or self._last[field] <= target:
            return self._count
        if self._columns is not None:
            return bisect_right(self._columns[field], target)
        return bisect_right(range(self._count), target, key=lambda n: self._entry(n)[field])

    def keep_in_memory(self) -> None:
        """Read the whole index into memory, for the active segment's many lookups."""
        if self._columns is None:
            firsts, seconds = self._columns = array("q"), array("q")
            size = self._count * self._form.size
            for first, second in self._form.iter_unpack(self._file.read(0, size)):
                firsts.append(first)
                seconds.append(second)

    def release_memory(self) -> None:
        """Drop the copy in memory; the few lookups in a closed segment read the file."""
        self._columns = None

    def keep_entries(self, count: int) -> None:
        """Drop all entries but the first `count`."""
        self._file.truncate(count * self._form.size)
        self._is_synced = False
        self._count = count
        if self._columns is not None:
            del self._columns[0][count:], self._columns[1][count:]
        self._last = self._entry(count - 1) if count else None
        self.has_whole_entries = True

    def sync(self) -> None:
        """Make the entries survive a loss of power."""
        if not self._is_synced:
            self._file.sync()
            self._is_synced = True

    def close(self) -> None:
        """Close the file."""
        self._file.close()
