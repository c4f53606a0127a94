"""Choose the log that is cleaned next, and track how far each is clean.

Source: LogCleanerManager.java (grabFilthiestCompactedLog, updateCheckpoints), LogCleaner.java. Of
the logs for which cleaning is due, the one with the largest share of dirty bytes comes first. A log
whose cleaning fails is left alone until the next start: its files may be damaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reference_impl.core.log.cleaning.batch_filter import CleaningSteps
from reference_impl.core.log.cleaning.compaction import (
    BYTES_PER_KEY,
    KEYS_BYTES_MAX,
    Cleanable,
    Interrupted,
    clean,
    cleanable,
)
from reference_impl.core.log.directories.checkpoints import TopicPartition
from reference_impl.core.log.directories.log_directory import LogDirectory
from reference_impl.core.log.partition_log import PartitionLog
from reference_impl.core.storage import Storage, StorageError
from reference_impl.wire.batches.records import CorruptRecord


class Cleaner:
    """Cleans one log at a time. Each call of `work` does one slice."""

    def __init__(self, storage: Storage, directory: LogDirectory, steps: CleaningSteps) -> None:
        self._storage = storage
        self._steps = steps
        self._directory = directory
        self._uncleanable: set[TopicPartition] = set()
        self._log: PartitionLog | None = None
        self._slices: Iterator[int | None] = iter(())

    @property
    def is_working(self) -> bool:
        """Return whether the cleaning of a log has begun and is not finished."""
        return self._log is not None

    def begin(
        self, logs: Iterable[PartitionLog], now_ms: int, memory_bytes: int = KEYS_BYTES_MAX
    ) -> bool:
        """Choose the log that most needs cleaning. Return False if none does.

        memory_bytes: the limit for the keys remembered during one cleaning
        (log.cleaner.dedupe.buffer.size).
        """
        due = [each for each in self._candidates(logs, now_ms) if each.is_due]
        if not due:
            return False
        chosen = max(due, key=lambda each: each.ratio)
        keys_max = max(1, memory_bytes // BYTES_PER_KEY)
        self._log = chosen.log
        self._slices = clean(self._storage, chosen, now_ms, self._steps, keys_max)
        return True

    def _candidates(self, logs: Iterable[PartitionLog], now_ms: int) -> Iterator[Cleanable]:
        for log in logs:
            usable = log.topic_partition not in self._uncleanable
            if usable and log.config.is_compacted and log.segments.closed:
                cleaned_to = self._directory.cleaned_to(log.topic_partition)
                yield cleanable(log, cleaned_to, now_ms, self._steps)

    def work(self) -> str | None:
        """Do one slice of cleaning, if a log is being cleaned. Return a sentence for the operator
        if its files are damaged, so that it is not cleaned again until the next start; else
        None."""
        log = self._log
        if log is None:
            return None
        try:
            cleaned_to = next(self._slices)
            if cleaned_to is not None:
                self._directory.note_cleaned(log.topic_partition, cleaned_to)
        except (StopIteration, Interrupted):
            self._log = None
        except (StorageError, CorruptRecord) as error:
            self._log = None
            self._uncleanable.add(log.topic_partition)
            topic, partition = log.topic_partition
            return f"{topic}-{partition} is not compacted any more until the next start: {error}"
        return None
