"""One segment: a `.log` file of batches with its offset index, time index and transaction index.

Source: LogSegment.java; design#log. The files are named by the segment's base offset in
20 digits. Only the last segment of a partition is appended to; when it is full, old or its
index is full, it is closed and the next one begins.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

from reference_impl.core.log.batch_scan import scan_headers
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.segments.offset_index import OffsetIndex
from reference_impl.core.log.segments.time_index import TimeIndex
from reference_impl.core.log.segments.time_search import BatchOnDisk
from reference_impl.core.log.segments.transaction_index import (
    TRANSACTION_INDEX_SUFFIX,
    TransactionIndex,
)
from reference_impl.core.storage import Buffer, File, Storage, StorageError
from reference_impl.wire.batches.batch_header import HEADER_BYTES
from reference_impl.wire.batches.records import (
    NO_TIMESTAMP,
    BatchHeader,
    CorruptRecord,
    read_header,
)

LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX = ".log", ".index", ".timeindex"
INDEX_SUFFIXES = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)
DELETED_SUFFIX = ".deleted"
"""The suffix of files that are no longer part of the log, and will be deleted soon."""
_TAIL_BATCHES_MAX = 1024
RELATIVE_OFFSET_MAX = 2**31 - 1
"""The largest offset relative to the base offset, and the largest file position, that an index
entry can hold (int32)."""


def segment_path(directory: str, base_offset: int, suffix: str) -> str:
    """Return Kafka's name for a segment's file (LogFileUtils.filenamePrefixFromOffset)."""
    return f"{directory}/{base_offset:020d}{suffix}"


@dataclass(slots=True)
class Slice:
    """The place of whole batches in a segment's file. A host may send them from the file itself."""

    file: File
    position: int
    size: int
    first_offset: int

    def __len__(self) -> int:
        return self.size

    def read(self) -> bytes:
        """Read the bytes of the batches."""
        return self.file.read(self.position, self.size)


class BrokenSegment(StorageError):
    """An append failed half-way and could not be undone: only a restart, with recovery, mends
    it.
    """


class Segment:
    """The batches from `base_offset` up to the base offset of the next segment."""

    def __init__(
        self,
        storage: Storage,
        directory: str,
        base_offset: int,
        config: LogConfig,
        now_ms: int,
        *,
        mark: str = "",
    ) -> None:
        """Open a segment. `mark` follows the names of files that are not part of the log yet."""
        self.base_offset = base_offset
        self.created_ms = now_ms
        self._storage = storage
        self._directory = directory
        self._mark = mark
        path = segment_path(directory, base_offset, LOG_SUFFIX + mark)
        self.log = storage.open(path, create=True)
        index_path = segment_path(directory, base_offset, INDEX_SUFFIX + mark)
        time_index_path = segment_path(directory, base_offset, TIME_INDEX_SUFFIX + mark)
        self.has_both_indexes = storage.exists(index_path) and storage.exists(time_index_path)
        bytes_max = config.segment_index_bytes
        self.offset_index = OffsetIndex(storage, index_path, base_offset, bytes_max)
        self.time_index = TimeIndex(storage, time_index_path, base_offset, bytes_max)
        self.transaction_index = TransactionIndex(
            storage,
            segment_path(directory, base_offset, TRANSACTION_INDEX_SUFFIX + mark),
            base_offset,
        )
        self._index_interval_bytes = config.index_interval_bytes
        self._bytes_since_index_entry = 0
        self._first_timestamp: int | None = None
        self._newest: tuple[int, int] | None = None
        # Last offsets and positions of the batches since the last index entry: readers at the tail
        # find theirs here without walking.
        self._tail_offsets: list[int] = []
        self._tail_positions: list[int] = []

    @property
    def size(self) -> int:
        """Bytes of the `.log` file."""
        return self.log.size()

    # -- writing -------------------------------------------------------------------------------

    def should_roll(
        self, batch: BatchHeader, last_offset: int, config: LogConfig, now_ms: int
    ) -> bool:
        """Return whether a new segment must begin before this batch is appended
        (LogSegment.shouldRoll)."""
        size = self.log.size()
        if size == 0:
            return False
        if size + batch.size > config.segment_size_max_bytes:
            return True
        if last_offset - self.base_offset > RELATIVE_OFFSET_MAX:
            return True
        if self.offset_index.is_full or self.time_index.is_full:
            return True
        # The age of a segment counts from its records' timestamps, if they have any (KIP-33).
        first = self.first_timestamp
        waited_ms = batch.max_timestamp - first if first >= 0 else now_ms - self.created_ms
        limit_ms = config.segment_max_ms
        if config.segment_jitter_ms:
            limit_ms -= self._jitter_ms(config)
        return waited_ms > limit_ms

    def _jitter_ms(self, config: LogConfig) -> int:
        """Return by how many milliseconds to roll earlier, so that not all partitions of a topic
        roll at once.

        Kafka draws this time at random. The core has no randomness, and a number derived from the
        file's name spreads them as well.
        """
        return crc32(self.log.path.encode()) % min(config.segment_jitter_ms, config.segment_max_ms)

    @property
    def first_timestamp(self) -> int:
        """Return the largest timestamp of the segment's first batch, -1 if there is none."""
        if self._first_timestamp is None:
            for header, _ in scan_headers(self.log, 0, self.log.size()):
                self._first_timestamp = header.max_timestamp
                break
        return NO_TIMESTAMP if self._first_timestamp is None else self._first_timestamp

    def append(self, data: Buffer, batches: Sequence[BatchHeader]) -> None:
        """Write batches that have these headers. On an error leave the segment as it was; raise
        BrokenSegment if that fails, too."""
        size_before = position = self.log.size()
        if self._newest is None:
            self._newest = self._find_newest()
        self.log.append(data)
        try:
            for batch in batches:
                self._index(batch, position)
                position += batch.size
        except StorageError as error:
            try:
                self._cut(batches[0].base_offset, size_before)
            except StorageError as worse:
                raise BrokenSegment(worse.path, worse.cause) from error
            raise

    def _index(self, batch: BatchHeader, position: int) -> None:
        """Note a batch at `position`, and add an index entry after every `index.interval.bytes`."""
        last_offset = batch.last_offset
        if position == 0:
            self._first_timestamp = batch.max_timestamp
        if self._newest is None or batch.max_timestamp > self._newest[0]:
            self._newest = (batch.max_timestamp, last_offset)
        if self._bytes_since_index_entry > self._index_interval_bytes:
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(*self.newest)
            self._bytes_since_index_entry = 0
            self._forget_tail()
        elif len(self._tail_offsets) == _TAIL_BATCHES_MAX:
            self._forget_tail()
        self._bytes_since_index_entry += batch.size
        self._tail_offsets.append(last_offset)
        self._tail_positions.append(position)

    def _forget_tail(self) -> None:
        self._tail_offsets.clear()
        self._tail_positions.clear()

    def truncate_to(self, offset: int) -> None:
        """Remove the batch that holds `offset`, and all after it, with their index entries."""
        found = self.find_batch(offset)
        self._cut(offset, self.log.size() if found is None else found[1])

    def _cut(self, offset: int, size: int) -> None:
        self.log.truncate(size)
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.transaction_index.truncate_to(offset)
        self._bytes_since_index_entry = 0
        self._newest = None
        self._forget_tail()
        if size == 0:
            self._first_timestamp = None

    def become_inactive(self) -> None:
        """Add the last entry, with the segment's largest timestamp, to the time index, and drop
        what is kept in memory for the active segment (LogSegment.onBecomeInactiveSegment)."""
        self.time_index.maybe_append(*self.newest)
        self.offset_index.release_memory()
        self.time_index.release_memory()
        self._forget_tail()

    def become_active(self) -> None:
        """Keep the indexes in memory, since appends and most lookups go to the active segment."""
        self.offset_index.keep_in_memory()
        self.time_index.keep_in_memory()

    def sync(self) -> None:
        """Make all files of the segment survive a loss of power."""
        self.log.sync()
        self.offset_index.sync()
        self.time_index.sync()
        self.transaction_index.sync()

    def close(self) -> None:
        """Close the files."""
        self.log.close()
        self.offset_index.close()
        self.time_index.close()
        self.transaction_index.close()

    def delete(self) -> None:
        """Remove the files: the indexes first, the `.log` last."""
        self.close()
        for path in self._paths():
            self._storage.delete(path)

    def retire(self) -> None:
        """Rename the files so that no start takes them for a part of the log, and keep them
        open."""
        for path in self._paths():
            if self._storage.exists(path):
                self._storage.rename(path, path + DELETED_SUFFIX)
        self._mark += DELETED_SUFFIX

    def _paths(self) -> list[str]:
        suffixes = (*INDEX_SUFFIXES, LOG_SUFFIX)
        return [segment_path(self._directory, self.base_offset, s + self._mark) for s in suffixes]

    # -- looking up ----------------------------------------------------------------------------

    def find_batch(self, offset: int) -> tuple[BatchHeader, int] | None:
        """Return the first batch that ends at or after `offset` with its position, or None."""
        tail = bisect_left(self._tail_offsets, offset)
        if tail > 0:  # the batch before it is known to end below `offset`
            if tail == len(self._tail_offsets):
                return None
            start = self._tail_positions[tail]
        else:
            start = self.offset_index.position_before(offset)
        for header, position in scan_headers(self.log, start, self.log.size()):
            if header.last_offset >= offset:
                return header, position
        return None

    def locate(
        self, offset: int, max_bytes: int, limit_offset: int | None, at_least_one: bool
    ) -> Slice | None:
        """Return the slice of whole batches from `offset` on, within `max_bytes` and below the
        limit, or None if this segment holds none. If the first batch is larger than `max_bytes`,
        return it alone with `at_least_one`, else an empty slice."""
        found = self.find_batch(offset)
        if found is None:
            return None
        header, start = found
        end = self.log.size()
        if limit_offset is not None and (limit := self.find_batch(limit_offset)) is not None:
            end = limit[1]
        if start >= end:
            return None
        if header.size > max_bytes:  # the first batch alone, or nothing
            end = min(end, start + header.size) if at_least_one else start
        elif start + max_bytes < end:
            end = self._boundary_at_or_before(start + max_bytes, start)
        return Slice(self.log, start, end - start, header.base_offset)

    def _boundary_at_or_before(self, position: int, start: int) -> int:
        """Return the last batch boundary at or before `position`, given that a batch starts at
        `start`."""
        boundary = max(start, self.offset_index.boundary_before(position))
        for header, at in scan_headers(self.log, boundary, self.log.size()):
            if at + header.size > position:
                break
            boundary = at + header.size
        return boundary

    def read_next_offset(self) -> int:
        """Return the offset after the last batch, or the segment's base offset if it has none
        (LogSegment.readNextOffset)."""
        next_offset = self.base_offset
        start = self.offset_index.last_position
        for header, _ in scan_headers(self.log, start, self.log.size()):
            next_offset = header.last_offset + 1
        return next_offset

    # -- time ----------------------------------------------------------------------------------

    @property
    def newest(self) -> tuple[int, int]:
        """Return the largest timestamp and the last offset of the first batch that has it, or (-1,
        base)."""
        if self._newest is None:
            self._newest = self._find_newest()
        return self._newest

    def _find_newest(self) -> tuple[int, int]:
        newest = (self.time_index.last_timestamp, self.time_index.last_offset)
        start = self.offset_index.position_before(newest[1])
        for header, _ in scan_headers(self.log, start, self.log.size()):
            if header.max_timestamp > newest[0]:
                newest = (header.max_timestamp, header.last_offset)
        return newest

    def batch_at_time(self, timestamp: int, from_offset: int) -> BatchOnDisk | None:
        """Return the first batch with records at or after `from_offset` whose header says that one
        of its records is not older than the timestamp, or None."""
        look_from = max(self.time_index.offset_before(timestamp), from_offset)
        start = self.offset_index.position_before(look_from)
        for header, position in scan_headers(self.log, start, self.log.size()):
            if header.max_timestamp >= timestamp and header.last_offset >= from_offset:
                data = self.log.read(position, header.size)
                return BatchOnDisk(header, data, self.log.path, position)
        return None

    # -- recovery ------------------------------------------------------------------------------

    def index_problem(self) -> str | None:
        """Return why the indexes cannot be used as they are, or None."""
        if not self.has_both_indexes:
            return "an index is missing"
        return (
            self.offset_index.problem(self.log.size())
            or self.time_index.problem()
            or self._problem_of_last_entry()
        )

    def _problem_of_last_entry(self) -> str | None:
        """Return why the offset index is wrong if its last entry points between batches or names a
        wrong offset, else None."""
        if not len(self.offset_index):
            return None
        offset, position = self.offset_index.last_offset, self.offset_index.last_position
        try:
            header = read_header(self.log.read(position, min(HEADER_BYTES, self.size - position)))
        except CorruptRecord:
            return f"its last entry points to byte {position}, where no batch begins"
        if not self.base_offset <= header.base_offset <= offset:
            return f"its last entry says {offset} of a batch from offset {header.base_offset} on"
        return None

    def reset_indexes(self) -> None:
        """Empty both indexes, so that `reindex` may fill them again."""
        self.offset_index.keep_entries(0)
        self.time_index.keep_entries(0)
        self._newest = (NO_TIMESTAMP, self.base_offset)
        self._first_timestamp = None
        self._bytes_since_index_entry = 0
        self._forget_tail()
        self.has_both_indexes = True

    def reindex(self, batch: BatchHeader, position: int) -> None:
        """Index a batch that is in the file already."""
        self._index(batch, position)
