"""The log of one partition, to which Produce appends and from which Fetch reads.

Source: UnifiedLog.java, LocalLog.java; design#log. A list of segments in one directory; the last
one is written to. This class keeps the offsets that matter (log start, log end, high watermark,
last stable, recovery point) and ensures that files, leader epochs and producer state change
together.

The broker's rules decide before whether a batch may be appended. An append is acknowledged once the
operating system has it: it survives `kill -9`, and a loss of power only after a flush.
"""

from __future__ import annotations

import posixpath
import uuid
from itertools import islice

from reference_impl.core.log.directories.checkpoints import TopicPartition
from reference_impl.core.log.directories.partition_directory import (
    claim_directory,
    deleted_directory,
)
from reference_impl.core.log.flush_state import FlushState
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.producers.recovery import ProducerRecovery
from reference_impl.core.log.producers.snapshot import Snapshots
from reference_impl.core.log.producers.state import CompletedTransaction, ProducerStateManager
from reference_impl.core.log.readable_log import ReadableLog
from reference_impl.core.log.recovery.recovery import Loaded, Opening, RecoverySteps, load
from reference_impl.core.log.results import AppendResult, OffsetOutOfRange, ReadResult
from reference_impl.core.log.segments import segment_swap
from reference_impl.core.log.segments.retired_segments import RetiredSegments
from reference_impl.core.log.segments.segment import BrokenSegment, Segment
from reference_impl.core.log.segments.segments import Segments
from reference_impl.core.log.segments.transaction_index import AbortedTransaction
from reference_impl.core.storage import Storage, StorageError
from reference_impl.wire.batches.records import NO_TIMESTAMP, BatchHeader, assign_offset_and_epoch

RETIRED_AT_ONCE = 8
"""The most segments that are removed in one step."""

__all__ = ["AppendResult", "OffsetOutOfRange", "PartitionLog", "ReadResult"]


class PartitionLog(ReadableLog):
    """The log of one partition with its files, and all changes to it."""

    def __init__(
        self, opening: Opening, topic_partition: TopicPartition, topic_id: uuid.UUID, loaded: Loaded
    ) -> None:
        start = max(opening.log_start_offset, loaded.segments[0].base_offset)
        super().__init__(
            Segments(loaded.segments), loaded.leader_epochs, start, loaded.log_end_offset
        )
        self.directory = opening.directory
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.config = opening.config
        self.recovery_notes: tuple[str, ...] = tuple(loaded.notes)
        """Sentences for the operator: the parts of the log that recovery has cut off or rebuilt."""
        self._flush_state = FlushState(
            min(opening.recovery_point, loaded.log_end_offset),
            opening.now_ms,
            opening.steps.note_failed_sync,
        )
        self._steps = opening.steps
        self._storage = opening.storage
        self._snapshots = Snapshots(opening.storage, opening.directory)
        self._may_have_old_snapshots = True
        """Whether snapshots may be there whose segments are gone. To look for them takes as long as
        there are files."""
        self._now_ms = opening.now_ms
        self._retired = RetiredSegments()
        self.is_closed = False
        self.last_write_failed = False
        """Whether the last batch could not be written, though there was room on the disk."""

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
        steps: RecoverySteps,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        high_watermark: int = 0,
    ) -> PartitionLog:
        """Create the partition's directory, or open it and recover what a crash left.

        The three offsets come from the data directory's checkpoints (`LogDirectory.open_log` passes
        them). clean_shutdown: whether the last process closed the log, so that its files can be
        trusted. Raise CorruptLog where starting would lose data.
        """
        directory = f"{data_directory}/{topic}-{partition}"
        storage.make_directory(directory)
        claim_directory(storage, directory, topic, topic_id)
        opening = Opening(
            storage,
            directory,
            config,
            now_ms,
            clean_shutdown,
            recovery_point,
            log_start_offset,
            steps,
        )
        log = cls(opening, (topic, partition), topic_id, load(opening))
        log._restore_producers()
        log.high_watermark = high_watermark
        return log

    @property
    def is_trusted(self) -> bool:
        """Return whether the files can be trusted: False after a failure that only a restart, with
        recovery, repairs."""
        return self._flush_state.failure is None

    @property
    def recovery_point(self) -> int:
        """The offset below which everything would survive a loss of power."""
        return self._flush_state.recovery_point

    # -- appending -----------------------------------------------------------------------------

    def append(
        self, data: bytearray | memoryview, header: BatchHeader, leader_epoch: int, now_ms: int
    ) -> AppendResult:
        """Append one batch as leader: write its offsets and the leader's epoch into its header, in
        place. Both fields are outside the CRC; the other bytes go to disk as the client sent
        them. Raise StorageError if that fails, or if an earlier failure has made the files
        untrustworthy."""
        base_offset = self._log_end_offset
        assign_offset_and_epoch(data, 0, base_offset, leader_epoch)
        return self._write(data, header.placed(base_offset, leader_epoch), now_ms)

    def append_fetched(self, data: memoryview, batch: BatchHeader, now_ms: int) -> None:
        """Append one batch as follower, at the offset and in the epoch that its leader has
        given it. Offsets may be missing before it, where compaction has removed records. Raise
        StorageError as `append` does."""
        self._write(data, batch, now_ms)

    def _write(self, data: bytearray | memoryview, batch: BatchHeader, now_ms: int) -> AppendResult:
        self._flush_state.check()
        try:
            result = self._write_batch(data, batch, now_ms)
        except StorageError as error:
            self.last_write_failed = not error.no_space
            raise
        self.last_write_failed = False
        return result

    def _write_batch(
        self, data: bytearray | memoryview, batch: BatchHeader, now_ms: int
    ) -> AppendResult:
        self._now_ms = now_ms
        base_offset, last_offset = batch.base_offset, batch.last_offset
        # Note the epoch first, as Kafka does: an epoch without records does no harm.
        self.leader_epochs.assign(batch.partition_leader_epoch, base_offset)
        try:
            segment = self._segments.active
            if segment.should_roll(batch, last_offset, self.config, now_ms):
                segment = self.roll()
            segment.append(data, (batch,))
        except BrokenSegment as error:
            self._flush_state.failure = error
            raise
        self._log_end_offset = last_offset + 1
        if batch.producer_id >= 0:
            completed = self.producer_state.update(batch, base_offset, data)
            if completed is not None and completed.is_aborted:
                self._note_aborted_or_undo(completed)
        unflushed = last_offset + 1 - self._flush_state.recovery_point
        if unflushed >= self.config.flush_messages or self.flush_is_due(now_ms):
            self.flush()
        stamp = batch.max_timestamp if self.config.uses_log_append_time else NO_TIMESTAMP
        return AppendResult(base_offset, last_offset, stamp, self._log_start_offset)

    def _note_aborted(self, completed: CompletedTransaction) -> None:
        """Note an aborted transaction in the index. Readers need it as long as its records are in
        the log (KIP-98)."""
        stable = self.producer_state.last_stable_offset_after(completed)
        entry = AbortedTransaction(
            completed.producer_id, completed.first_offset, completed.last_offset, stable
        )
        self._segments.note_aborted(entry)

    def _note_aborted_or_undo(self, completed: CompletedTransaction) -> None:
        """Note a transaction that was aborted; the caller has checked that. If its entry cannot be
        written, cut its marker off again, so that the index lacks nothing that the log has, and
        raise the StorageError."""
        try:
            self._note_aborted(completed)
        except StorageError:
            with self._flush_state.lost_by_failure():
                self._after_cut(self._segments.truncate_to(completed.last_offset))
            raise

    def roll(self) -> Segment:
        """Close the active segment, take a producer snapshot, sync everything, and return the next
        segment, which begins at the log end."""
        self._segments.active.become_inactive()
        self._snapshots.write(self._log_end_offset, self.producer_state.entries())
        self.flush()
        segment = self._new_segment(self._log_end_offset)
        self._segments.add(segment)
        if self._may_have_old_snapshots:
            self._snapshots.keep_only(self._segments.base_offsets)
            self._may_have_old_snapshots = False
        return segment

    def _new_segment(self, base_offset: int) -> Segment:
        """Create an empty segment. Empty the files of the same name that a failed deletion may have
        left."""
        self._flush_state.directory_is_synced = False
        segment = Segment(self._storage, self.directory, base_offset, self.config, self._now_ms)
        if segment.size > 0:
            segment.log.truncate(0)
            segment.reset_indexes()
        segment.transaction_index.truncate_to(0)
        return segment

    # -- cutting -------------------------------------------------------------------------------

    def delete_records_before(self, offset: int) -> int:
        """Move the log start up (KIP-107), begin to remove the segments wholly below it, and return
        the log start. Raise OffsetOutOfRange for a negative offset or one above the high watermark.

        The caller writes the data directory's checkpoint: until then a crash brings the records
        back.
        """
        if offset > self._high_watermark or offset < 0:
            raise OffsetOutOfRange(offset, self._log_start_offset, self._high_watermark)
        if offset > self._log_start_offset:
            self._log_start_offset = offset
            self.retire_segments_below(offset)
            self.leader_epochs.truncate_from_start(offset)
        return self._log_start_offset

    def retire_segments_below(self, offset: int) -> None:
        """Remove closed segments that lie wholly below an offset, the oldest first, and not more
        than RETIRED_AT_ONCE: each costs four syncs of the directory. `retire_more` removes the
        others. The files are deleted later. Raise StorageError after a failure and remove no more:
        without the segments after it, the one that stayed would begin a log with a gap."""
        self._flush_state.check()
        with self._flush_state.lost_by_failure():
            for segment in islice(self._segments.take_below(offset), RETIRED_AT_ONCE):
                self._may_have_old_snapshots = True
                self._retired.add(segment, self.config.file_delete_delay_ms)

    def retire_more(self) -> bool:
        """Remove at most RETIRED_AT_ONCE segments that lie wholly below the log start. Return
        whether there were any. Return False for a log that is closed or whose files failed before.
        Raise StorageError if the removal fails."""
        has_more = self._segments.has_below(self._log_start_offset)
        if self.is_closed or not self.is_trusted or not has_more:
            return False
        self.retire_segments_below(self._log_start_offset)
        return True

    def replace_segments(self, old: list[Segment], base_offset: int) -> None:
        """Replace these segments by the cleaned one, whose files are ready on disk
        (segments/segment_swap.py).
        """
        for segment in old:
            segment.close()
        bases = [segment.base_offset for segment in old]
        with self._flush_state.lost_by_failure():  # files would have old and new names
            segment_swap.commit(self._storage, self.directory, base_offset, bases)
            new = Segment(self._storage, self.directory, base_offset, self.config, self._now_ms)
        self._segments.replace(old, new)
        self._may_have_old_snapshots = True

    def truncate_to(self, offset: int) -> None:
        """Cut off the batch that holds `offset` and everything after it, because this follower has
        diverged from its leader (KIP-101). If the log ends before, only drop the epochs that begin
        at `offset` or later. Raise StorageError if that fails.

        The caller writes the recovery point checkpoint before anything else is appended.
        """
        if offset >= self._log_end_offset:
            # Drop an epoch that began at this offset without records: the leader may not know it.
            self.leader_epochs.truncate_from_end(offset)
            return
        with self._flush_state.lost_by_failure():  # a failure may leave some files cut
            self._after_cut(self._segments.truncate_to(offset))

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drop all records and start again at `offset`, because the leader has deleted the records
        that this follower would need next."""
        self._segments.delete_all()
        self._snapshots.keep_only(())
        self._segments = Segments([self._new_segment(offset)])
        self._log_start_offset = offset
        self.leader_epochs.truncate_from_end(0)  # all records are gone, and so are their epochs
        self._after_cut(offset)

    def _after_cut(self, log_end_offset: int) -> None:
        self._log_end_offset = log_end_offset
        self._log_start_offset = min(self._log_start_offset, log_end_offset)
        self._flush_state.recovery_point = min(self.recovery_point, log_end_offset)
        self.leader_epochs.truncate_from_end(log_end_offset)
        self._may_have_old_snapshots = True
        self._restore_producers()
        self.high_watermark = min(self._high_watermark, log_end_offset)

    def _restore_producers(self) -> None:
        self.producer_state = ProducerStateManager()
        with self._flush_state.lost_by_failure():
            self._steps.restore_producers(
                ProducerRecovery(
                    self.producer_state,
                    self._segments,
                    self._snapshots,
                    self._log_start_offset,
                    self._log_end_offset,
                    self._note_aborted,
                )
            )

    # -- keeping -------------------------------------------------------------------------------

    def flush_is_due(self, now_ms: int) -> bool:
        """Return whether there are unsynced records, and the last flush (or the opening of the log)
        was `flush.ms` or more ago."""
        waited_ms = now_ms - self._flush_state.last_flush_ms
        return waited_ms >= self.config.flush_ms and self.recovery_point < self._log_end_offset

    def flush(self) -> None:
        """Sync everything appended so far, and move the recovery point to the log end. Raise
        StorageError if that fails, or if the files are not trusted."""
        trust = self._flush_state
        trust.check()
        # After a failed fsync the content of the medium is unknown, and the next fsync may succeed.
        with trust.lost_by_failure():
            self.leader_epochs.save(sync=True)
            if trust.recovery_point < self._log_end_offset:
                self._segments.sync_from(trust.recovery_point)
            if not trust.directory_is_synced:
                # The names of the files, and that of the directory itself (fsync(2)).
                self._storage.sync_directory(self.directory)
                self._storage.sync_directory(posixpath.dirname(self.directory))
                trust.directory_is_synced = True
        trust.recovery_point = self._log_end_offset
        trust.last_flush_ms = self._now_ms

    def delete_retired_segments(self, now_ms: int) -> int | None:
        """Delete the files of removed segments that are due. Return the time in milliseconds when
        the next ones are due, or None if none are left."""
        return self._retired.delete_due(now_ms, self.config.file_delete_delay_ms)

    def close(self, *, clean: bool) -> None:
        """Close all files. If `clean`, and unless an earlier failure left their content unknown,
        sync them and take a producer snapshot first, so that no recovery is needed."""
        self.is_closed = True
        if clean and self.is_trusted:
            self._segments.active.become_inactive()
            self._steps.sync_at_shutdown(self.flush)
            if len(self.producer_state) and self._log_end_offset not in self._snapshots.offsets():
                self._snapshots.write(self._log_end_offset, self.producer_state.entries())
        self._close_files()

    def move_away(self) -> str:
        """Close the log and rename its directory, so that a crash during the deletion leaves no
        part of it in use. Return the new directory, which the caller deletes later."""
        self.is_closed = True
        self._close_files()
        doomed = deleted_directory(self._storage, self.directory, self.topic_id)
        self._storage.rename(self.directory, doomed)
        return doomed

    def _close_files(self) -> None:
        self._segments.close()
        self._retired.close()
