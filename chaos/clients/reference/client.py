"""The reference clients: the second client of every workload. If an error occurs with only one of
the clients, that client causes it and not the broker. Unlike librdkafka, this client reports how
often it has sent a request. An error after a single attempt proves more (FIRST_ATTEMPT in
chaos.record.outcomes), and a request that was never sent has certainly failed. The same code runs
over TCP and in virtual time (`machines.py`)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any

from chaos.clients import payload, whole_partitions
from chaos.clients.kafka_config import consumer_config, producer_config
from chaos.clients.reference.machines import machines_of
from chaos.clients.reference.member import ReferenceMember, member_config
from chaos.clients.transaction_rows import init_producer_row
from chaos.clients.whole_partitions import Readings, together
from chaos.record.outcomes import begin_outcome, end_outcome, read_outcome, send_outcome
from chaos.values.operations import Seek, SeekToTime
from chaos.values.protocols import (
    Abort,
    Assign,
    Begin,
    ClientSettings,
    Commit,
    CommitOffsets,
    Completion,
    Crash,
    Leave,
    Operation,
    Outcome,
    Poll,
    ReadAll,
    Record,
    Send,
    Subscribe,
)
from chaos.world import World
from reference_impl.client.awaited.consumer import Consumer
from reference_impl.client.awaited.producer import Producer
from reference_impl.client.consumer import Consumer as ConsumerMachine
from reference_impl.client.errors import ClientError, SendError
from reference_impl.client.producer import Producer as ProducerMachine
from reference_impl.client.values import (
    ConsumerRecord,
    RecordMetadata,
    TimestampType,
    TopicPartition,
)

INIT_TIMEOUT_S = 8.0
END_TIMEOUT_MS = 20_000
CLOSE_TIMEOUT_MS = 100
POLL_MS = 200
_TIMESTAMP_TYPES = {TimestampType.CREATE_TIME: "create", TimestampType.LOG_APPEND_TIME: "append"}


def own_producer_config(settings: ClientSettings) -> dict[str, Any]:
    """Return the producer's settings under Kafka's names, with a request timeout that is no longer
    than the delivery timeout."""
    waits_ms = END_TIMEOUT_MS if settings.transactional else settings.delivery_timeout_ms
    config = producer_config(settings, waits_ms)
    return config | {
        "request.timeout.ms": min(config["request.timeout.ms"], settings.delivery_timeout_ms)
    }


class ReferenceClient:
    """The producer or consumer of one process of a workload, created when it is first needed."""

    name = "reference"

    def __init__(
        self, world: World, bootstrap: str, settings: ClientSettings, nonce: bytes
    ) -> None:
        self._world = world
        self._bootstrap = bootstrap
        self._settings = settings
        self._nonce = nonce
        self._machines = machines_of(world)
        self._producer: Producer | None = None
        self._consumer: Consumer | None = None
        self._member = ReferenceMember(world, settings.group, self._open_member, self._record)
        self._initialised = False
        self._performers: dict[
            type[Operation], Callable[[Any], Coroutine[Any, Any, Completion]]
        ] = {
            Send: self._send,
            Begin: self._begin,
            Commit: lambda _: self._end(Producer.commit_transaction),
            Abort: lambda _: self._end(Producer.abort_transaction),
            Assign: self._assign,
            Seek: self._seek,
            SeekToTime: self._seek_to_time,
            Poll: self._poll if settings.group is None else self._member.poll,
            Subscribe: self._member.subscribe,
            CommitOffsets: self._member.commit,
            Leave: self._member.leave,
            Crash: self._crash if settings.group is None else self._member.crash,
        }

    async def perform(self, operation: Operation) -> Completion:
        if isinstance(operation, ReadAll):
            return await self._read_all(operation)
        return await self._machines.perform(self._performers[type(operation)](operation))

    # --- producing ------------------------------------------------------------------------------

    def _open_producer(self) -> Producer:
        if self._producer is None:
            config = self._config(own_producer_config(self._settings))
            machine = ProducerMachine(config, self._machines.chance, self._machines.rules)
            self._producer = Producer(machine, self._machines.drive(self._bootstrap))
        return self._producer

    async def _send(self, send: Send) -> Completion:
        producer = self._open_producer()
        carried = [payload.record_for(send, i, self._nonce) for i in range(len(send.values))]

        times = send.timestamps or (None,) * len(carried)
        under_way = [
            producer.send_soon(
                send.topic,
                data,
                key=key,
                partition=send.partition,
                timestamp_ms=time_ms,
                headers=headers,
            )
            for (data, key, headers), time_ms in zip(carried, times, strict=True)
        ]
        records, broken = [], False
        for value, acknowledged in zip(send.values, under_way, strict=True):
            try:
                records.append(self._delivered(send, value, await acknowledged))
            except ClientError as refused:
                records.append(self._failed(send, value, refused))
                broken = broken or refused.fatal
        error = next((record.error for record in records if record.error), None)
        checksums = payload.checksums_of(carried)
        return Completion(together(records), records, error, None, broken, checksums)

    def _delivered(self, send: Send, value: int, sent: RecordMetadata) -> Record:
        offset = sent.offset if sent.offset >= 0 else None  # -1: acks=0, or a duplicate
        return Record(
            send.topic, send.partition, value, offset, t_complete_ns=self._world.monotonic_ns()
        )

    def _failed(self, send: Send, value: int, error: ClientError) -> Record:
        # Only a SendError has had attempts; other errors are refused by the call itself.
        attempts = error.attempts if isinstance(error, SendError) else 0
        outcome = (
            send_outcome(error.name, single_attempt=attempts == 1) if attempts else Outcome.FAIL
        )
        return Record(
            send.topic, send.partition, value, None, outcome, error.name, self._world.monotonic_ns()
        )

    # --- transactions ---------------------------------------------------------------------------

    async def _begin(self, _: Begin) -> Completion:
        producer = self._open_producer()
        told: tuple[Mapping[str, Any], ...] = ()
        try:
            if not self._initialised:
                await self._machines.within(INIT_TIMEOUT_S, producer.init_transactions())
                self._initialised = True
                told = (
                    init_producer_row(
                        self._world.monotonic_ns(), self._settings, *producer.identity
                    ),
                )
            await producer.begin_transaction()
        except (ClientError, TimeoutError) as error:
            name = error.name if isinstance(error, ClientError) else "TIMEOUT"
            return Completion(
                begin_outcome(name), (), name, str(error), broken=True, more_rows=told
            )
        return Completion(Outcome.OK, more_rows=told)

    async def _crash(self, _: Crash) -> Completion:
        """Cut the producer's connections and drop it; any open transaction stays open."""
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.crash()
        return Completion(Outcome.OK, broken=True)

    async def _end(self, call: Callable[[Producer], Coroutine[Any, Any, None]]) -> Completion:
        """Commit or abort the transaction by `call`. The client itself retries for
        `max.block.ms`."""
        try:
            await call(self._open_producer())
        except ClientError as error:
            # An error that asks for an abort leaves the client usable: the workload aborts.
            broken = error.fatal or error.name == "TIMEOUT"
            return Completion(end_outcome(error.name), (), error.name, str(error), broken)
        return Completion(Outcome.OK)

    # --- consuming ------------------------------------------------------------------------------

    def _open_consumer(self) -> Consumer:
        if self._consumer is None:
            config = consumer_config(self._settings.isolation.value, self._settings.fetch_bytes)
            self._consumer = self._new_consumer(config)
        return self._consumer

    def _open_member(self) -> Consumer:
        """Return a new consumer of the group, for one membership."""
        assert self._settings.group is not None
        config = consumer_config(self._settings.isolation.value)
        return self._new_consumer(config | member_config(self._settings.group))

    def _new_consumer(self, config: Mapping[str, Any]) -> Consumer:
        machines = self._machines
        machine = ConsumerMachine(self._config(config), machines.chance, machines.rules)
        return Consumer(machine, self._machines.drive(self._bootstrap))

    def _config(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return {"bootstrap.servers": self._bootstrap, **config}

    async def _assign(self, assign: Assign) -> Completion:
        consumer = self._open_consumer()
        partitions = [TopicPartition(*each) for each in assign.partitions]
        await consumer.assign(partitions)
        if assign.from_log_start:
            await consumer.seek_to_beginning(partitions)
        else:
            for partition in partitions:
                await consumer.seek(partition, 0)
        return Completion(Outcome.OK)

    async def _seek(self, seek: Seek) -> Completion:
        try:
            await self._open_consumer().seek(
                TopicPartition(seek.topic, seek.partition), seek.offset
            )
        except ClientError as error:
            return Completion(Outcome.FAIL, (), error.name, str(error), error.fatal)
        return Completion(Outcome.OK)

    async def _seek_to_time(self, seek: SeekToTime) -> Completion:
        wanted = TopicPartition(seek.topic, seek.partition)
        try:
            times = {wanted: seek.timestamp_ms}
            found = (await self._open_consumer().offsets_for_times(times))[wanted]
        except ClientError as error:
            return Completion(Outcome.INFO, (), error.name, str(error), error.fatal)
        if found is None:
            return Completion(Outcome.OK)
        sought = await self._seek(Seek(*wanted, found.offset))
        return replace(sought, records=(Record(*wanted, None, found.offset),))

    async def _poll(self, poll: Poll) -> Completion:
        try:
            found = await self._open_consumer().poll(int(poll.timeout_s * 1000), poll.max_records)
        except ClientError as error:
            return Completion(read_outcome(error.name), (), error.name, str(error), error.fatal)
        return Completion(Outcome.OK, [self._record(record) for record in found])

    def _record(self, record: ConsumerRecord) -> Record:
        headers = payload.plain_headers(record.headers)
        carried = payload.Carried(record.value, record.key, headers)
        value, extra = payload.value_of(carried, self._nonce)
        extra["leader_epoch"] = record.leader_epoch
        extra["timestamp_ms"] = record.timestamp_ms
        extra["timestamp_type"] = _TIMESTAMP_TYPES[record.timestamp_type]
        return Record(record.topic, record.partition, value, record.offset, extra=extra)

    async def _read_all(self, operation: ReadAll) -> Completion:
        async def attempt(readings: Readings, deadline: float) -> str | None:
            return await self._machines.perform(self._read(operation, readings, deadline))

        return await whole_partitions.read_all(
            self._world, operation, self._bootstrap, attempt, ClientError
        )

    async def _read(self, operation: ReadAll, readings: Readings, deadline: float) -> str | None:
        async with self._new_consumer(consumer_config(operation.isolation.value)) as consumer:
            await consumer.assign([TopicPartition(*each) for each in readings])
            for each, reading in readings.items():
                await consumer.seek(TopicPartition(*each), reading.log_start)
            while not all(reading.complete for reading in readings.values()):
                if self._world.monotonic() > deadline:
                    return whole_partitions.out_of_time(readings)
                for record in await consumer.poll(POLL_MS, 1_000):
                    reading = readings[record.topic, record.partition]
                    reading.records.append(self._record(record))
                for partition, position in consumer.positions().items():
                    readings[partition].position = position.offset
        return None

    # --- life -----------------------------------------------------------------------------------

    async def close(self) -> None:
        """Close the producer, the consumer and the machines, and drop the group member without
        leaving its group. The caller has recorded an operation in progress as unknown."""
        await self._machines.perform(self._end_all())
        await self._machines.close()

    async def _end_all(self) -> None:
        await self._member.crash(Crash())
        for client in (self._producer, self._consumer):
            if client is not None:
                await client.close(CLOSE_TIMEOUT_MS)
        self._producer = self._consumer = None


class ReferenceFactory:
    """Makes the reference clients of one run."""

    def __init__(self, world: World, nonce: bytes) -> None:
        self._world = world
        self._nonce = nonce

    def __call__(self, bootstrap: str, process: int, settings: ClientSettings) -> ReferenceClient:
        return ReferenceClient(self._world, bootstrap, settings, self._nonce)
