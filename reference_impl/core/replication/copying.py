"""A follower's log: append what the leader has sent, and cut off what the leader does not have.

Source: ReplicaFetcherThread.java (processPartitionData, truncate), UnifiedLog.appendAsFollower.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.effects import Effect, Report
from reference_impl.core.log.directories.log_directory import LogDirectory
from reference_impl.core.moment import Moment
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules
from reference_impl.wire import CorruptRecord, Struct, batches, check_crc


class Damaged(Exception):
    """A fetched batch is damaged or does not fit the log. The message is a sentence that says
    why."""


class Copying:
    """Changes the logs of the partitions that this broker follows."""

    def __init__(self, rules: Rules, moment: Moment, directory: LogDirectory) -> None:
        self._rules, self._moment, self._directory = rules, moment, directory

    def take(self, partition: Partition, row: Struct) -> None:
        """Append the fetched batches, and move the high watermark and the log start; stop before a
        batch of a leader epoch that is not in the metadata here yet. Raise Damaged for a damaged
        batch, after the batches before it were appended. Raise StorageError if a write fails."""
        try:
            self._append(partition, bytes(row.records or b""))
        except (CorruptRecord, ValueError) as error:
            raise Damaged(str(error)) from None
        log = partition.log
        partition.follow(self._rules.followed_high_watermark(log, row.high_watermark))
        if row.log_start_offset > log.log_start_offset:
            log.delete_records_before(min(row.log_start_offset, log.high_watermark))

    def _append(self, partition: Partition, data: bytes) -> None:
        log, view = partition.log, memoryview(data)
        for header, start, end in batches(data, allow_partial=True):
            check_crc(data, start, end)
            if header.partition_leader_epoch > partition.leader_epoch:
                return  # its leader's epoch is not in the metadata here yet (KAFKA-18723)
            self._rules.check_fetched(log, header)
            log.append_fetched(view[start:end], header, self._moment.now_ms)

    def truncate(self, partition: Partition, told: tuple[int, int]) -> Iterator[Effect]:
        """Cut off the records that diverge from the leader's. told: the newest epoch of the
        leader's log that is not newer than the follower's last, and its end in the leader's log.
        Raise StorageError if the disk fails."""
        yield from self.cut(partition, self._rules.truncation(partition.log, told))

    def prepare(self, partition: Partition) -> Iterator[Effect]:
        """Cut off, before the first fetch from a leader, the records that cannot be compared with
        the leader's log: in a log without epochs, all above the high watermark. Raise StorageError
        if the disk fails."""
        yield from self.cut(partition, self._rules.kept_end(partition.log))

    def cut(self, partition: Partition, offset: int) -> Iterator[Effect]:
        """Cut the log at an offset, and checkpoint the offsets of all logs if that removes records.
        Report it if the offset lies below the high watermark, because committed records are lost
        then: an unclean election allows that. Raise StorageError."""
        log = partition.log
        high_watermark, end_offset = log.high_watermark, log.log_end_offset
        log.truncate_to(offset)
        if log.log_end_offset < end_offset:
            self._directory.checkpoint()
        if log.log_end_offset < high_watermark:
            yield Report(
                f"{partition.topic}-{partition.index} is cut at offset {log.log_end_offset}, below"
                f" its high watermark {high_watermark}: its leader,"
                f" node {partition.state.leader}, lacks committed records"
            )

    def begin_at(self, partition: Partition, offset: int) -> None:
        """Drop all records, and begin at the leader's log start, which is beyond this log's end.
        Raise StorageError if the disk fails."""
        partition.log.truncate_fully_and_start_at(offset)
        self._directory.checkpoint()
