"""The log of one partition: what produce appends to and what fetch reads from.

Source: UnifiedLog.java, LocalLog.java; design#log. A list of segments in one directory; the
last one is written to. This class keeps the offsets that matter (log start, log end, high
watermark, last stable, recovery point) and sees to it that files, leader epochs and producer
state change together.

Whether a batch may be appended is decided before, by the broker's rules; here it is a fact. An
append is acknowledged once the operating system has it: it survives `kill -9`, and a loss of
power only after a flush.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence

from reference_impl.core.log import segment_swap
from reference_impl.core.log.batch_scan import CorruptLog
from reference_impl.core.log.checkpoints import TopicPartition, read_topic_id, write_topic_id
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.producer_snapshot import Snapshots
from reference_impl.core.log.producer_state import CompletedTransaction, ProducerStateManager
from reference_impl.core.log.recovery import Loaded, Opening, load
from reference_impl.core.log.results import AppendResult, OffsetOutOfRange, ReadResult
from reference_impl.core.log.segment import (
    Appended,
    BrokenSegment,
    Segment,
    Slice,
    TimestampOffset,
)
from reference_impl.core.log.segments import Segments
from reference_impl.core.log.transaction_index import AbortedTransaction
from reference_impl.core.storage import Buffer, Storage, StorageError
from reference_impl.wire.records import (
    NO_TIMESTAMP,
    BatchHeader,
    CorruptRecord,
    assign_offset_and_epoch,
    read_header,
)

__all__ = ["AppendResult", "OffsetOutOfRange", "PartitionLog", "ReadResult"]

_NOTHING = ReadResult(b"", -1)


class PartitionLog:
    """The log of one partition. `high_watermark` is moved by replication, never by an append."""

    def __init__(
        self, opening: Opening, topic_partition: TopicPartition, topic_id: uuid.UUID, loaded: Loaded
    ) -> None:
        self.directory = opening.directory
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.config = opening.config
        self.producer_state = ProducerStateManager()
        self.leader_epochs = loaded.leader_epochs
        self.recovery_notes: tuple[str, ...] = tuple(loaded.notes)
        """Sentences for the host's log: what recovery has cut off or rebuilt."""
        self.recovery_point = min(opening.recovery_point, loaded.log_end_offset)
        self._storage = opening.storage
        self._segments = Segments(loaded.segments)
        self._snapshots = Snapshots(opening.storage, opening.directory)
        self._log_end_offset = loaded.log_end_offset
        self._log_start_offset = max(opening.log_start_offset, loaded.segments[0].base_offset)
        self._high_watermark = self._log_start_offset
        self._now_ms = self._last_flush_ms = opening.now_ms
        self._failure: StorageError | None = None
        self._directory_is_synced = False
        self.is_closed = False

    @classmethod
    def open(
        cls,
        storage: Storage,
        data_directory: str,
        topic: str,
        partition: int,
        topic_id: uuid.UUID,
        config: LogConfig,
        now_ms: int,
        *,
        clean_shutdown: bool,
        restore_producer_state: bool = True,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        high_watermark: int = 0,
    ) -> PartitionLog:
        """Create the partition's directory, or open it and recover what a crash left.

        The three offsets come from the data directory's checkpoints (`LogDirectory.open_log`
        passes them). Raises CorruptLog where starting would lose data.
        """
        directory = f"{data_directory}/{topic}-{partition}"
        storage.make_directory(directory)
        if (found := read_topic_id(storage, directory)) is None:
            write_topic_id(storage, directory, topic_id)
        elif found != topic_id:
            raise CorruptLog(
                directory,
                f"it belongs to topic id {found}, but {topic} has {topic_id}; move it away",
            )
        opening = Opening(
            storage, directory, config, now_ms, clean_shutdown, recovery_point, log_start_offset
        )
        log = cls(opening, (topic, partition), topic_id, load(opening))
        if restore_producer_state:
            log.producer_state = log._restored_producers()
        log.high_watermark = high_watermark
        return log

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
        """Up to here (exclusive) every in-sync replica has the log; consumers see no further
        (KIP-207).
        """
        return self._high_watermark

    @high_watermark.setter
    def high_watermark(self, offset: int) -> None:
        bounded = min(max(offset, self._log_start_offset), self._log_end_offset)
        self._high_watermark = bounded
        self.producer_state.on_high_watermark(bounded)

    @property
    def last_stable_offset(self) -> int:
        """Up to here (exclusive) every transaction is decided: what read_committed sees
        (KIP-98).
        """
        unstable = self.producer_state.first_unstable_offset
        return self._high_watermark if unstable is None else min(unstable, self._high_watermark)

    @property
    def latest_epoch(self) -> int | None:
        """The newest leader epoch that wrote here."""
        return self.leader_epochs.latest

    @property
    def size_bytes(self) -> int:
        """Bytes of all `.log` files (DescribeLogDirs)."""
        return self._segments.size_bytes

    @property
    def segments(self) -> Segments:
        """For who deletes or cleans old ones (retention.py, compaction.py)."""
        return self._segments

    @property
    def segment_base_offsets(self) -> list[int]:
        """Where each segment starts."""
        return self._segments.base_offsets

    # -- appending -----------------------------------------------------------------------------

    def append(
        self,
        data: bytearray | memoryview,
        headers: Sequence[BatchHeader],
        leader_epoch: int,
        now_ms: int,
    ) -> AppendResult:
        """Append as leader: each batch gets the next offsets and the leader's epoch, where it lies.

        `headers` are those of the batches in `data`, one after the other. Both fields that change
        are outside the CRC, so what goes to disk is otherwise what the client sent.
        """
        base_offset = next_offset = self._log_end_offset
        placed, start = [], 0
        for header in headers:
            assign_offset_and_epoch(data, start, next_offset, leader_epoch)
            placed.append(
                header._replace(base_offset=next_offset, partition_leader_epoch=leader_epoch)
            )
            start += header.size
            next_offset += header.last_offset_delta + 1
        self._append(data, placed, now_ms)
        stamp = placed[-1].max_timestamp if self.config.uses_log_append_time else NO_TIMESTAMP
        return AppendResult(base_offset, next_offset - 1, stamp, self._log_start_offset)

    def append_as_follower(self, data: Buffer, headers: Sequence[BatchHeader], now_ms: int) -> None:
        """Append what a leader sent: offsets and epochs are its own, and must continue this log."""
        expected = self._log_end_offset
        for header in headers:
            if header.base_offset < expected:
                raise CorruptRecord(f"offset {header.base_offset} where {expected} is next")
            expected = header.last_offset + 1
        self._append(data, headers, now_ms)

    def _append(self, data: Buffer, headers: Sequence[BatchHeader], now_ms: int) -> None:
        """Roll if it is time, write, and let epochs and producer state follow."""
        if self._failure is not None:
            raise self._failure
        self._now_ms = now_ms
        placed = [
            Appended(header.base_offset, header.last_offset, header.max_timestamp, header.size)
            for header in headers
        ]
        # Kafka, too, notes the epoch first: an epoch without records does no harm.
        for header in headers:
            self.leader_epochs.assign(header.partition_leader_epoch, header.base_offset)
        try:
            self._segment_for(placed).append(data, placed)
        except BrokenSegment as error:
            self._failure = error
            raise
        self._log_end_offset = placed[-1].last_offset + 1
        start = 0
        for header in headers:
            if header.producer_id >= 0:
                batch = memoryview(data)[start : start + header.size]
                completed = self.producer_state.update(header, header.base_offset, batch)
                if completed is not None and completed.is_aborted:
                    self._note_aborted(completed)
            start += header.size
        unflushed = self._log_end_offset - self.recovery_point
        if unflushed >= self.config.flush_messages or self.flush_is_due(now_ms):
            self.flush()

    def _note_aborted(self, completed: CompletedTransaction) -> None:
        """Readers must be told of it as long as its records are there (KIP-98)."""
        stable = self.producer_state.last_stable_offset_after(completed)
        entry = AbortedTransaction(
            completed.producer_id, completed.first_offset, completed.last_offset, stable
        )
        try:
            self._segments.note_aborted(entry)
        except StorageError as error:
            # The marker is in the log: only a restart, which builds the index anew, mends this.
            self._failure = error
            raise

    def _segment_for(self, placed: list[Appended]) -> Segment:
        """The active segment, or a new one where these batches do not belong into it."""
        active = self._segments.active
        if active.should_roll(placed, self.config, self._now_ms):
            return self.roll()
        return active

    def roll(self) -> Segment:
        """Close the active segment, durably, and begin the next one at the log end."""
        self._segments.active.become_inactive()
        self._snapshots.write(self._log_end_offset, self.producer_state.entries())
        self.flush()
        segment = self._new_segment(self._log_end_offset)
        self._segments.add(segment)
        self._snapshots.keep_only(self._segments.base_offsets)
        return segment

    def _new_segment(self, base_offset: int) -> Segment:
        """An empty segment; files that a failed deletion left under its name are emptied."""
        self._directory_is_synced = False
        segment = Segment(self._storage, self.directory, base_offset, self.config, self._now_ms)
        if segment.size > 0:
            segment.log.truncate(0)
            segment.reset_indexes()
        segment.transaction_index.truncate_to(0)
        return segment

    # -- reading -------------------------------------------------------------------------------

    def locate(
        self,
        offset: int,
        max_bytes: int,
        limit_offset: int | None = None,
        *,
        at_least_one: bool = True,
    ) -> Slice | None:
        """Where the batches from the one with `offset` on lie: of one segment, below the limit.

        `limit_offset` is the high watermark or the last stable offset. With `at_least_one` the
        first batch is returned whole even if it is larger than `max_bytes` (KIP-74). Raises
        OffsetOutOfRange.
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
        """The bytes that `locate` finds."""
        found = self.locate(offset, max_bytes, limit_offset, at_least_one=at_least_one)
        return _NOTHING if found is None else ReadResult(found.read(), found.first_offset)

    def batches(self, from_offset: int = 0) -> Iterator[memoryview]:
        """Every batch from the one with this offset on, its CRC checked: for who replays a log."""
        return self._segments.batches(max(from_offset, self._log_start_offset))

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record that is not older (ListOffsets; KIP-79)."""
        return self._segments.offset_for_timestamp(timestamp, self._log_start_offset)

    def offset_of_max_timestamp(self) -> TimestampOffset | None:
        """The first record with the largest timestamp (ListOffsets, timestamp -3; KIP-734)."""
        newest = self._segments.max_timestamp
        return None if newest < 0 else self.offset_for_timestamp(newest)

    def aborted_transactions(self, from_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """Which transactions that were aborted may have records in this range (KIP-98)."""
        return self._segments.aborted_between(from_offset, end_offset)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """The largest epoch not above this one, and where it ended; (-1, -1) if unknown
        (KIP-279).
        """
        return self.leader_epochs.end_offset_for(epoch, self._log_end_offset)

    # -- cutting -------------------------------------------------------------------------------

    def delete_records_before(self, offset: int) -> int:
        """Move the log start up (KIP-107); segments wholly below it go. Returns the log start.

        The caller writes the data directory's checkpoint: until then a crash brings the records
        back.
        """
        if offset > self._high_watermark or offset < 0:
            raise OffsetOutOfRange(offset, self._log_start_offset, self._high_watermark)
        if offset > self._log_start_offset:
            self._log_start_offset = offset
            self._segments.delete_below(offset)
            self.leader_epochs.truncate_from_start(offset)
        return self._log_start_offset

    def replace_segments(self, old: list[Segment], base_offset: int) -> None:
        """Let the cleaned segment, whose files lie ready, take the place of others
        (segment_swap.py).
        """
        for segment in old:
            segment.close()
        bases = [segment.base_offset for segment in old]
        try:
            segment_swap.commit(self._storage, self.directory, base_offset, bases)
            new = Segment(self._storage, self.directory, base_offset, self.config, self._now_ms)
        except StorageError as error:
            # Some files have their new names, some the old ones: the next start completes it.
            self._failure = error
            raise
        self._segments.replace(old, new)

    def truncate_to(self, offset: int) -> None:
        """Cut off the batch that holds `offset` and all after it (a follower that diverged,
        KIP-101).

        The caller writes the recovery point checkpoint before anything else is appended.
        """
        if offset >= self._log_end_offset:
            return
        self._after_cut(self._segments.truncate_to(offset))

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drop everything and begin anew at `offset` (a follower whose leader has deleted it)."""
        self._segments.delete_all()
        self._snapshots.keep_only(())
        self._segments = Segments([self._new_segment(offset)])
        self._log_start_offset = offset
        self._after_cut(offset)

    def _after_cut(self, log_end_offset: int) -> None:
        self._log_end_offset = log_end_offset
        self._log_start_offset = min(self._log_start_offset, log_end_offset)
        self.recovery_point = min(self.recovery_point, log_end_offset)
        self.leader_epochs.truncate_from_end(log_end_offset)
        self.producer_state = self._restored_producers()
        self.high_watermark = min(self._high_watermark, log_end_offset)

    def _restored_producers(self) -> ProducerStateManager:
        """The producer state at the log end: the newest snapshot, and the batches after it.

        The transaction index is synced when a snapshot is taken, so its entries up to there are
        right; those after it are built anew.
        """
        producers = self.producer_state = ProducerStateManager()
        broken = self._segments.broken_transaction_index()
        limit = self._log_end_offset if broken is None else broken.base_offset
        taken_at, entries = self._snapshots.newest(limit)
        producers.load(entries)
        self._segments.forget_aborted_from(taken_at)
        for batch in self._segments.batches(max(taken_at, self._log_start_offset)):
            header = read_header(batch)
            if header.has_producer_id:
                completed = producers.update(header, header.base_offset, batch)
                if completed is not None and completed.is_aborted:
                    self._note_aborted(completed)
        return producers

    # -- keeping -------------------------------------------------------------------------------

    def flush_is_due(self, now_ms: int) -> bool:
        """Whether `flush.ms` has passed over unsynced records."""
        waited_ms = now_ms - self._last_flush_ms
        return self.recovery_point < self._log_end_offset and waited_ms >= self.config.flush_ms

    def flush(self) -> None:
        """Sync everything appended so far; the recovery point moves to the log end."""
        if self._failure is not None:
            raise self._failure
        try:
            self.leader_epochs.save(sync=True)
            if self.recovery_point < self._log_end_offset:
                self._segments.sync_from(self.recovery_point)
            if not self._directory_is_synced:
                self._storage.sync_directory(self.directory)
                self._directory_is_synced = True
        except StorageError as error:
            # After a failed fsync nobody knows what is on the medium, and asking again may say
            # "fine".
            self._failure = error
            raise
        self.recovery_point = self._log_end_offset
        self._last_flush_ms = self._now_ms

    def close(self, *, clean: bool) -> None:
        """Give all files back; if clean, durable and with a producer snapshot, so that no
        recovery is needed.
        """
        self.is_closed = True
        if clean and self._failure is None:
            self._segments.active.become_inactive()
            self.flush()
            if len(self.producer_state) and self._log_end_offset not in self._snapshots.offsets():
                self._snapshots.write(self._log_end_offset, self.producer_state.entries())
        self._segments.close()

    def delete(self) -> None:
        """Remove the partition. The rename comes first: a crash half-way leaves no half a
        partition.
        """
        self.is_closed = True
        self._segments.close()
        parent, _, name = self.directory.rpartition("/")
        topic, partition = name.rsplit("-", 1)
        suffix = f"-{partition}.{self.topic_id.hex}-delete"
        # LocalLog.logDeleteDirName: a name has at most 255 bytes, a topic may have 249.
        doomed = f"{parent}/{topic[: 255 - len(suffix)]}{suffix}"
        self._storage.rename(self.directory, doomed)
        self._storage.delete_tree(doomed)
