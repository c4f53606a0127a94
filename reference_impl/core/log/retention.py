"""Delete old segments: those older than `retention.ms`, and those beyond `retention.bytes`.

Source: UnifiedLog.java (deleteOldSegments and what it calls). Only whole segments go, the oldest
first, and only below the high watermark: records that are not committed yet are never deleted. A
segment is deleted as soon as one of the two limits is reached. If all segments are too old, even
the active one is deleted, after a new one has begun at the log end, so that offsets continue.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from reference_impl.core.log.partition_log import PartitionLog
from reference_impl.core.log.segments.segment import Segment


class Limits(Protocol):
    """The decisions on when a segment is deleted: `core/rules/deleting.py`, where each has its
    source."""

    def last_written_ms(self, segment: Segment) -> int: ...

    def has_expired(self, age_ms: int, retention_ms: int) -> bool: ...

    def exceeds_size(self, size_bytes: int, segment_bytes: int, retention_bytes: int) -> bool: ...


def delete_old_segments(log: PartitionLog, now_ms: int, limits: Limits) -> int:
    """Delete the segments that exceed the retention limits; in a log that is only compacted, those
    wholly below the log start. Return how many were deleted, at most RETIRED_AT_ONCE for each
    limit: `PartitionLog.retire_more` removes the others."""
    before = len(log.segment_base_offsets)
    if log.config.is_deleted:
        _delete_oldest(log, _too_old(log, now_ms, limits))
        _delete_oldest(log, _too_many_bytes(log, limits))
    elif len(log.segment_base_offsets) > 1:
        log.retire_segments_below(log.log_start_offset)
    return max(0, before - len(log.segment_base_offsets))


def _too_old(log: PartitionLog, now_ms: int, limits: Limits) -> Callable[[Segment], bool]:
    retention_ms = log.config.retention_ms

    def decide(segment: Segment) -> bool:
        return limits.has_expired(now_ms - limits.last_written_ms(segment), retention_ms)

    return decide if retention_ms >= 0 else lambda segment: False


def _too_many_bytes(log: PartitionLog, limits: Limits) -> Callable[[Segment], bool]:
    left, retention_bytes = log.size_bytes, log.config.retention_bytes

    def decide(segment: Segment) -> bool:
        nonlocal left
        goes = limits.exceeds_size(left, segment.size, retention_bytes)
        left -= segment.size
        return goes

    return decide if retention_bytes >= 0 else lambda segment: False


def _delete_oldest(log: PartitionLog, may_go: Callable[[Segment], bool]) -> None:
    """Delete segments below the high watermark, the oldest first, up to the first that `may_go`
    denies, and at most RETIRED_AT_ONCE. Begin a new segment first if the active one goes."""
    segments = list(log.segments)
    ends = [segment.base_offset for segment in segments[1:]] + [log.log_end_offset]
    keep_from = None
    for segment, end in zip(segments, ends, strict=True):
        is_empty_active = segment is segments[-1] and segment.size == 0
        if end > log.high_watermark or is_empty_active or not may_go(segment):
            break
        keep_from = end
    if keep_from is None:
        return
    if keep_from == log.log_end_offset and segments[-1].size > 0:
        log.roll()
    if keep_from > log.log_start_offset:
        log.delete_records_before(keep_from)
    else:  # DeleteRecords has moved the log start there or beyond
        log.retire_segments_below(keep_from)
