"""Compaction: the newest record of each key stays, at its offset (design#compaction).

Source: LogCleanerManager.java (cleanableOffsets, maxCompactionDelay), LogToClean.java, Cleaner.java
(doClean, buildOffsetMap, groupSegmentsBySize, cleanSegments); KIP-58, KIP-354.

A log consists of a clean section, a dirty one, and an end that is not touched: the active segment,
records at or above the last stable offset, and records younger than `min.compaction.lag.ms`.
Cleaning notes the newest offset of each key in the dirty section, then copies all segments before
its end, without the records that a newer one replaces.

`clean` is a generator: it works in slices of 256 KiB at most and lets the broker do other things
between them. If the log has changed in between, `clean` gives up, and the broker begins again
later.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

from reference_impl.core.log.batch_scan import scan_batches
from reference_impl.core.log.cleaning.batch_filter import (
    BatchFilter,
    CleaningSteps,
    LastOfProducer,
    checked_records,
)
from reference_impl.core.log.cleaning.cleaned_transactions import CleanedTransactions
from reference_impl.core.log.partition_log import PartitionLog
from reference_impl.core.log.segments import segment_swap
from reference_impl.core.log.segments.segment import RELATIVE_OFFSET_MAX, Segment
from reference_impl.core.storage import Buffer, Storage
from reference_impl.wire.batches.records import BatchHeader, RecordBatch, read_header

SLICE_BYTES = 1 << 18
BYTES_PER_KEY = 256
"""The approximate memory for a key (log.cleaner.dedupe.buffer.size); Kafka needs 24, for a hash and
an offset. If more keys are dirty than fit, the log is cleaned up to the last that fits, and the
rest in another round."""
KEYS_BYTES_MAX = 128 * 1024 * 1024


class Interrupted(Exception):
    """The log no longer has the segments that are being cleaned."""


@dataclass(frozen=True)
class Cleanable:
    """The part of a log that may be cleaned now."""

    log: PartitionLog
    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    is_overdue: bool
    """Whether the oldest dirty record is older than `max.compaction.lag.ms`."""

    @property
    def ratio(self) -> float:
        """The dirty bytes as a share of all bytes that cleaning would read, between 0 and 1."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    @property
    def is_due(self) -> bool:
        """Return whether the log should be cleaned now: the dirty share is large enough, or dirty
        records have waited for too long."""
        if self.is_overdue and self.cleanable_bytes > 0:
            return True
        return self.ratio > self.log.config.min_cleanable_dirty_ratio


def cleanable(log: PartitionLog, cleaned_to: int, now_ms: int, steps: CleaningSteps) -> Cleanable:
    """Return the part of a log that may be cleaned. cleaned_to: the offset up to which it was
    cleaned before."""
    start, active = log.log_start_offset, log.segments.active.base_offset
    first_dirty = cleaned_to if start <= cleaned_to <= active else start
    dirty = [each for each in log.segments.from_offset(first_dirty) if each.base_offset < active]
    limits = [steps.cleanable_end(log), active]
    lag_ms = log.config.min_compaction_lag_ms
    if lag_ms > 0:
        limits += [each.base_offset for each in dirty if each.newest[0] > now_ms - lag_ms][:1]
    uncleanable = min(limits)
    # Whole segments only: the one that holds the limit is left for later.
    ends = [segment.base_offset for segment in log.segments if segment.base_offset <= uncleanable]
    end = ends[-1] if ends else first_dirty
    cleanable_bytes = sum(s.size for s in dirty if s.base_offset < end)
    clean_bytes = sum(s.size for s in log.segments if s.base_offset < first_dirty)
    times = [each.first_timestamp for each in dirty]
    oldest = min((time for time in times if time > 0), default=now_ms)
    longest_ms = max(log.config.max_compaction_lag_ms, lag_ms)
    overdue = oldest < now_ms - longest_ms
    return Cleanable(log, first_dirty, max(end, first_dirty), clean_bytes, cleanable_bytes, overdue)


def clean(
    storage: Storage,
    todo: Cleanable,
    now_ms: int,
    steps: CleaningSteps,
    keys_max: int = KEYS_BYTES_MAX // BYTES_PER_KEY,
) -> Iterator[int | None]:
    """Clean one log in slices. Yield None after each slice, and finally the offset up to which the
    log is clean. Raise Interrupted if the log is closed, or loses a segment that is being cleaned,
    between two slices."""
    log = todo.log
    newest, end = yield from _newest_offsets(todo, keys_max, steps)
    transactions = CleanedTransactions(log.aborted_transactions(0, end))
    producers = {
        entry.producer_id: LastOfProducer.of(entry) for entry in log.producer_state.entries()
    }
    judge = BatchFilter(
        newest, end, transactions, producers, now_ms, log.config.delete_retention_ms, steps
    )
    for group in grouped([s for s in log.segments.closed if s.base_offset < end], log):
        yield from _clean_group(storage, log, group, judge, now_ms)
        yield None
    yield end


def _newest_offsets(
    todo: Cleanable, keys_max: int, steps: CleaningSteps
) -> Generator[None, None, tuple[dict[bytes, int], int]]:
    """Return the newest offset of each key in the dirty section, and the offset up to which the
    section was read: its end, or less if it holds more than `keys_max` keys. Yield between pieces
    of work."""
    log, newest, end = todo.log, dict[bytes, int](), todo.first_dirty_offset
    limit = todo.first_uncleanable_offset
    transactions = CleanedTransactions(log.aborted_transactions(end, limit))
    seen_bytes = 0
    segments = [s for s in log.segments.from_offset(end) if s.base_offset < limit]
    for segment in segments:
        _check_still_there(log, [segment])
        for header, _, data in scan_batches(segment.log, 0, segment.size):
            if header.last_offset < todo.first_dirty_offset:
                continue
            for _ in _note_keys(header, data, todo.first_dirty_offset, transactions, newest, steps):
                yield
                _check_still_there(log, [segment])
            end = header.last_offset + 1
            seen_bytes += header.size
            if len(newest) >= keys_max:
                return newest, end
            if seen_bytes >= SLICE_BYTES:
                seen_bytes = 0
                yield
                _check_still_there(log, [segment])
    return newest, limit


def _note_keys(
    header: BatchHeader,
    data: Buffer,
    from_offset: int,
    transactions: CleanedTransactions,
    newest: dict[bytes, int],
    steps: CleaningSteps,
) -> Iterator[None]:
    """Note the newest offset of each key in a batch. Leave out aborted records and markers, which
    replace nothing. Yield between steps of work."""
    if header.is_control:
        transactions.is_useless_marker(header, RecordBatch.decode(data)[0])
    elif steps.replaces_older(header, transactions):
        for record in checked_records(data):
            if record is None:
                yield
            elif record.key is not None:
                offset = header.base_offset + record.offset_delta
                if offset >= from_offset:
                    newest[record.key] = offset


def grouped(segments: list[Segment], log: PartitionLog) -> list[list[Segment]]:
    """Return the segments in groups of neighbours that together fit into one segment, so that
    cleaning leaves no tiny ones."""
    groups: list[list[Segment]] = []
    size = index_bytes = 0
    for segment in segments:
        entries = len(segment.offset_index) * 8 + len(segment.time_index) * 12
        fits = (
            groups
            and size + segment.size <= log.config.segment_size_max_bytes
            and index_bytes + entries <= log.config.segment_index_bytes
            and _end_of(segment, log) - groups[-1][0].base_offset <= RELATIVE_OFFSET_MAX
        )
        if fits:
            groups[-1].append(segment)
            size, index_bytes = size + segment.size, index_bytes + entries
        else:
            groups.append([segment])
            size, index_bytes = segment.size, entries
    return groups


def _end_of(segment: Segment, log: PartitionLog) -> int:
    later = [base for base in log.segment_base_offsets if base > segment.base_offset]
    return later[0] if later else log.log_end_offset


def _clean_group(
    storage: Storage, log: PartitionLog, group: list[Segment], judge: BatchFilter, now_ms: int
) -> Iterator[int | None]:
    """Copy the records to keep from some segments into one new segment, and replace the old
    segments by it. Yield None after each slice."""
    base_offset = group[0].base_offset
    segment_swap.discard(storage, log.directory, base_offset)
    cleaned = Segment(
        storage, log.directory, base_offset, log.config, now_ms, mark=segment_swap.CLEANED
    )
    judge.transactions.still_there.clear()
    try:
        for segment in group:
            _check_still_there(log, group)
            for _ in _copied(segment, cleaned, judge):
                yield None
                _check_still_there(log, group)
        for aborted in judge.transactions.still_there:
            cleaned.transaction_index.append(aborted)
        cleaned.become_inactive()
        cleaned.sync()
    except BaseException:  # also where nobody asks for the next slice
        cleaned.close()
        segment_swap.discard(storage, log.directory, base_offset)
        raise
    cleaned.close()
    log.replace_segments(group, base_offset)


def _copied(segment: Segment, cleaned: Segment, judge: BatchFilter) -> Iterator[None]:
    kept, placed, read_bytes = bytearray(), list[BatchHeader](), 0
    for header, _, data in scan_batches(segment.log, 0, segment.size):
        left = yield from judge.kept(header, data)
        if left is not None:
            placed.append(read_header(left))
            kept += left
        read_bytes += header.size
        if read_bytes >= SLICE_BYTES:
            if placed:
                cleaned.append(kept, placed)
            kept, placed, read_bytes = bytearray(), [], 0
            yield
    if placed:
        cleaned.append(kept, placed)


def _check_still_there(log: PartitionLog, segments: list[Segment]) -> None:
    """Raise Interrupted if retention, DeleteRecords, a truncation or the deletion of the topic came
    between two slices."""
    there = list(log.segments)
    if log.is_closed or not all(any(s is each for each in there) for s in segments):
        raise Interrupted
