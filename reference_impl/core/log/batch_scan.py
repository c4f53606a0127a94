"""Read a `.log` file batch by batch: either headers only, or whole batches with a check of their
CRC."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reference_impl.core.storage import File, StorageError
from reference_impl.wire.batches.batch_header import HEADER_BYTES
from reference_impl.wire.batches.records import BatchHeader, CorruptRecord, check_crc, read_header

# A lookup walks at most one index interval (4 KiB) and one batch.
_HEADERS_BLOCK_BYTES = 8 * 1024
_BATCHES_BLOCK_BYTES = 256 * 1024


class CorruptLog(StorageError):
    """Raised for the files of a log that cannot be used without losing records: their bytes differ
    from those written, or they do not belong together. Most messages say what to do with them."""


def scan_headers(file: File, position: int, end: int) -> Iterator[tuple[BatchHeader, int]]:
    """Yield each batch's header and position, from a batch boundary up to `end`; bodies are
    skipped, so a last batch whose body is cut off is yielded, too. Raise CorruptLog for a malformed
    header."""
    block, start = b"", position
    while position < end:
        if position + HEADER_BYTES > start + len(block):
            start, block = position, file.read(position, min(_HEADERS_BLOCK_BYTES, end - position))
        try:
            header = read_header(block, position - start)
        except CorruptRecord as error:
            raise CorruptLog(file.path, f"corrupt at byte {position}: {error}") from error
        yield header, position
        position += header.size


def check_whole(batch: memoryview) -> None:
    """Raise CorruptRecord unless the batch still matches its CRC."""
    check_crc(batch, 0, len(batch))


CheckBatch = Callable[[memoryview], None]


def scan_batches(
    file: File, position: int, end: int, check: CheckBatch = check_whole
) -> Iterator[tuple[BatchHeader, int, memoryview]]:
    """Yield each whole batch from the batch boundary `position` up to `end`: header, position and
    bytes. Raise CorruptRecord at the first that is torn or altered."""
    window = _Window(file, end)
    while position < end:
        header = read_header(window.at(position, HEADER_BYTES))
        batch = window.at(position, header.size)[: header.size]
        check(batch)
        yield header, position, batch
        position += header.size


class _Window:
    """A part of the file in memory, which is moved forward as the scan needs it."""

    def __init__(self, file: File, end: int) -> None:
        self._file, self._end = file, end
        self._start, self._block = 0, memoryview(b"")

    def at(self, position: int, size: int) -> memoryview:
        """Return the bytes from `position` on, at least `size` of them. Raise CorruptRecord if
        there are fewer."""
        left = self._end - position
        if left < size:
            raise CorruptRecord(f"{left} bytes are too few for a batch of {size}")
        if not self._start <= position <= self._start + len(self._block) - size:
            length = min(max(size, _BATCHES_BLOCK_BYTES), left)
            self._start, self._block = position, memoryview(self._file.read(position, length))
        return self._block[position - self._start :]
