"""confluent-kafka (librdkafka): the default client of every workload. Its calls block the thread,
so it runs only against real brokers, not in the simulator.

Sources: librdkafka INTRODUCTION.md (idempotent and transactional producer), CONFIGURATION.md;
KIP-98. chaos.record.outcomes decides what an error proves.

librdkafka retries by itself, and confluent-kafka does not report how often. So no outcome here
relies on there having been a single attempt.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from chaos.clients import payload
from chaos.clients.bounded import within
from chaos.clients.confluent.config import consumer_config, name_of, producer_config
from chaos.clients.confluent.member import ConfluentMember
from chaos.clients.confluent.reader import read_all, record_of
from chaos.clients.transaction_rows import answered, init_producer_row
from chaos.clients.whole_partitions import together
from chaos.record.outcomes import begin_outcome, end_outcome, read_outcome, send_outcome
from chaos.values.operations import AddOffsets, Seek, SeekToTime
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

GRACE_S = 5.0
"""The seconds that we wait beyond message.timeout.ms, after which librdkafka should have reported
every record."""
INIT_TIMEOUT_S = 8.0
OFFSETS_TIMEOUT_S = 8.0
LOOK_UP_TIMEOUT_S = 5.0
END_TIMEOUT_S = 20.0
MORE_RECORDS_S = 0.05
"""The seconds for which a poll goes on collecting records after the first one, so that polls return
more than a few."""


class ConfluentClient:
    """The producer or consumer of one process of a workload, created when it is first needed."""

    name = "confluent"

    def __init__(
        self, world: World, bootstrap: str, settings: ClientSettings, nonce: bytes
    ) -> None:
        self._world = world
        self._bootstrap = bootstrap
        self._settings = settings
        self._nonce = nonce
        self._producer: Producer | None = None
        self._consumer: Consumer | None = None
        self._nodes: dict[tuple[str, int], int] = {}
        self._initialised = False
        self._fatal: str | None = None
        self._unreported: KafkaError | None = None
        self._performers: dict[type[Operation], Callable[[Any], Completion]] = {
            Send: self._send,
            Begin: self._begin,
            Commit: self._commit,
            Abort: self._abort,
            Crash: self._crash,
            Assign: self._assign,
            Seek: self._seek,
            SeekToTime: self._seek_to_time,
            Poll: self._poll,
        }
        self._member: ConfluentMember | None = None
        if settings.group is not None:
            member = ConfluentMember(world, bootstrap, settings, settings.group, nonce)
            self._member = member
            self._performers |= {
                Subscribe: member.subscribe,
                Poll: member.poll,
                CommitOffsets: member.commit,
                Leave: member.leave,
                Crash: self._crash if settings.transactional else member.crash,
                AddOffsets: self._add_offsets,
            }

    async def perform(self, operation: Operation) -> Completion:
        if isinstance(operation, ReadAll):
            return await read_all(self._world, operation, self._bootstrap, self._nonce)
        return self._performers[type(operation)](operation)

    # --- producing ------------------------------------------------------------------------------

    def _open_producer(self) -> Producer:
        if self._producer is None:
            config = producer_config(self._bootstrap, self._settings)
            self._producer = Producer(config | {"error_cb": self._on_error})
        return self._producer

    def _on_error(self, error: KafkaError) -> None:
        if error.fatal():
            self._fatal = name_of(error)

    def _send(self, send: Send) -> Completion:
        producer = self._open_producer()
        settled: dict[int, Record] = {}

        def settle(value: int) -> Callable[[KafkaError | None, Message], None]:
            def on_delivery(error: KafkaError | None, message: Message) -> None:
                settled[value] = self._delivered(send, value, error, message)

            return on_delivery

        carried = [payload.record_for(send, i, self._nonce) for i in range(len(send.values))]
        timestamps = send.timestamps or (0,) * len(carried)  # 0: the current time
        for value, (data, key, headers), time_ms in zip(
            send.values, carried, timestamps, strict=True
        ):
            try:
                producer.produce(
                    send.topic,
                    data,
                    key,
                    send.partition,
                    settle(value),
                    None,
                    time_ms,
                    list(headers),
                )
            except (KafkaException, BufferError) as refused:
                # Refused by the call itself: it never was in the client's queue.
                full = isinstance(refused, BufferError)
                name = "_QUEUE_FULL" if full else name_of(refused.args[0])
                settled[value] = Record(
                    send.topic, send.partition, value, None, Outcome.FAIL, name, time.monotonic_ns()
                )
        deadline = time.monotonic() + self._settings.delivery_timeout_ms / 1000 + GRACE_S
        while len(settled) < len(send.values) and time.monotonic() < deadline:
            self._serve_callbacks(producer)
        hung = len(settled) < len(send.values)
        records = [
            settled.get(value)
            or Record(send.topic, send.partition, value, None, Outcome.INFO, "_TIMED_OUT")
            for value in send.values
        ]
        error = next((record.error for record in records if record.error), None)
        broken = hung or self._fatal is not None
        return Completion(
            together(records), records, error, self._fatal, broken, payload.checksums_of(carried)
        )

    def _serve_callbacks(self, producer: Producer) -> None:
        try:
            producer.poll(0.1)
        except KafkaException as raised:
            # confluent-kafka raises a fatal error here instead of giving it to error_cb.
            self._fatal = name_of(raised.args[0])

    def _delivered(
        self, send: Send, value: int, error: KafkaError | None, message: Message
    ) -> Record:
        if error is not None and error.fatal():
            self._fatal = name_of(error)
        name = name_of(error) if error is not None else None
        offset = message.offset()
        known = error is None and offset is not None and offset >= 0  # -1: acks=0, or a duplicate
        return Record(
            send.topic,
            send.partition,
            value,
            offset if known else None,
            send_outcome(name),
            name,
            time.monotonic_ns(),
        )

    # --- transactions ---------------------------------------------------------------------------

    def _begin(self, _: Begin) -> Completion:
        producer = self._open_producer()
        told: tuple[Mapping[str, Any], ...] = ()
        try:
            if not self._initialised:
                producer.init_transactions(INIT_TIMEOUT_S)
                self._initialised = True
                told = (init_producer_row(self._world.monotonic_ns(), self._settings),)
            producer.begin_transaction()
            if self._member is not None:
                self._member.begin()
        except KafkaException as raised:
            error: KafkaError = raised.args[0]
            name = name_of(error)
            broken = not error.retriable()
            return Completion(begin_outcome(name), (), name, error.str(), broken, more_rows=told)
        return Completion(Outcome.OK, more_rows=told)

    def _commit(self, _: Commit) -> Completion:
        added = self._add_offsets(AddOffsets())
        if added.outcome is not Outcome.OK:
            return added
        ended = self._end(lambda producer, timeout_s: producer.commit_transaction(timeout_s))
        return replace(ended, more_rows=added.more_rows)

    def _add_offsets(self, _: AddOffsets) -> Completion:
        """Add the positions of the group member, if any, to the transaction. Return FAIL if it has
        lost a partition or its membership, and INFO after a time-out, which drops the producer."""
        if self._member is None:
            return Completion(Outcome.OK)
        member, producer = self._member, self._open_producer()
        offsets = member.offset_rows()
        try:
            refused = within(
                OFFSETS_TIMEOUT_S + GRACE_S,
                lambda: member.add_offsets_to(producer, OFFSETS_TIMEOUT_S),
            )
        except TimeoutError as late:
            self._producer = None  # the call may never return; the next producer fences this one
            told = answered(self._world.monotonic_ns(), offsets, Outcome.INFO, "_TIMED_OUT")
            return Completion(
                Outcome.INFO, (), "_TIMED_OUT", str(late), broken=True, more_rows=told
            )
        except KafkaException as raised:
            error: KafkaError = raised.args[0]
            name, broken = name_of(error), error.fatal()
            told = answered(self._world.monotonic_ns(), offsets, Outcome.INFO, name)
            return Completion(end_outcome(name), (), name, error.str(), broken, more_rows=told)
        if refused is not None:
            return Completion(Outcome.FAIL, (), "_STATE", refused)
        return Completion(
            Outcome.OK, more_rows=answered(self._world.monotonic_ns(), offsets, Outcome.OK)
        )

    def _abort(self, _: Abort) -> Completion:
        completion = self._end(lambda producer, timeout_s: producer.abort_transaction(timeout_s))
        if self._member is not None:
            self._member.rewind()
        return completion

    def _crash(self, _: Crash) -> Completion:
        """Mark the client as broken, so that the runner replaces it, and drop its group member
        without LeaveGroup. Any open transaction stays open: librdkafka does not end a transaction
        when the producer is destroyed."""
        if self._member is not None:
            self._member.crash(Crash())
        return Completion(Outcome.OK, broken=True)

    def _end(self, call: Callable[[Producer, float], None]) -> Completion:
        """Commit or abort by `call`, repeated after retriable errors for up to END_TIMEOUT_S:
        librdkafka then continues the same commit or abort."""
        producer = self._open_producer()
        deadline = time.monotonic() + END_TIMEOUT_S
        while True:
            try:
                call(producer, max(0.1, deadline - time.monotonic()))
                return Completion(Outcome.OK)
            except KafkaException as raised:
                error: KafkaError = raised.args[0]
                if error.retriable() and time.monotonic() < deadline:
                    continue
                name = name_of(error)
                # An error that asks for an abort leaves the client usable: the workload aborts.
                broken = not error.txn_requires_abort()
                return Completion(end_outcome(name), (), name, error.str(), broken)

    # --- consuming ------------------------------------------------------------------------------

    def _open_consumer(self) -> Consumer:
        if self._consumer is None:
            isolation, rack = self._settings.isolation.value, self._settings.rack
            config = consumer_config(
                self._bootstrap, isolation, self._nonce, rack, self._settings.fetch_bytes
            )
            config |= {"stats_cb": self._on_statistics} if rack else {}
            self._consumer = Consumer(config)
        return self._consumer

    def _on_statistics(self, text: str) -> None:
        """Note the node from which each partition is fetched now (librdkafka STATISTICS.md)."""
        for name, topic in json.loads(text)["topics"].items():
            for number, partition in topic["partitions"].items():
                self._nodes[name, int(number)] = partition["broker"]

    def _served(self, record: Record) -> Record:
        node = self._nodes.get((record.topic, record.partition), -1)
        return replace(record, extra={**record.extra, "node": node}) if node >= 0 else record

    def _assign(self, assign: Assign) -> Completion:
        self._unreported = None
        start = OFFSET_BEGINNING if assign.from_log_start else 0
        partitions = [TopicPartition(t, p, start) for t, p in assign.partitions]
        try:
            self._open_consumer().assign(partitions)
        except KafkaException as raised:
            error: KafkaError = raised.args[0]
            return Completion(Outcome.FAIL, (), name_of(error), error.str(), error.fatal())
        return Completion(Outcome.OK)

    def _seek(self, seek: Seek) -> Completion:
        self._unreported = None
        try:
            self._open_consumer().seek(TopicPartition(seek.topic, seek.partition, seek.offset))
        except KafkaException as raised:
            return _not_sought(raised.args[0])
        return Completion(Outcome.OK)

    def _seek_to_time(self, seek: SeekToTime) -> Completion:
        wanted = TopicPartition(seek.topic, seek.partition, seek.timestamp_ms)
        try:
            (found,) = self._open_consumer().offsets_for_times([wanted], LOOK_UP_TIMEOUT_S)
        except KafkaException as raised:
            return _not_sought(raised.args[0])
        if found.error:
            return _not_sought(found.error)
        if found.offset < 0:  # OFFSET_END: no record has this timestamp or a later one
            return Completion(Outcome.OK)
        sought = self._seek(Seek(seek.topic, seek.partition, found.offset))
        return replace(sought, records=(Record(seek.topic, seek.partition, None, found.offset),))

    def _poll(self, poll: Poll) -> Completion:
        consumer = self._open_consumer()
        try:
            messages = consumer.consume(1, poll.timeout_s) if self._unreported is None else []
            if messages and poll.max_records > 1:
                messages += consumer.consume(poll.max_records - 1, MORE_RECORDS_S)
        except KafkaException as raised:
            return self._failed_poll(raised.args[0])
        records = []
        for message in messages:
            error = message.error()
            if error is None:
                records.append(self._served(record_of(message, self._nonce)))
            elif self._unreported is None:
                self._unreported = error  # the next poll reports it
        if not records and self._unreported is not None:
            return self._failed_poll(self._unreported)
        return Completion(Outcome.OK, records)

    def _failed_poll(self, error: KafkaError) -> Completion:
        self._unreported = None
        name = name_of(error)
        return Completion(read_outcome(name), (), name, error.str(), error.fatal())

    # --- life -----------------------------------------------------------------------------------

    async def close(self) -> None:
        """Close the producer without its unsent records, whose operation the caller has recorded as
        unknown, the consumer, and the group member, which leaves its group."""
        with suppress(KafkaException, RuntimeError):
            if self._producer is not None:
                self._producer.purge()
                self._producer.flush(0.1)
        with suppress(KafkaException, RuntimeError):
            if self._consumer is not None:
                self._consumer.close()
        if self._member is not None:
            self._member.leave(Leave())
        self._producer = self._consumer = None


def _not_sought(error: KafkaError) -> Completion:
    """Return a completion of unknown outcome: a seek that timed out may have been performed."""
    return Completion(Outcome.INFO, (), name_of(error), error.str(), error.fatal())


class ConfluentFactory:
    """Makes the librdkafka clients of one run."""

    def __init__(self, world: World, nonce: bytes) -> None:
        self._world = world
        self._nonce = nonce

    def __call__(self, bootstrap: str, process: int, settings: ClientSettings) -> ConfluentClient:
        return ConfluentClient(self._world, bootstrap, settings, self._nonce)
