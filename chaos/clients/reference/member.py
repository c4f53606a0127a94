"""Members of consumer groups by the reference client, of both protocols: subscribe, poll, commit,
leave, crash.

A poll of this client lets the group change the assignment first (it calls the listener and waits
for it), then returns records of the new assignment; while a change is in progress it returns none.
So the history has a rebalance before the records of its poll. An automatic commit covers records of
earlier polls, which the history has by then. A crash is imitated by cutting the client's
connections. Sources: reference_impl/client/README.md; KIP-848.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chaos.clients.membership_rows import MembershipRows, group_settings, member_times
from chaos.clients.whole_partitions import together
from chaos.record.outcomes import read_outcome
from chaos.values.protocols import (
    CommitOffsets,
    Completion,
    Crash,
    GroupProtocol,
    GroupSettings,
    Leave,
    Outcome,
    Poll,
    Record,
    Subscribe,
)
from chaos.world import World
from reference_impl.client.awaited.consumer import Consumer
from reference_impl.client.errors import ClientError
from reference_impl.client.values import ConsumerRecord, OffsetAndMetadata, TopicPartition

CLASSIC_ASSIGNORS = {"range": "RangeAssignor", "cooperative-sticky": "CooperativeStickyAssignor"}
"""The name of an assignor in librdkafka -> its name in Java and in the reference client."""
COMMIT_TIMEOUT_MS = 15_000
LEAVE_TIMEOUT_MS = 5_000


def member_config(group: GroupSettings) -> dict[str, Any]:
    """Return the settings that a group member needs in addition to those of a reader without a
    group."""
    config: dict[str, Any] = {
        "group.id": group.name,
        "group.protocol": group.protocol.value,
        **_assignor(group),
        "enable.auto.commit": group.auto_commit,
        "auto.commit.interval.ms": 1_000,
        "auto.offset.reset": "earliest",
        "default.api.timeout.ms": COMMIT_TIMEOUT_MS,
        **member_times(group),
    }
    return config | ({"group.instance.id": group.instance_id} if group.instance_id else {})


def _assignor(group: GroupSettings) -> dict[str, str]:
    if group.protocol is GroupProtocol.CONSUMER:
        return {"group.remote.assignor": group.assignor}
    return {"partition.assignment.strategy": CLASSIC_ASSIGNORS[group.assignor]}


class ReferenceMember:
    """Acts as a member of one group for one process of a workload; each Subscribe begins a new
    membership, after a crash of the one before."""

    def __init__(
        self,
        world: World,
        group: GroupSettings | None,
        make: Callable[[], Consumer],
        record_of: Callable[[ConsumerRecord], Record],
    ) -> None:
        """Start without a consumer. make: creates a new consumer of the group. group: None for a
        client that performs no group operations."""
        self._settings = group_settings(group) if group is not None else {}
        self._rows = MembershipRows(world, self._settings)
        self._make = make
        self._record_of = record_of
        self._consumer: Consumer | None = None
        self._has_rebalanced = False
        self._member_id: str | None = None
        self._positions: dict[TopicPartition, OffsetAndMetadata] = {}
        """Partition -> the offset after the last record taken, for the partitions that this member
        owns."""

    # --- operations -----------------------------------------------------------------------------

    async def subscribe(self, subscribe: Subscribe) -> Completion:
        await self.crash(Crash())  # a process is one member at a time
        self._consumer = self._make()
        await self._consumer.subscribe(subscribe.topics, self)
        return Completion(Outcome.OK, columns=self._settings)

    async def poll(self, poll: Poll) -> Completion:
        """Poll records of one assignment. Return a completion whose `rebalanced` says whether the
        assignment differs from that of the last poll. Return FAIL without a subscription."""
        consumer = self._consumer
        if consumer is None:
            return Completion(Outcome.FAIL, (), "_STATE", "there is no subscription")
        self._has_rebalanced = False
        try:
            found = await consumer.poll(int(poll.timeout_s * 1000), poll.max_records)
        except ClientError as error:
            return Completion(
                read_outcome(error.name),
                (),
                error.name,
                str(error),
                error.fatal,
                self._identity(consumer),
                self._has_rebalanced,
                self._rows.take(),
            )
        for record in found:
            partition = TopicPartition(record.topic, record.partition)
            self._positions[partition] = OffsetAndMetadata(
                record.offset + 1, leader_epoch=record.leader_epoch
            )
        records = [self._record_of(record) for record in found]
        columns = self._identity(consumer)
        return Completion(
            Outcome.OK,
            records,
            columns=columns,
            rebalanced=self._has_rebalanced,
            more_rows=self._rows.take(),
        )

    async def commit(self, _: CommitOffsets) -> Completion:
        """Commit the positions after the records polled since the last commit, and wait. Return OK
        without a request if there are none. After an error the outcome is INFO, and the positions
        are dropped, too."""
        consumer = self._consumer
        positions, self._positions = self._positions, {}
        if consumer is None or not positions:
            return Completion(Outcome.OK)
        before = self._identity(consumer)
        outcome, name, detail, broken = Outcome.OK, None, None, False
        try:
            await consumer.commit(positions)
        except ClientError as error:
            # An attempt before the last one may have been written, though its answer was lost.
            outcome, name, detail = Outcome.INFO, error.name, str(error)
            broken = error.fatal
        records = [
            Record(*each, None, committed.offset, outcome, name)
            for each, committed in positions.items()
        ]
        columns = self._identity(consumer)
        if columns != before:
            columns["generation"] = None  # committed in this epoch or in the one before
        return Completion(together(records), records, name, detail, broken, columns)

    async def leave(self, _: Leave) -> Completion:
        """Close the consumer, which leaves the group and, if commits are automatic, commits
        first."""
        consumer, self._consumer = self._consumer, None
        self._forget()
        if consumer is not None:
            await consumer.close(LEAVE_TIMEOUT_MS)
        return Completion(Outcome.OK)

    async def crash(self, _: Crash) -> Completion:
        """Cut the consumer's connections without LeaveGroup: the group notices when the session
        times out."""
        consumer, self._consumer = self._consumer, None
        self._forget()
        if consumer is not None:
            consumer.crash()
        return Completion(Outcome.OK)

    def _forget(self) -> None:
        self._positions, self._member_id = {}, None
        self._rows.clear()

    def _identity(self, consumer: Consumer) -> dict[str, Any]:
        """Return the columns member_id and generation, null before the member has joined. A member
        that was removed during a poll has no id at the poll's end, but its records were delivered
        before: return its last id, with the generation null."""
        group = consumer.group_metadata
        self._member_id = group.member_id or self._member_id
        epoch = group.generation_id
        return {"member_id": self._member_id, "generation": epoch if epoch >= 0 else None}

    # --- what the client says while it is polled ------------------------------------------------

    async def on_assigned(self, partitions: tuple[TopicPartition, ...]) -> None:
        """Begin to read these partitions at the group's committed offsets, and keep the history
        rows of the new assignment. The consumer calls this during a poll."""
        self._has_rebalanced = True
        consumer = self._consumer
        assert consumer is not None
        identity = self._identity(consumer)
        self._rows.assigned(await self._begin(consumer, partitions), partitions, identity)

    async def _begin(
        self, consumer: Consumer, partitions: tuple[TopicPartition, ...]
    ) -> dict[tuple[str, int], int | None] | None:
        """Seek to the committed offsets, or to the log start where there is none. Return partition
        -> committed offset or None. Return None as a whole, without seeking, if the coordinator
        does not answer."""
        try:
            found = await consumer.committed(partitions) if partitions else {}
        except ClientError:
            return None
        for partition, committed in found.items():
            await consumer.seek(partition, committed.offset, committed.leader_epoch)
        none = [each for each in partitions if each not in found]
        if none:
            await consumer.seek_to_beginning(none)
        return {each: found[each].offset if each in found else None for each in partitions}

    async def on_revoked(self, partitions: tuple[TopicPartition, ...]) -> None:
        """Record that the member is about to give up these partitions, and drop their positions."""
        self._has_rebalanced = True
        if self._consumer is not None:
            self._rows.revoked(partitions, self._identity(self._consumer))
        for each in partitions:
            self._positions.pop(each, None)

    async def on_lost(self, partitions: tuple[TopicPartition, ...]) -> None:
        """Record that the member has lost these partitions, and drop their positions."""
        await self.on_revoked(partitions)
