"""The consumer with methods that an application awaits."""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Iterable, Mapping
from typing import Protocol, Self

from reference_impl.client import calls
from reference_impl.client.awaited.driver import Drive
from reference_impl.client.consumer import Consumer as ConsumerMachine
from reference_impl.client.effects import Change, PartitionsChanged
from reference_impl.client.group.subscription import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from reference_impl.client.values import (
    ConsumerGroupMetadata,
    ConsumerRecord,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    TopicPartition,
)


class RebalanceListener(Protocol):
    """The callbacks of an application for changes of its partitions
    (ConsumerRebalanceListener.java).

    The consumer waits until the coroutine is done: in `on_revoked`, offsets can still be committed.
    """

    async def on_assigned(self, partitions: tuple[TopicPartition, ...]) -> None:
        """Act on the partitions that the consumer has just been assigned."""

    async def on_revoked(self, partitions: tuple[TopicPartition, ...]) -> None:
        """Act on the partitions that are about to be revoked and are still owned."""

    async def on_lost(self, partitions: tuple[TopicPartition, ...]) -> None:
        """Act on the partitions that were lost; another member may own them already."""


class Consumer:
    """The consumer of an application that awaits its calls: each method makes one call of the state
    machine, and raises the ClientError with which that fails. It must be closed."""

    def __init__(self, machine: ConsumerMachine, drive: Drive) -> None:
        self.machine = machine
        self._driver = drive(machine, self._changed)
        self._listener: RebalanceListener | None = None
        self._has_crashed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def assignment(self) -> tuple[TopicPartition, ...]:
        """The partitions that this consumer holds, including those that are paused."""
        return self.machine.assignment

    @property
    def group_metadata(self) -> ConsumerGroupMetadata:
        """The identity of this consumer in the group, for `send_offsets_to_transaction`. Raise
        IllegalState without group.id."""
        return self.machine.group_metadata

    # --- what is read -------------------------------------------------------------------------

    async def subscribe(
        self, topics: Iterable[str], listener: RebalanceListener | None = None
    ) -> None:
        """Subscribe to these topics in place of earlier ones. The next `poll` joins the group,
        which assigns their partitions; the listener hears of each change. Raise IllegalState
        without group.id, or while partitions are assigned or a pattern is subscribed."""
        self._listener = listener
        await self._driver.call(calls.Subscribe(frozenset(topics), listener is not None))

    async def subscribe_pattern(
        self, pattern: str, listener: RebalanceListener | None = None
    ) -> None:
        """Subscribe to all topics whose whole names match the pattern (RE2/J), which the broker
        evaluates; the listener hears of each change. Raise IllegalState without group.id
        and `group.protocol=consumer`, or while topics are subscribed by name or partitions
        assigned."""
        self._listener = listener
        await self._driver.call(calls.SubscribePattern(pattern, listener is not None))

    async def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions, in place of those assigned before and without joining a
        group. Raise IllegalState while topics are subscribed."""
        await self._driver.call(calls.Assign(frozenset(partitions)))

    async def unsubscribe(self) -> None:
        """Leave the group, or stop reading the assigned partitions; before that, commit the
        positions if `enable.auto.commit` is on."""
        await self._driver.call(calls.Unsubscribe())

    def _changed(self, effect: PartitionsChanged) -> None:
        if self._listener is not None:
            self._driver.spawn(self._handle(self._listener, effect))

    async def _handle(self, listener: RebalanceListener, effect: PartitionsChanged) -> None:
        handlers = {
            Change.ASSIGNED: listener.on_assigned,
            Change.REVOKED: listener.on_revoked,
            Change.LOST: listener.on_lost,
        }
        try:
            await handlers[effect.change](effect.partitions)
        finally:
            if not self._has_crashed:
                await self._driver.call(calls.ChangeHandled())

    # --- reading ------------------------------------------------------------------------------

    async def poll(
        self, timeout_ms: int = 1_000, max_records: int | None = None
    ) -> list[ConsumerRecord]:
        """Return the next records (max_records None: at most max.poll.records), or [] after the
        timeout, and keep the membership alive. If `enable.auto.commit` is due, commit the positions
        first. Raise IllegalState during another poll, or if nothing is subscribed or assigned."""
        records: list[ConsumerRecord] = await self._driver.call(calls.Poll(timeout_ms, max_records))
        return records

    async def pause(self, partitions: Collection[TopicPartition]) -> None:
        """Fetch nothing from these partitions until they are resumed."""
        await self._driver.call(calls.Pause(frozenset(partitions)))

    async def resume(self, partitions: Collection[TopicPartition]) -> None:
        """Undo `pause`."""
        await self._driver.call(calls.Resume(frozenset(partitions)))

    async def seek(self, partition: TopicPartition, offset: int, leader_epoch: int = -1) -> None:
        """Continue reading the partition at this offset. leader_epoch: that of the record before
        it, -1 if it is unknown."""
        await self._driver.call(calls.Seek(partition, offset, leader_epoch))

    async def seek_to_beginning(self, partitions: Collection[TopicPartition] = ()) -> None:
        """Read from the start of these partitions, or of all that are assigned if none is given."""
        await self._driver.call(calls.SeekToBeginning(frozenset(partitions)))

    async def seek_to_end(self, partitions: Collection[TopicPartition] = ()) -> None:
        """Read the records that come after the end of these partitions, or of all that are assigned
        if none is given."""
        await self._driver.call(calls.SeekToEnd(frozenset(partitions)))

    # --- offsets ------------------------------------------------------------------------------

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None
    ) -> None:
        """Commit these offsets, or the positions if None, and wait until it is done."""
        await self._driver.call(calls.Commit(offsets))

    def commit_soon(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None
    ) -> Awaitable[dict[TopicPartition, OffsetAndMetadata]]:
        """Commit these offsets, or the positions if None, without waiting. Awaiting the result
        returns what was committed, or raises the error."""
        return self._driver.call(calls.Commit(offsets))

    async def committed(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the group's committed offsets of these partitions, without those that have
        none."""
        offsets: dict[TopicPartition, OffsetAndMetadata] = await self._driver.call(
            calls.Committed(frozenset(partitions))
        )
        return offsets

    async def position(self, partition: TopicPartition) -> int:
        """Wait until the position of an assigned partition is known, and return it: the offset of
        the next record. Raise IllegalState if the partition is not assigned."""
        offset: int = await self._driver.call(calls.Position(partition))
        return offset

    def positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the next offsets of all partitions whose position is known."""
        return self.machine.positions

    async def offsets_for_times(
        self, times: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return, for each partition, the first record at or after its timestamp, or None."""
        found: dict[TopicPartition, OffsetAndTimestamp | None] = await self._driver.call(
            calls.OffsetsForTimes(times)
        )
        return found

    async def beginning_offsets(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Return the log start offsets of these partitions."""
        return await self._offsets_at(partitions, EARLIEST_TIMESTAMP)

    async def end_offsets(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Return the high watermarks of these partitions or, under read_committed, their last
        stable offsets."""
        return await self._offsets_at(partitions, LATEST_TIMESTAMP)

    async def _offsets_at(
        self, partitions: Collection[TopicPartition], timestamp_ms: int
    ) -> dict[TopicPartition, int]:
        found = await self.offsets_for_times(dict.fromkeys(partitions, timestamp_ms))
        return {each: offset.offset for each, offset in found.items() if offset is not None}

    async def partitions_for(self, topic: str) -> list[int]:
        """Wait until the partitions of a topic are known, and return their sorted numbers."""
        partitions: list[int] = await self._driver.call(calls.PartitionsFor(topic))
        return partitions

    async def close(self, timeout_ms: int = 30_000) -> None:
        """Commit the positions (`enable.auto.commit`) and leave the group, within this time, then
        drop the connections. No call may follow."""
        await self._driver.call(calls.Close(timeout_ms))
        self._driver.close()

    def crash(self) -> None:
        """Stop as a crash would: commit nothing and do not leave the group, which notices when the
        session times out."""
        self._has_crashed = True
        self._driver.close()
