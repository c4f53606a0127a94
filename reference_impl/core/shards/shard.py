"""One shard: the state of a coordinator that results from the records of one partition of its
topic, during one leadership.

Source: CoordinatorRuntime.java (CoordinatorContext), CoordinatorShard.java,
CoordinatorLoaderImpl.java, CoordinatorTimerImpl.java. A shard is never reused: the next leadership
of the same broker gets a new shard. Handlers and timers left over from the last leadership find the
old shard closed, and can neither read nor write.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from reference_impl.core.effects import CancelTimer, Effect, SetTimer
from reference_impl.core.events import TimerKey
from reference_impl.core.log.replaying import replaying
from reference_impl.core.partitions.keyed_topic import KeyedTopic
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules
from reference_impl.core.shards.states import SHARD, Move, State
from reference_impl.wire import RecordBatch, read_header

SLICE_BYTES = 1 << 17
"""The number of bytes of a log that are read before other requests are served."""


class Shard(ABC):
    """The part of a coordinator whose state is stored in one partition; one object for each
    leadership of this broker. `Shards` makes and closes it."""

    def __init__(self, topic: KeyedTopic, partition: Partition, rules: Rules) -> None:
        self.topic, self.rules = topic, rules
        self._partition = partition
        self.index, self.leader_epoch = partition.index, partition.leader_epoch
        self.state = State.INITIAL
        self.loaded_to = partition.log.log_start_offset
        """The offset up to which the log has been replayed."""
        self.timers: dict[TimerKey, None] = {}
        """The keys of the timers that run for this shard."""

    def __str__(self) -> str:
        return f"{self._partition.topic}-{self.index}"

    def move(self, move: Move) -> None:
        """Change the state as the table of transitions says for this move. Raise KeyError for a
        move that the state does not allow."""
        self.state = SHARD[self.state][move]

    @property
    def is_closed(self) -> bool:
        """Return whether this broker no longer leads the partition, or leads it in another epoch
        than that of this shard."""
        return self.state is State.CLOSED

    # --- the log ------------------------------------------------------------------------------

    def partition(self) -> Partition:
        """Return the partition, and note that its state is read, so that the answer waits until
        what was read is replicated. Raise Refused(NOT_COORDINATOR) if the leadership for which this
        shard was loaded is over, since its state may be old."""
        self.rules.check_shard_leads(self._partition, self.leader_epoch)
        self.topic.note_read(self._partition)
        return self._partition

    def load_some(self) -> bool:
        """Replay the next part of the log (some 128 KiB), and return whether that was the last.
        Raise CorruptLog or StorageError for what cannot be read."""
        log = self._partition.log
        read_bytes = 0
        for data in log.batches(self.loaded_to):
            batch = RecordBatch.decode(data)[0]
            with replaying(log.directory, batch.base_offset):
                self.replay(batch)
            self.loaded_to = read_header(data).last_offset + 1
            read_bytes += len(data)
            if read_bytes >= SLICE_BYTES:
                break
        else:
            self.loaded_to = log.log_end_offset
        return self.rules.is_loaded(self.loaded_to, log.log_end_offset)

    @abstractmethod
    def replay(self, batch: RecordBatch) -> None:
        """Apply one batch of the log to the state of this shard."""

    @abstractmethod
    def loaded(self) -> Iterator[Effect]:
        """Continue the work of the last leader, once the whole log is loaded: start timers, finish
        decided changes."""

    @abstractmethod
    def unloaded(self) -> Iterator[Effect]:
        """Refuse the requests that wait for an answer, because this broker no longer leads the
        partition."""

    # --- timers -------------------------------------------------------------------------------

    def own(self, timer: SetTimer | CancelTimer) -> None:
        """Put the partition and the leader epoch into the key of a timer, in place, so that the
        timer has no effect after this leadership; and keep account of the timers that run."""
        name, *rest = timer.key
        timer.key = (name, self.index, self.leader_epoch, *rest)
        if isinstance(timer, SetTimer):
            self.timers[timer.key] = None
        else:
            self.timers.pop(timer.key, None)

    def cancel_timers(self) -> Iterator[Effect]:
        """Yield the effects that cancel every timer of the shard, which then counts none as
        running."""
        timers, self.timers = self.timers, {}
        for key in timers:
            yield CancelTimer(key)
