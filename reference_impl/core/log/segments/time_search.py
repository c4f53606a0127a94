"""Find a record by its timestamp, in steps (ListOffsets; KIP-79).

Source: FileRecords.java (searchForTimestamp). A batch may hold millions of records, so other
requests have their turn while it is read. Meanwhile the log may change: only the batch in memory is
used after a step, and the next batch is looked for in the log as it is then.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple, Protocol

from reference_impl.core.log.batch_scan import CorruptLog, check_whole
from reference_impl.wire.batches.records import BatchHeader, CorruptRecord, stream_records


class TimestampOffset(NamedTuple):
    """A record found by its timestamp. `leader_epoch` is -1 if the batch has none."""

    timestamp: int
    offset: int
    leader_epoch: int


Search = Generator[None, None, TimestampOffset | None]
"""A search that yields after each step of work, and returns the record, or None."""


class BatchOnDisk(NamedTuple):
    """A whole batch in memory, and the place that it was read from."""

    header: BatchHeader
    data: bytes
    path: str
    position: int


class HasBatches(Protocol):
    """A segment, or the segments of a log."""

    def batch_at_time(self, timestamp: int, from_offset: int) -> BatchOnDisk | None:
        """Return the first batch with records at or after `from_offset` whose header says that one
        of its records is not older than the timestamp, or None."""


def search(batches: HasBatches, timestamp: int, from_offset: int) -> Search:
    """Return the first record at or after `from_offset` that is not older than the timestamp, or
    None. Raise CorruptLog at a damaged batch."""
    while (batch := batches.batch_at_time(timestamp, from_offset)) is not None:
        found = yield from _search_batch(batch, timestamp, from_offset)
        if found is not None:
            return found
        from_offset = batch.header.last_offset + 1
    return None


def _search_batch(batch: BatchOnDisk, timestamp: int, from_offset: int) -> Search:
    header = batch.header
    try:
        check_whole(memoryview(batch.data))
        for record in stream_records(batch.data):
            if record is None:
                yield
                continue
            offset = header.base_offset + record.offset_delta
            found = header.base_timestamp + record.timestamp_delta
            if header.is_log_append_time:
                found = header.max_timestamp
            if found >= timestamp and offset >= from_offset:
                return TimestampOffset(found, offset, header.partition_leader_epoch)
    except CorruptRecord as error:
        raise CorruptLog(batch.path, f"corrupt at byte {batch.position}: {error}") from error
    return None
