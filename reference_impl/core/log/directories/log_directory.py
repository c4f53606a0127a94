"""One data directory (an entry of `log.dirs`): its partitions and the checkpoints that they share.

Source: LogManager.java. Five files beside the partitions' directories:

- `recovery-point-offset-checkpoint`: up to where each partition is synced; recovery reads only
  what follows;
- `log-start-offset-checkpoint`: where DeleteRecords has moved the log start to;
- `replication-offset-checkpoint`: the high watermarks;
- `cleaner-offset-checkpoint`: up to where each compacted partition is clean;
- `.kafka_cleanshutdown`: written last by a clean shutdown, removed by the next start.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import suppress
from heapq import heappop, heappush

from reference_impl.core.log.directories.checkpoints import (
    CLEAN_SHUTDOWN_FILE,
    CLEANER_OFFSET_FILE,
    HIGH_WATERMARK_FILE,
    LOG_START_FILE,
    RECOVERY_POINT_FILE,
    TopicPartition,
    read_clean_shutdown,
    read_offsets,
    read_topic_id,
    write_clean_shutdown,
    write_offsets,
)
from reference_impl.core.log.directories.partition_directory import DELETE_SUFFIX, deleted_directory
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.partition_log import PartitionLog
from reference_impl.core.log.recovery.recovery import RecoverySteps
from reference_impl.core.storage import Storage, StorageError

_OFFSET_FILES = (RECOVERY_POINT_FILE, LOG_START_FILE, HIGH_WATERMARK_FILE, CLEANER_OFFSET_FILE)


class LogDirectory:
    """The open logs of one data directory."""

    def __init__(self, storage: Storage, path: str, steps: RecoverySteps) -> None:
        self.path = path
        self._steps = steps
        self.logs: dict[TopicPartition, PartitionLog] = {}
        self.offline: dict[TopicPartition, StorageError] = {}
        """The partitions whose files cannot be used, each with the error. They stay offline until
        an operator has mended them and restarted the broker."""
        self.notes: list[str] = []
        """Sentences for the operator: what the opening of logs has found."""
        self.storage = storage
        storage.make_directory(path)
        clean_file = f"{path}/{CLEAN_SHUTDOWN_FILE}"
        self.clean_shutdown = storage.exists(clean_file)
        """Whether the previous process closed its logs cleanly; if not, opening a log recovers
        it."""
        self.previous_broker_epoch = read_clean_shutdown(storage, path)
        """The broker epoch of the process that closed the logs, -1 if unknown (KIP-966)."""
        if self.clean_shutdown:
            # Sync the deletion: if a loss of power undid it, torn files would be trusted.
            storage.delete(clean_file)
            storage.sync_directory(path)
        self._offsets = {name: read_offsets(storage, f"{path}/{name}") for name in _OFFSET_FILES}
        self._written: dict[str, dict[TopicPartition, int]] = {}
        self._deleted: set[TopicPartition] = set()
        self._moved_away: list[tuple[str, int]] = []
        self._doomed: list[tuple[int, str]] = []
        for name in storage.list(path):
            if name.endswith(DELETE_SUFFIX):  # a crash interrupted its deletion
                self._moved_away.append((f"{path}/{name}", 0))

    def open_log(
        self, topic: str, partition: int, topic_id: uuid.UUID, config: LogConfig, now_ms: int
    ) -> PartitionLog:
        """Create the partition, or open it with the offsets that its checkpoints name. Return its
        log. Raise StorageError, such as CorruptLog, if its files cannot be used."""
        key = (topic, partition)
        if not self.storage.exists(f"{self.path}/{topic}-{partition}"):
            self._forget_namesake(key)
        log = self.logs[key] = PartitionLog.open(
            self.storage,
            self.path,
            topic,
            partition,
            topic_id,
            config,
            now_ms,
            clean_shutdown=self.clean_shutdown,
            steps=self._steps,
            recovery_point=self._offsets[RECOVERY_POINT_FILE].get(key, 0),
            log_start_offset=self._offsets[LOG_START_FILE].get(key, 0),
            high_watermark=self._offsets[HIGH_WATERMARK_FILE].get(key, 0),
        )
        self.notes += log.recovery_notes
        return log

    def delete_log(self, topic: str, partition: int) -> None:
        """Remove a partition, if it is open or offline. Delete its files `file.delete.delay.ms`
        later (those of an offline one in the next round of deletions), and its lines with the next
        checkpoint."""
        key = (topic, partition)
        log = self.logs.pop(key, None)
        if log is None:
            if self.offline.pop(key, None) is not None:
                self._move_damaged_away(f"{self.path}/{topic}-{partition}")
            return
        self._moved_away.append((log.move_away(), log.config.file_delete_delay_ms))
        self._deleted.add(key)

    def _move_damaged_away(self, path: str) -> None:
        """Rename a damaged directory where the disk allows it, and let the next round of deletions
        remove it. If it keeps its name, a new partition of that name is offline."""
        with suppress(StorageError):
            topic_id = read_topic_id(self.storage, path)
            if topic_id is not None:
                doomed = deleted_directory(self.storage, path, topic_id)
                self.storage.rename(path, doomed)
                self._moved_away.append((doomed, 0))

    def take_offline(self, topic: str, partition: int, error: StorageError) -> None:
        """Stop using the files of a partition, because they or their disk are damaged, and note
        that for the operator."""
        key = (topic, partition)
        self.offline[key] = error
        self.notes.append(
            f"{topic}-{partition} is offline until it is repaired and the broker restarted: {error}"
        )
        log = self.logs.pop(key, None)
        if log is not None:
            with suppress(StorageError):
                log.close(clean=False)

    def delete_due(self, now_ms: int) -> Iterator[int | None]:
        """Delete the files of segments and partitions that were removed long enough ago. After each
        file of a partition, and after each log, yield the time in milliseconds when the next files
        are due, or None. The delay counts from the first call after the removal."""
        yield from self.delete_due_partitions(now_ms)
        if self._doomed:
            yield self._doomed[0][0]
        for log in list(self.logs.values()):
            yield log.delete_retired_segments(now_ms)

    def delete_due_partitions(self, now_ms: int) -> Iterator[None]:
        """Delete the directories of partitions that were removed long enough ago. Yield after each
        file, because a partition may have tens of thousands."""
        for path, delay_ms in self._moved_away:
            heappush(self._doomed, (now_ms + delay_ms, path))
        self._moved_away.clear()
        while self._doomed and self._doomed[0][0] <= now_ms:
            _, path = heappop(self._doomed)
            for name in self.storage.list(path) if self.storage.exists(path) else ():
                self.storage.delete(f"{path}/{name}")
                yield
            self.storage.delete_tree(path)

    def cleaned_to(self, key: TopicPartition) -> int:
        """Return the offset up to which a partition was cleaned, 0 if unknown."""
        return self._offsets[CLEANER_OFFSET_FILE].get(key, 0)

    def note_cleaned(self, key: TopicPartition, offset: int) -> None:
        """Record on disk, for the next start, that a partition is clean up to here."""
        self._offsets[CLEANER_OFFSET_FILE][key] = offset
        self._write(CLEANER_OFFSET_FILE)

    def _forget_namesake(self, key: TopicPartition) -> None:
        """Drop the checkpointed offsets of a deleted partition, and write the checkpoints, so that
        a new one of the same name does not get them."""
        if key in self._deleted or any(key in offsets for offsets in self._offsets.values()):
            self._deleted.add(key)
            self.checkpoint()

    def checkpoint(self) -> None:
        """Write the offset files that have changed (Kafka: every minute, after a truncation, at
        shutdown), without the lines of deleted partitions.

        Partitions that are not open keep their old lines.
        """
        for offsets in self._offsets.values():
            for key in self._deleted:
                offsets.pop(key, None)
        self._deleted.clear()
        for key, log in self.logs.items():
            self._offsets[RECOVERY_POINT_FILE][key] = log.recovery_point
            self._offsets[HIGH_WATERMARK_FILE][key] = log.high_watermark
            if log.log_start_offset > log.segment_base_offsets[0]:
                self._offsets[LOG_START_FILE][key] = log.log_start_offset
            else:
                self._offsets[LOG_START_FILE].pop(key, None)
        for name in self._offsets:
            self._write(name)

    def _write(self, name: str) -> None:
        offsets = self._offsets[name]
        if self._written.get(name) != offsets:
            write_offsets(self.storage, f"{self.path}/{name}", offsets)
            self._written[name] = dict(offsets)

    def close(self, *, broker_epoch: int = -1) -> None:
        """Close all logs cleanly, then write the file that says so, unless the next start must
        check the logs. The file comes last, so that a start after a crash in between checks
        them."""
        for log in self.logs.values():
            log.close(clean=True)
        self.checkpoint()
        distrusted = len(self.offline) + sum(not log.is_trusted for log in self.logs.values())
        unopened = len(self._partitions_on_disk() - self.logs.keys())
        if self._steps.may_skip_recovery(
            was_clean=self.clean_shutdown, unopened=unopened, distrusted=distrusted
        ):
            write_clean_shutdown(self.storage, self.path, broker_epoch)
        self.logs.clear()

    def _partitions_on_disk(self) -> set[TopicPartition]:
        """Return the partitions that have a directory here, whether or not they are open."""
        names = (name.rpartition("-") for name in self.storage.list(self.path))
        return {(topic, int(index)) for topic, _, index in names if topic and index.isdecimal()}
