"""Operations on topics and on committed offsets, performed over our own codec whatever client the
run uses for the others.

Sources: CreateTopicsRequest.json, DeleteTopicsRequest.json (by id, KIP-516),
DeleteRecordsRequest.json (KIP-107); UnifiedLog, maybeIncrementLogStartOffset.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from typing import Any
from uuid import UUID

from chaos.clients.transaction_rows import answered
from chaos.clients.wire import group_offsets
from chaos.clients.wire.admin import Admin
from chaos.clients.wire.raw import RawClient
from chaos.clients.wire.raw_member import live_as_member
from chaos.clients.wire.raw_producer import RawProducer
from chaos.clients.wire.strangers import join_as_stranger
from chaos.clients.wire.wire_link import WireCluster, insist, kafka_name
from chaos.means.connection import WireError
from chaos.values.operations import (
    AskEnds,
    CommitInTransaction,
    CommitPosition,
    DeletePositions,
    DeleteRecords,
    FetchPositions,
    Grow,
    JoinAsStranger,
    LeaveOpen,
    LiveAsMember,
    ReadLatest,
    Recreate,
    SendOffsets,
)
from chaos.values.protocols import (
    Abort,
    Begin,
    Client,
    ClientFactory,
    ClientSettings,
    Commit,
    Completion,
    Operation,
    Outcome,
    Send,
    TopicSpec,
)
from chaos.world import Address, World
from linearizability.history import F
from reference_impl.wire import ApiKey, request_definition

RECREATE_TIMEOUT_S = 45.0
"""The limit in seconds for re-creating a topic, or for adding partitions: longer than any node is
down, since a topic must not be left half re-created."""
TO_HIGH_WATERMARK = -1  # DeleteRecordsRequest.json, field Offset
REQUEST_TIMEOUT_MS = 5_000
JOIN_TIMEOUT_S = 30.0
"""The seconds for which a JoinGroup may wait for other members."""
UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, OFFSET_OUT_OF_RANGE = 3, 100, 1
INVALID_PARTITIONS = 37
REFUSED = frozenset({UNKNOWN_TOPIC_OR_PARTITION, OFFSET_OUT_OF_RANGE})
"""The errors of DeleteRecords that prove that nothing was deleted. Other errors may come after the
deletion, while the leader waits for the followers."""


MakeClients = Callable[[World, bytes], ClientFactory]
"""A function of (world, nonce of the run) that makes the factory of the run's clients."""
PERFORMED = (
    Recreate,
    DeleteRecords,
    ReadLatest,
    AskEnds,
    CommitPosition,
    CommitInTransaction,
    DeletePositions,
    FetchPositions,
    Grow,
    LeaveOpen,
    LiveAsMember,
    JoinAsStranger,
)


class Operator:
    """Performs the operations in PERFORMED over our own codec, for one process of a workload."""

    def __init__(self, world: World, bootstrap: str, nonce: bytes) -> None:
        self._world = world
        self._bootstrap = bootstrap
        self._nonce = nonce
        self._raw = RawClient(world, bootstrap, nonce)
        self._cluster = WireCluster(world, bootstrap)

    async def perform(self, operation: Operation) -> Completion:
        match operation:
            case Recreate():
                return await self._recreate(operation)
            case Grow():
                return await self._grow(operation)
            case DeleteRecords():
                return await self._delete_records(operation)
            case ReadLatest():
                return await self._raw.read_latest(operation.topic, operation.partition)
            case AskEnds():
                return await self._raw.ask_ends(operation)
            case CommitPosition():
                return await group_offsets.commit(self._cluster, operation)
            case CommitInTransaction():
                return await self._commit_in_transaction(operation)
            case LeaveOpen():
                return await self._leave_open(operation)
            case JoinAsStranger():
                return await join_as_stranger(self._cluster, operation)
            case LiveAsMember():
                return await self._live(operation)
            case DeletePositions():
                return await group_offsets.delete(self._cluster, operation)
            case FetchPositions():
                return await group_offsets.fetch(self._cluster, operation)
        raise TypeError(f"the operator does not perform {operation}")

    # --- a topic that is created again ------------------------------------------------------------

    async def _recreate(self, recreate: Recreate) -> Completion:
        """Delete the topic, create it again, and wait until every broker knows of both changes.
        Return the new topic id as a column, or INFO if RECREATE_TIMEOUT_S is over before.

        The deletion names the topic's id, so that a late attempt cannot delete the next topic of
        the same name.
        """
        deadline = self._world.monotonic() + RECREATE_TIMEOUT_S
        name, columns = recreate.topic.name, {"timestamp_ms": self._world.wall_ns() // 1_000_000}
        try:
            old = set(await insist(self._world, lambda: self._ids(name), deadline)) - {""}
            for each in sorted(old):
                await insist(self._world, partial(self._delete, each), deadline)
            create = partial(self._create_again, recreate, old, deadline)
            topic_id = await insist(self._world, create, deadline)
        except WireError as error:
            return Completion(Outcome.INFO, (), type(error).__name__, str(error), columns=columns)
        return Completion(Outcome.OK, columns={**columns, "topic_id": topic_id})

    async def _create_again(self, recreate: Recreate, old: Set[str], deadline: float) -> str:
        """Create the topic, unless the metadata request of a producer has done so meanwhile, and
        return its id, which is none of the old ones. Raise WireError until all brokers have it."""
        topic, gone = recreate.topic, ""
        topic_id = await self._agreed_id(topic.name, old)
        if topic_id == gone:
            left_s = max(1.0, deadline - self._world.monotonic())
            admin = Admin(self._world, self._bootstrap)
            try:
                await admin.create_topics([topic], recreate.replication_factor, left_s)
            finally:
                admin.close()
            topic_id = await self._agreed_id(topic.name, {*old, gone})
        await self._add_missing(topic)
        return topic_id

    async def _ids(self, name: str) -> list[str]:
        """Return the topic's id according to each broker, "" where a broker does not know the
        topic. Raise WireError unless all brokers answer, but for bootstrap brokers that the others
        do not count as alive: such a one may answer clients from old metadata, or be gone."""
        alive = [*(await self._cluster.view([])).brokers.values()]
        found = [await self._id_at(each, name) for each in alive]
        for each in self._cluster.bootstrap:
            if each not in alive:
                with suppress(WireError):
                    found.append(await self._id_at(each, name))
        return found

    async def _id_at(self, broker: Address, name: str) -> str:
        return (await self._cluster.view([name], broker)).topic_ids.get(name, "")

    async def _agreed_id(self, name: str, old: Set[str]) -> str:
        """Return the id that all brokers have for a topic, or "" if none has one. Raise WireError
        if they differ, or one has an id in `old`."""
        found = set(await self._ids(name))
        if len(found) != 1 or found & old:
            raise WireError(
                f"topic {name} should have one new id on all brokers; their metadata has"
                f" {sorted(found)} ('': none), of which {sorted(found & old)} should be gone"
            )
        return found.pop()

    async def _delete(self, topic_id: str) -> None:
        struct = request_definition(ApiKey.DELETE_TOPICS).struct
        state = struct("DeleteTopicState", name=None, topic_id=UUID(topic_id))
        answer = await self._cluster.ask_any(
            ApiKey.DELETE_TOPICS, topics=[state], timeout_ms=REQUEST_TIMEOUT_MS
        )
        code = answer.responses[0].error_code
        if code not in (0, UNKNOWN_TOPIC_ID):
            raise WireError(f"topic {topic_id} is not deleted: {kafka_name(code)}")

    async def _grow(self, grow: Grow) -> Completion:
        """Add partitions to the topic, and wait until every broker knows all of them. Return INFO
        if RECREATE_TIMEOUT_S is over before."""
        deadline = self._world.monotonic() + RECREATE_TIMEOUT_S
        columns = {"timestamp_ms": self._world.wall_ns() // 1_000_000}
        try:
            await insist(self._world, partial(self._create_partitions, grow.topic), deadline)
            await insist(self._world, partial(self._check_grown, grow.topic), deadline)
        except WireError as error:
            return Completion(Outcome.INFO, (), type(error).__name__, str(error), columns=columns)
        return Completion(Outcome.OK, columns=columns)

    async def _create_partitions(self, topic: TopicSpec) -> None:
        struct = request_definition(ApiKey.CREATE_PARTITIONS).struct
        wanted = struct(
            "CreatePartitionsTopic", name=topic.name, count=topic.partitions, assignments=None
        )
        answer = await self._cluster.ask_any(
            ApiKey.CREATE_PARTITIONS, topics=[wanted], timeout_ms=REQUEST_TIMEOUT_MS
        )
        code = answer.results[0].error_code
        if code not in (0, INVALID_PARTITIONS):  # it has that many already
            raise WireError(
                f"topic {topic.name} could not be given more partitions: {kafka_name(code)}"
            )

    async def _add_missing(self, topic: TopicSpec) -> None:
        """Add the partitions that the topic lacks if a producer has created it: a topic that is
        created automatically has as many as the broker's num.partitions. Raise WireError until
        every broker names a leader for each."""
        found = (await self._cluster.view([topic.name])).partitions
        if any((topic.name, partition) not in found for partition in range(topic.partitions)):
            await self._create_partitions(topic)
            await self._check_grown(topic)

    async def _check_grown(self, topic: TopicSpec) -> None:
        """Raise WireError unless each broker's metadata names a leader for every partition of the
        topic."""
        for broker in (await self._cluster.view([])).brokers.values():
            view = await self._cluster.view([topic.name], broker)
            for partition in range(topic.partitions):
                state = view.partitions.get((topic.name, partition))
                if state is None or state.leader < 0:
                    raise WireError(f"{topic.name}-{partition} has no leader yet")

    # --- positions ------------------------------------------------------------------------------

    async def _live(self, operation: LiveAsMember) -> Completion:
        other = WireCluster(self._world, self._bootstrap, JOIN_TIMEOUT_S)
        try:
            return await live_as_member(self._cluster, other, operation)
        finally:
            other.close()

    async def _commit_in_transaction(self, commit: CommitInTransaction) -> Completion:
        """Send InitProducerId and TxnOffsetCommit, then end the transaction: commit it, or abort it
        if the offsets were refused. The outcome is that of the end; a row in `more_rows` has that
        of the offsets. Return FAIL if InitProducerId was not answered well."""
        settings = ClientSettings(transactional=True, transactional_id=commit.transactional_id)
        producer = RawProducer(self._world, self._bootstrap, settings, self._nonce)
        try:
            begun = await producer.perform(Begin())
            if begun.outcome is not Outcome.OK:
                return Completion(Outcome.FAIL, (), begun.error, begun.detail)
            offsets = ((commit.partition, commit.offset),)
            send = SendOffsets(commit.group, commit.topic, offsets, commit.member)
            sent = await producer.perform(send)
            was_refused = sent.outcome is not Outcome.OK
            ended = await producer.perform(Abort() if was_refused else Commit())
        finally:
            await producer.close()
        row: dict[str, Any] = {
            "f": F.SEND_OFFSETS.value,
            "group": commit.group,
            "topic": commit.topic,
            "partition": commit.partition,
            "offset": commit.offset,
            "member_id": commit.member.member_id,
            "generation": commit.member.generation,
            **sent.columns,
        }
        told = (
            *begun.more_rows,
            *answered(self._world.monotonic_ns(), [row], sent.outcome, sent.error),
        )
        return Completion(ended.outcome, (), ended.error, ended.detail, more_rows=told)

    async def _leave_open(self, send: LeaveOpen) -> Completion:
        """Send InitProducerId and the records, and leave the transaction open. Return the outcome
        of the records, or FAIL if InitProducerId was refused or not answered."""
        settings = ClientSettings(
            transactional=True,
            transactional_id=send.transactional_id,
            transaction_timeout_ms=send.timeout_ms,
        )
        producer = RawProducer(self._world, self._bootstrap, settings, self._nonce)
        try:
            begun = await producer.perform(Begin())
            if begun.outcome is not Outcome.OK:
                return Completion(Outcome.FAIL, (), begun.error, begun.detail)
            as_asked = {each.name: getattr(send, each.name) for each in fields(Send)}
            sent = await producer.perform(Send(**as_asked))
        finally:
            await producer.close()
        return replace(sent, more_rows=(*begun.more_rows, *sent.more_rows), broken=False)

    # --- records --------------------------------------------------------------------------------

    async def _delete_records(self, delete: DeleteRecords) -> Completion:
        """Send DeleteRecords once: a second attempt would hide the outcome of the first. If it
        succeeds, also fetch the offset just below the new log start, which should be refused.
        Return FAIL for the errors in REFUSED, INFO for any other and for no answer."""
        struct = request_definition(ApiKey.DELETE_RECORDS).struct
        offset = TO_HIGH_WATERMARK if delete.offset is None else delete.offset
        wanted = struct("DeleteRecordsPartition", partition_index=delete.partition, offset=offset)
        columns: dict[str, Any] = {}
        try:
            leader = await self._cluster.leader(delete.topic, delete.partition)
            columns["leader_epoch"] = leader.epoch
            answer = await self._cluster.ask(
                leader.address,
                ApiKey.DELETE_RECORDS,
                timeout_ms=REQUEST_TIMEOUT_MS,
                topics=[struct("DeleteRecordsTopic", name=delete.topic, partitions=[wanted])],
            )
        except WireError as error:
            return Completion(Outcome.INFO, (), type(error).__name__, str(error), columns=columns)
        found = answer.topics[0].partitions[0]
        if found.error_code == 0:
            below = await self._raw.fetch_below(
                leader, delete.topic, delete.partition, found.low_watermark
            )
            columns |= {"log_start": found.low_watermark} | below
            return Completion(Outcome.OK, columns=columns)
        outcome = Outcome.FAIL if found.error_code in REFUSED else Outcome.INFO
        return Completion(outcome, (), kafka_name(found.error_code), columns=columns)

    async def close(self) -> None:
        self._cluster.close()
        await self._raw.close()


class WithOperator:
    """A client that hands the operations in PERFORMED to an Operator, which it makes for the first
    of them, and all others to the client that it wraps."""

    def __init__(self, world: World, client: Client, bootstrap: str, nonce: bytes) -> None:
        self._world = world
        self.name = client.name
        self._nonce = nonce
        self._client = client
        self._bootstrap = bootstrap
        self._operator: Operator | None = None

    async def perform(self, operation: Operation) -> Completion:
        if not isinstance(operation, PERFORMED):
            return await self._client.perform(operation)
        if self._operator is None:
            self._operator = Operator(self._world, self._bootstrap, self._nonce)
        return await self._operator.perform(operation)

    async def close(self) -> None:
        await self._client.close()
        if self._operator is not None:
            await self._operator.close()


def with_operator(make: MakeClients) -> MakeClients:
    """Return a maker of the same clients that can also perform the operations in PERFORMED. For
    settings with `raw` it makes a raw producer instead of the client."""

    def of_run(world: World, nonce: bytes) -> ClientFactory:
        factory = make(world, nonce)

        def of_process(bootstrap: str, process: int, settings: ClientSettings) -> WithOperator:
            if settings.raw:
                client: Client = RawProducer(world, bootstrap, settings, nonce)
            else:
                client = factory(bootstrap, process, settings)
            return WithOperator(world, client, bootstrap, nonce)

        return of_process

    return of_run
