"""All shards of one coordinator on this broker: found by key, loaded and unloaded as partitions
come and go.

Source: CoordinatorRuntime.java (scheduleLoadOperation, scheduleUnloadOperation,
withActiveContextOrThrow), BrokerMetadataPublisher.scala (updateCoordinator). As in Kafka, shards
are loaded one after another. Unlike Kafka's group coordinator, a broker that is elected again in a
later epoch always loads the log again, so that there is only one way to begin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from reference_impl.core.effects import CancelTimer, Effect, Report, SetTimer
from reference_impl.core.events import TimerKey
from reference_impl.core.log.batch_scan import CorruptLog
from reference_impl.core.partitions.keyed_topic import KeyedTopic
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.refused import Refused
from reference_impl.core.rules import Rules
from reference_impl.core.shards.shard import Shard
from reference_impl.core.shards.states import Move, State
from reference_impl.core.storage import StorageError
from reference_impl.core.waiting.waits import Outbox, Pause, Replicated
from reference_impl.wire import ErrorCode

AnyShard = TypeVar("AnyShard", bound=Shard)


class Shards(Generic[AnyShard]):
    """The shards of one coordinator on this broker, by partition index; only those of partitions
    that this broker leads, or has just ceased to lead."""

    def __init__(
        self, topic: KeyedTopic, rules: Rules, outbox: Outbox, make: Callable[[Partition], AnyShard]
    ) -> None:
        self.topic, self.rules = topic, rules
        self._outbox, self.make = outbox, make
        self._shards: dict[int, AnyShard] = {}
        self._to_load: list[AnyShard] = []

    # --- found --------------------------------------------------------------------------------

    def of(self, key: str) -> AnyShard:
        """Return the shard that keeps a key. Raise Refused if this broker does not coordinate the
        key, is still loading the shard, or could not read it."""
        return self.at(self.topic.index_of(key))

    def at(self, index: int) -> AnyShard:
        """Return the shard of a partition. Raise Refused if there is none, if it is still loading,
        or if it could not be read."""
        shard = self._shards.get(index)
        if shard is None:
            raise Refused(ErrorCode.NOT_COORDINATOR)
        self.rules.check_shard_state(shard.state)
        return shard

    def active(self) -> list[AnyShard]:
        """Return the shards that are loaded and at work, so neither those that load nor those that
        could not be read."""
        return [each for each in self._shards.values() if each.state is State.ACTIVE]

    @property
    def is_loading(self) -> bool:
        """Return whether any shard is being loaded."""
        return any(each.state is State.LOADING for each in self._shards.values())

    def known(self, index: int) -> AnyShard | None:
        """Return the shard of a partition, whatever its state, or None."""
        return self._shards.get(index)

    def timed(self, key: TimerKey) -> AnyShard | None:
        """Return the shard whose timer fires, with the timer no longer counted as running. Return
        None if that leadership is over."""
        shard = self._shards.get(int(key[1]))
        if shard is None or shard.leader_epoch != key[2]:
            return None
        shard.timers.pop(key, None)
        return shard

    # --- with the leadership of partitions ----------------------------------------------------

    def follow(self, index: int) -> None:
        """Adjust the shard of a partition to who leads it now: close that of an earlier leadership,
        and begin to load one, in the background, if this broker leads the partition."""
        partition = self.topic.held(index)
        shard = self._shards.get(index)
        epoch = None if partition is None or not partition.leads else partition.leader_epoch
        if shard is not None and self.rules.shard_has_ended(shard.leader_epoch, epoch):
            self._close(shard)
        if partition is not None and epoch is not None and index not in self._shards:
            shard = self._shards[index] = self.make(partition)
            shard.move(Move.ELECTED)
            self._to_load.append(shard)
            self._outbox.post(f"load {self.topic.name}", self._load())

    def _close(self, shard: AnyShard) -> None:
        """Close a shard and drop it at once. At the end of the step, cancel its timers and refuse
        the requests that wait for it."""
        del self._shards[shard.index]
        shard.move(Move.RESIGNED)
        name = f"unload {shard} of leader epoch {shard.leader_epoch}"
        self._outbox.post(name, self._unload(shard))

    def _unload(self, shard: AnyShard) -> Iterator[Effect]:
        yield from shard.cancel_timers()
        yield from shard.unloaded()

    def _load(self) -> Iterator[Effect]:
        """Load the shards one after another, and let other requests have their turn in between.
        Report those that cannot be read."""
        while self._to_load:
            shard = self._to_load.pop(0)
            try:
                while shard.state is State.LOADING and not shard.load_some():
                    yield Pause()
            except (CorruptLog, StorageError) as error:
                shard.move(Move.CANNOT_BE_READ)
                yield Report(
                    f"{shard} cannot be loaded and refuses requests until it is repaired: {error}"
                )
            if shard.state is State.LOADING:
                name = f"begin {shard} of leader epoch {shard.leader_epoch}"
                self._outbox.post(name, self._begin(shard))
            yield Pause()

    def _begin(self, shard: AnyShard) -> Iterator[Effect]:
        """Wait until all records that a shard has loaded are replicated, since records that only
        this leader has may still be lost; then let it start work."""
        try:
            if (wait := self._replication_of(shard)) is not None:
                yield wait
        except Refused:
            return  # no longer the leader: `follow` has closed the shard, or will
        if shard.state is State.LOADING:
            shard.move(Move.LOADED)
            yield from owned(shard, shard.loaded())

    def _replication_of(self, shard: AnyShard) -> Replicated | None:
        partition = self.topic.held(shard.index)
        if partition is None or self.rules.may_begin(shard.loaded_to, partition.high_watermark):
            return None
        return Replicated(self.topic.name, shard.index, shard.loaded_to)


def owned(shard: Shard, effects: Iterator[Effect]) -> Iterator[Effect]:
    """Yield these effects; put the shard's partition and leader epoch into the key of each
    timer."""
    for effect in effects:
        if isinstance(effect, SetTimer | CancelTimer):
            shard.own(effect)
        yield effect
