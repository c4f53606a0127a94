"""Segments that were removed from the log, and whose files are deleted after a delay.

Source: LocalLog.deleteSegmentFiles; topic config file.delete.delay.ms. The files are renamed to
`.deleted` at once and stay open, so that readers in progress get their bytes. The next start
deletes those that a crash has left behind (recovery/recovery.py).
"""

from __future__ import annotations

from collections import deque

from reference_impl.core.log.segments.segment import Segment

DELETED_AT_ONCE = 50
"""The most segments whose files are deleted in one step: a topic with segment.ms=1 may have
thousands."""


class RetiredSegments:
    """The removed segments, in the order of removal. The delay counts from the next round of
    housekeeping."""

    def __init__(self) -> None:
        self._new: list[Segment] = []
        self._waiting: deque[tuple[int, Segment]] = deque()

    def add(self, segment: Segment, delay_ms: int) -> None:
        """Rename a segment's files so that no start takes them for a part of the log. If the delay
        is 0, delete them."""
        if delay_ms == 0:
            segment.delete()
            return
        segment.retire()
        self._new.append(segment)

    def delete_due(self, now_ms: int, delay_ms: int) -> int | None:
        """Delete the files that are due, of DELETED_AT_ONCE segments at most. Return the time in
        milliseconds when the next ones are or were due, or None. Raise StorageError; the next start
        deletes the files that could not be deleted."""
        self._waiting.extend((now_ms + delay_ms, segment) for segment in self._new)
        self._new.clear()
        for _ in range(DELETED_AT_ONCE):
            if not self._waiting or self._waiting[0][0] > now_ms:
                break
            self._waiting.popleft()[1].delete()
        return self._waiting[0][0] if self._waiting else None

    def close(self) -> None:
        """Close the files; the next start deletes them."""
        for segment in [*self._new, *(segment for _, segment in self._waiting)]:
            segment.close()
