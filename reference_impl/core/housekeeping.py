"""The work that a broker does from time to time without a request.

Source: LogManager.java (checkpointLogRecoveryOffsets, flushDirtyLogs, cleanupLogs),
LogCleaner.java (CleanerThread), UnifiedLog.java (removeExpiredProducers; KIP-854). Four timers:
one for checkpoints, one for retention, one for the cleaner, which also deletes the old segments of
logs that are compacted and deleted (KIP-71), one for idle producers. A fifth, where there are
delegation tokens, removes those that have expired. All but the cleaner's also see to the files of
segments and partitions that are gone (LogManager.deleteLogs); a sixth, which runs while files wait
to be deleted, does only that.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.controller.token_changes import sweep_tokens
from reference_impl.core.effects import Effect, Report, SetTimer
from reference_impl.core.events import TimerKey
from reference_impl.core.log.retention import delete_old_segments
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.storage import StorageError
from reference_impl.core.waiting.waits import Pause

TIMER = "housekeeping"
_CHECKPOINTS, _RETENTION, _CLEANER = (TIMER,), (TIMER, "retention"), (TIMER, "cleaner")
_PRODUCERS, _FILES = (TIMER, "producers"), (TIMER, "files")
_TOKENS = (TIMER, "tokens")
_NEXT_SLICE_MS = 1
"""The pause between two slices of work (cleaning, expired tokens), in milliseconds. Waiting
requests get their turn in it."""
_PAUSE = Pause()
"""The effect yielded after each partition: there may be thousands, and each may cost a sync of its
files."""
LEAST_INTERVAL_MS = 10
"""The shortest interval of checkpoints and of expired tokens. Kafka allows an interval of 0, but a
timer of 0 ms would leave no time for anything else."""


def start(broker: Broker) -> Iterator[Effect]:
    """Set the timers of the first round of each kind of work that is enabled."""
    yield _next_checkpoints(broker)
    yield _next_expiry(broker)
    yield SetTimer(_FILES, _NEXT_SLICE_MS)  # deletions that the last process did not finish
    yield SetTimer(_RETENTION, broker.config.number("log.initial.task.delay.ms"))
    if broker.config.flag("log.cleaner.enable"):
        yield SetTimer(_CLEANER, broker.config.number("log.cleaner.backoff.ms"))
    if broker.tokens.are_enabled:
        yield _next_sweep(broker)


def fired(broker: Broker, key: TimerKey) -> Iterator[Effect]:
    """Do one round of the periodic work (compaction, retention, checkpoints or others) that this
    timer stands for, and set its next timer. After each but compaction, delete the files that are
    due."""
    if key == _CLEANER:
        yield from _compact(broker)
        return
    if key == _RETENTION:
        yield from _apply_retention(broker)
    elif key == _PRODUCERS:
        yield from _forget_idle_producers(broker)
    elif key == _TOKENS:
        yield from _remove_expired_tokens(broker)
    elif key != _FILES:
        yield from _write_checkpoints(broker)
    yield from _delete_files(broker)


def _delete_files(broker: Broker) -> Iterator[Effect]:
    """Remove the partitions that are leaving this broker, delete the files of removed segments and
    partitions whose `file.delete.delay.ms` has passed, and set a timer if other files are still to
    be deleted later. Report an error of the disk instead of raising it."""
    dues_ms: list[int] = []
    try:
        for key in broker.replicas.leaving():
            broker.replicas.remove(key)
            yield _PAUSE
        for partition in _partitions(broker):
            while partition.log.retire_more():
                yield _PAUSE
        for due_ms in broker.logs.delete_due(broker.now_ms):
            if due_ms is not None:
                dues_ms.append(due_ms)
            yield _PAUSE
    except StorageError as error:
        yield Report(f"files that should be deleted are still there: {error}")
    if dues_ms:
        yield SetTimer(_FILES, max(min(dues_ms) - broker.now_ms, _NEXT_SLICE_MS))


def _partitions(broker: Broker) -> Generator[Partition, None, None]:
    """Yield the partitions of this broker, except those that are deleted while the caller
    iterates."""
    for partition in broker.replicas:
        if broker.replicas.holds(partition):
            yield partition


def _next_checkpoints(broker: Broker) -> SetTimer:
    return SetTimer(
        _CHECKPOINTS,
        max(
            LEAST_INTERVAL_MS,
            min(
                broker.config.number("log.flush.offset.checkpoint.interval.ms"),
                broker.config.number("log.flush.scheduler.interval.ms"),
            ),
        ),
    )


def _write_checkpoints(broker: Broker) -> Iterator[Effect]:
    """Flush the logs that are due, write the checkpoints, and set the timer of the next round.
    Report an error of the disk instead of raising it."""
    try:
        for partition in _partitions(broker):
            if partition.log.flush_is_due(broker.now_ms):
                partition.log.flush()
            yield _PAUSE
        broker.logs.checkpoint()
    except StorageError as error:
        yield Report(f"housekeeping did not finish: {error}")
    yield _next_checkpoints(broker)


def _next_expiry(broker: Broker) -> SetTimer:
    interval_ms = broker.config.number("producer.id.expiration.check.interval.ms")
    return SetTimer(_PRODUCERS, interval_ms)


def _forget_idle_producers(broker: Broker) -> Iterator[Effect]:
    expiration_ms = broker.config.number("producer.id.expiration.ms")
    for partition in _partitions(broker):
        partition.log.producer_state.remove_expired(broker.now_ms, expiration_ms)
        yield _PAUSE
    yield _next_expiry(broker)


def _next_sweep(broker: Broker) -> SetTimer:
    interval_ms = broker.config.number("delegation.token.expiry.check.interval.ms")
    return SetTimer(_TOKENS, max(LEAST_INTERVAL_MS, interval_ms))


def _remove_expired_tokens(broker: Broker) -> Iterator[Effect]:
    try:
        there_are_more = sweep_tokens(broker.controller)
    except StorageError as error:
        there_are_more = False
        yield Report(f"expired delegation tokens stay until the next round: {error}")
    yield SetTimer(_TOKENS, _NEXT_SLICE_MS) if there_are_more else _next_sweep(broker)


def _apply_retention(broker: Broker) -> Iterator[Effect]:
    for partition in _partitions(broker):
        if not partition.config.is_compacted:
            yield from _delete_old(broker, partition)
        yield _PAUSE
    yield SetTimer(_RETENTION, broker.config.number("log.retention.check.interval.ms"))


def _delete_old(broker: Broker, partition: Partition) -> Iterator[Effect]:
    log_start_offset = partition.log.log_start_offset
    try:
        delete_old_segments(partition.log, broker.now_ms, broker.rules)
    except StorageError as error:
        yield Report(
            f"{partition.topic}-{partition.index} keeps segments that should be deleted: {error}"
        )
    if partition.log.log_start_offset != log_start_offset:
        broker.purgatory.note_change(partition.topic, partition.index)


def _compact(broker: Broker) -> Iterator[Effect]:
    """Clean one slice of the log being cleaned, or of the next log to clean, and continue 1 ms
    later. If none needs cleaning, delete the old segments of compacted logs and wait for
    `log.cleaner.backoff.ms`."""
    cleaner = broker.cleaner
    if not cleaner.is_working:
        logs = [partition.log for partition in broker.replicas]
        memory_bytes = broker.config.number("log.cleaner.dedupe.buffer.size")
        if not cleaner.begin(logs, broker.now_ms, memory_bytes):
            for partition in _partitions(broker):
                if partition.config.is_compacted:
                    yield from _delete_old(broker, partition)
                yield _PAUSE
            backoff_ms = broker.config.number("log.cleaner.backoff.ms")
            yield SetTimer(_CLEANER, max(backoff_ms, _NEXT_SLICE_MS))
            return
    trouble = cleaner.work()
    if trouble is not None:
        yield Report(trouble)
    yield SetTimer(_CLEANER, _NEXT_SLICE_MS)
