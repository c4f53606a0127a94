"""The log of one partition as its readers see it: its offsets, and the batches between them.

Source: UnifiedLog.java (read, fetchOffsetByTimestamp, collectAbortedTransactions); design#log.
`PartitionLog` adds the changes.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.log.leader_epochs import LeaderEpochs
from reference_impl.core.log.producers.state import ProducerStateManager
from reference_impl.core.log.results import OffsetOutOfRange, ReadResult
from reference_impl.core.log.segments.segment import Slice
from reference_impl.core.log.segments.segments import Segments
from reference_impl.core.log.segments.time_search import Search, search
from reference_impl.core.log.segments.transaction_index import AbortedTransaction

_NOTHING = ReadResult(b"", -1)


class ReadableLog:
    """The log of a partition without the methods that change it. `high_watermark` is moved by
    replication, never by an append."""

    def __init__(
        self,
        segments: Segments,
        leader_epochs: LeaderEpochs,
        log_start_offset: int,
        log_end_offset: int,
    ) -> None:
        self.leader_epochs = leader_epochs
        self.producer_state = ProducerStateManager()
        self._segments = segments
        self._log_end_offset = log_end_offset
        self._log_start_offset = log_start_offset
        self._high_watermark = log_start_offset

    # -- offsets -------------------------------------------------------------------------------

    @property
    def log_start_offset(self) -> int:
        """The first offset that may be read."""
        return self._log_start_offset

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record will get."""
        return self._log_end_offset

    @property
    def high_watermark(self) -> int:
        """The offset up to which (exclusive) every in-sync replica has the log; consumers see no
        further (KIP-207). A value outside the log is set to the log's nearest offset."""
        return self._high_watermark

    @high_watermark.setter
    def high_watermark(self, offset: int) -> None:
        if not self._log_start_offset <= offset <= self._log_end_offset:
            offset = min(max(offset, self._log_start_offset), self._log_end_offset)
        self._high_watermark = offset
        self.producer_state.on_high_watermark(offset)

    @property
    def last_stable_offset(self) -> int:
        """The offset up to which (exclusive) every transaction is decided; read_committed sees no
        further (KIP-98)."""
        unstable = self.producer_state.first_unstable_offset
        return self._high_watermark if unstable is None else min(unstable, self._high_watermark)

    @property
    def latest_epoch(self) -> int | None:
        """The newest leader epoch that wrote to this log, or None."""
        return self.leader_epochs.latest

    @property
    def size_bytes(self) -> int:
        """Bytes of all `.log` files (DescribeLogDirs)."""
        return self._segments.size_bytes

    @property
    def segments(self) -> Segments:
        """The segments, for code that deletes or cleans old ones (retention.py, cleaning/)."""
        return self._segments

    @property
    def segment_base_offsets(self) -> list[int]:
        """The base offset of each segment."""
        return self._segments.base_offsets

    # -- reading -------------------------------------------------------------------------------

    def locate(
        self,
        offset: int,
        max_bytes: int,
        limit_offset: int | None = None,
        *,
        at_least_one: bool = True,
    ) -> Slice | None:
        """Return the slice of one segment with the batches from `offset` on and below the limit, or
        None if there are none.

        `limit_offset` is the high watermark or the last stable offset. With `at_least_one` the
        first batch is returned whole even if it is larger than `max_bytes` (KIP-74); without it,
        the result is then None. Raise
        OffsetOutOfRange if the offset is below the log start or above the log end.
        """
        if not self._log_start_offset <= offset <= self._log_end_offset:
            raise OffsetOutOfRange(offset, self._log_start_offset, self._log_end_offset)
        limit = self._log_end_offset if limit_offset is None else limit_offset
        if offset >= limit:
            return None
        in_file = limit if limit < self._log_end_offset else None
        return self._segments.locate(offset, max_bytes, in_file, at_least_one)

    def read(
        self,
        offset: int,
        max_bytes: int,
        limit_offset: int | None = None,
        *,
        at_least_one: bool = True,
    ) -> ReadResult:
        """Read the bytes that `locate` finds. Return an empty result if it finds none."""
        found = self.locate(offset, max_bytes, limit_offset, at_least_one=at_least_one)
        return _NOTHING if found is None else ReadResult(found.read(), found.first_offset)

    def batches(self, from_offset: int = 0) -> Iterator[memoryview]:
        """Yield every batch from the one with this offset on, its CRC checked, for replaying a
        log. Raise CorruptLog at an altered one."""
        return self._segments.batches(max(from_offset, self._log_start_offset))

    def offset_for_timestamp(self, timestamp: int) -> Search:
        """Return, in steps, the first record whose timestamp is at or after the given one, or None
        (ListOffsets; KIP-79)."""
        return search(self._segments, timestamp, self._log_start_offset)

    def offset_of_max_timestamp(self) -> Search:
        """Return, in steps, the first record with the largest timestamp, or None if there is no
        record (ListOffsets, timestamp -3; KIP-734)."""
        newest = self._segments.max_timestamp
        return None if newest < 0 else (yield from self.offset_for_timestamp(newest))

    def aborted_transactions(self, from_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """Return the aborted transactions that may have records in this range (KIP-98)."""
        return self._segments.aborted_between(from_offset, end_offset)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the largest known epoch not above this one and its end offset, or (-1, -1) if this
        one is negative or newer than all, or none is known (KIP-279)."""
        return self.leader_epochs.end_offset_for(epoch, self._log_end_offset)
