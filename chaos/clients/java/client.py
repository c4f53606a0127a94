"""Apache Kafka's own Java clients. If a run with them ends differently from one with librdkafka,
the cause is a client.

Its calls block the thread, so it runs only against real brokers, not in the simulator. This file
decides what to send and read, as for the other clients; KafkaClients.java only makes the calls. The
Java client retries by itself and does not report how often, so its errors prove as much as
librdkafka's (chaos.record.outcomes). Sources: KafkaProducer, KafkaConsumer, their documentation.
"""

from __future__ import annotations

import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from chaos.clients import payload, whole_partitions
from chaos.clients.java.host import Answer, HostError, JavaHost, compiled
from chaos.clients.java.member import JavaMember, member_config
from chaos.clients.kafka_config import consumer_config, producer_config
from chaos.clients.security import of_java
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
from reference_impl.access import access_of

GRACE_S = 10.0
"""The seconds that we wait beyond delivery.timeout.ms, after which the Java client should have
reported every record; a client that is later hangs."""
BLOCK_MS = 8_000
END_TIMEOUT_S = 20.0
CLOSE_TIMEOUT_S = 5.0
POLL_MS = 200


def in_java_words(bootstrap: str, config: Mapping[str, Any]) -> dict[str, str]:
    """Return the client's settings, with the bootstrap addresses and the security settings of that
    cluster, as text in the form that Java's configuration parses. Raise OSError if a file with a
    certificate or key cannot be read."""
    own = {"bootstrap.servers": bootstrap, "client.id": "touchstone", **config}
    texts = {name: _word(value) for name, value in own.items()}
    return texts | of_java(access_of(bootstrap))


def reader_config(isolation: str, fetch_bytes: int | None = None) -> dict[str, Any]:
    """Return the settings of a reader. They turn off automatic commits, which are Java's default.
    fetch_bytes: None leaves the sizes of fetches to Java."""
    return consumer_config(isolation, fetch_bytes) | {"enable.auto.commit": False}


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class JavaClient:
    """The producer or consumer of one process of a workload, created when it is first needed. The
    Java process is started with the first JavaClient."""

    name = "java"

    def __init__(
        self, world: World, host: JavaHost, bootstrap: str, settings: ClientSettings, nonce: bytes
    ) -> None:
        self._world = world
        self._host = host
        self._number = host.enter()
        self._bootstrap = bootstrap
        self._settings = settings
        self._nonce = nonce
        self._made: set[str] = set()
        self._initialised = False
        self._performers: dict[type[Operation], Callable[[Any], Completion]] = {
            Send: self._send,
            Begin: self._begin,
            Commit: lambda _: self._end("commit"),
            Abort: lambda _: self._end("abort"),
            Crash: self._crash,
            Assign: self._assign,
            Seek: self._seek,
            SeekToTime: self._seek_to_time,
            Poll: self._poll,
        }
        if settings.group is not None:
            member = JavaMember(world, settings.group, self._ask, self._open_member, self._record)
            self._performers |= {
                Subscribe: member.subscribe,
                Poll: member.poll,
                CommitOffsets: member.commit,
                Leave: member.leave,
                Crash: member.crash,
            }

    async def perform(self, operation: Operation) -> Completion:
        try:
            if isinstance(operation, ReadAll):
                return await self._read_all(operation)
            return self._performers[type(operation)](operation)
        except HostError as error:
            return Completion(Outcome.INFO, (), "_NO_ANSWER", str(error), broken=True)

    def _ask(self, op: str, timeout_s: float = GRACE_S, **fields: Any) -> Answer:
        return self._host.ask(self._number, op, timeout_s, **fields)

    def _make(self, kind: str, config: Mapping[str, Any]) -> None:
        """Make the "producer" or the "consumer", unless this client has it already. Raise HostError
        if Kafka refuses the configuration or the Java process does not answer."""
        if kind not in self._made:
            answer = self._ask(kind, 2 * GRACE_S, config=in_java_words(self._bootstrap, config))
            if "error" in answer:
                why = f"{answer['error']}: {answer['detail']}"
                raise HostError(f"the Java client refuses to make a {kind}: {why}")
            self._made.add(kind)

    # --- producing ------------------------------------------------------------------------------

    def _open_producer(self) -> None:
        self._make("producer", producer_config(self._settings, BLOCK_MS))

    def _send(self, send: Send) -> Completion:
        self._open_producer()
        carried = [payload.record_for(send, i, self._nonce) for i in range(len(send.values))]
        timeout_s = (self._settings.delivery_timeout_ms + BLOCK_MS) / 1000 + GRACE_S
        answer = self._ask(
            "send",
            timeout_s,
            topic=send.topic,
            partition=send.partition,
            records=[_told(each) for each in carried],
            timestamps=send.timestamps or None,
        )
        if "error" in answer:
            return Completion(Outcome.INFO, (), answer["error"], answer["detail"], broken=True)
        settled = list(zip(send.values, answer["records"], strict=True))
        records = [_settled(send, value, told) for value, told in settled]
        failed: Answer = next((told for _, told in settled if "error" in told), {})
        broken = any(told.get("fatal", False) for _, told in settled)
        return Completion(
            together(records),
            records,
            failed.get("error"),
            failed.get("detail"),
            broken,
            payload.checksums_of(carried),
        )

    # --- transactions ---------------------------------------------------------------------------

    def _begin(self, _: Begin) -> Completion:
        self._open_producer()
        steps = ("begin",) if self._initialised else ("init_transactions", "begin")
        told: tuple[Mapping[str, Any], ...] = ()
        for step in steps:
            answer = self._ask(step, END_TIMEOUT_S)
            if error := answer.get("error"):
                outcome, detail = begin_outcome(error), answer["detail"]
                return Completion(outcome, (), error, detail, broken=True, more_rows=told)
            if not self._initialised:
                told = (init_producer_row(self._world.monotonic_ns(), self._settings),)
            self._initialised = True
        return Completion(Outcome.OK, more_rows=told)

    def _crash(self, _: Crash) -> Completion:
        """Drop the Java producer without closing it: an orderly close would abort the open
        transaction."""
        self._ask("crash_producer")
        return Completion(Outcome.OK, broken=True)

    def _end(self, op: str) -> Completion:
        """Commit or abort the transaction (`op` is "commit" or "abort"). Return `broken` after a
        fatal error or a time-out: after a time-out the Java client accepts only the same call
        again."""
        answer = self._ask(op, END_TIMEOUT_S)
        if error := answer.get("error"):
            broken = answer["fatal"] or answer["timed_out"]
            return Completion(end_outcome(error), (), error, answer["detail"], broken)
        return Completion(Outcome.OK)

    # --- consuming ------------------------------------------------------------------------------

    def _open_consumer(self, isolation: str) -> None:
        config = reader_config(isolation, self._settings.fetch_bytes)
        self._make("consumer", config | {"client.rack": self._settings.rack or ""})

    def _open_member(self) -> None:
        """Make a new consumer of the group. The previous one was closed when its membership ended.
        Raise HostError if Kafka refuses the configuration or the Java process does not answer."""
        assert self._settings.group is not None
        config = reader_config(self._settings.isolation.value)
        self._made.discard("consumer")
        self._make("consumer", config | member_config(self._settings.group))

    def _assign(self, assign: Assign) -> Completion:
        self._open_consumer(self._settings.isolation.value)
        start = None if assign.from_log_start else 0
        return self._taken([(*each, start) for each in assign.partitions])

    def _taken(self, partitions: Sequence[tuple[str, int, int | None]]) -> Completion:
        answer = self._ask("assign", partitions=partitions)
        if error := answer.get("error"):
            return Completion(Outcome.FAIL, (), error, answer["detail"], answer["fatal"])
        return Completion(Outcome.OK)

    def _seek(self, seek: Seek) -> Completion:
        return _sought(self._ask("seek", partition=[seek.topic, seek.partition, seek.offset]))

    def _seek_to_time(self, seek: SeekToTime) -> Completion:
        place = [seek.topic, seek.partition, seek.timestamp_ms]
        answer = self._ask("seek_to_time", END_TIMEOUT_S, partition=place)
        offset = answer.get("offset")
        found = () if offset is None else (Record(seek.topic, seek.partition, None, offset),)
        return replace(_sought(answer), records=found)

    def _poll(self, poll: Poll) -> Completion:
        answer = self._ask(
            "poll", poll.timeout_s + END_TIMEOUT_S, timeout_ms=int(poll.timeout_s * 1000)
        )
        if error := answer.get("error"):
            return Completion(read_outcome(error), (), error, answer["detail"], answer["fatal"])
        return Completion(Outcome.OK, [self._record(told) for told in answer["records"]])

    def _record(self, told: Answer) -> Record:
        headers = [(name, _bytes(content)) for name, content in told["headers"]]
        carried = payload.Carried(_bytes(told["value"]), _bytes(told["key"]), headers)
        value, extra = payload.value_of(carried, self._nonce)
        extra |= {name: told[name] for name in ("leader_epoch", "timestamp_ms", "timestamp_type")}
        return Record(told["topic"], told["partition"], value, told["offset"], extra=extra)

    async def _read_all(self, operation: ReadAll) -> Completion:
        self._open_consumer(operation.isolation.value)

        async def attempt(readings: Readings, deadline: float) -> str | None:
            taken = self._taken([(t, p, r.log_start) for (t, p), r in readings.items()])
            problem = taken.detail
            while problem is None and not all(r.complete for r in readings.values()):
                if time.monotonic() > deadline:
                    return whole_partitions.out_of_time(readings)
                problem = self._read_on(readings)
            return problem

        return await whole_partitions.read_all(
            self._world, operation, self._bootstrap, attempt, HostError
        )

    def _read_on(self, readings: Readings) -> str | None:
        """Poll once. Add the records to `readings`, and set the positions reached, which also count
        control records and aborted records. Return an error as text, or None."""
        completion = self._poll(Poll(POLL_MS / 1000))
        if completion.outcome is not Outcome.OK:
            return completion.detail
        for record in completion.records:
            readings[record.topic, record.partition].records.append(record)
        answer = self._ask("positions", END_TIMEOUT_S)
        for topic, partition, position in answer.get("positions", ()):
            readings[topic, partition].position = position
        return answer.get("detail")

    # --- life -----------------------------------------------------------------------------------

    async def close(self) -> None:
        """Close this client's producer and consumer, whatever they are doing; the caller has
        recorded an operation in progress as unknown. The Java process ends with its last client."""
        with suppress(HostError):
            self._ask("close", CLOSE_TIMEOUT_S)
        self._host.leave(self._number)


def _sought(answer: Answer) -> Completion:
    if error := answer.get("error"):
        return Completion(Outcome.INFO, (), error, answer["detail"], answer["fatal"])
    return Completion(Outcome.OK)


def _told(carried: payload.Carried) -> dict[str, Any]:
    headers = [(name, _text(content)) for name, content in carried.headers]
    return {"value": _text(carried.value), "key": _text(carried.key), "headers": headers}


def _settled(send: Send, value: int, told: Answer) -> Record:
    error = told.get("error")
    offset = told.get("offset", -1)
    return Record(
        send.topic,
        send.partition,
        value,
        offset if offset >= 0 else None,
        send_outcome(error),
        error,
    )


def _text(content: bytes | None) -> str | None:
    return None if content is None else b64encode(content).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)


class JavaFactory:
    """Makes the Java clients of one run, which share one Java process. Creating the factory
    compiles KafkaClients.java, and raises TargetError if that fails."""

    def __init__(self, world: World, nonce: bytes) -> None:
        self._world = world
        self._nonce = nonce
        compiled()  # compile now, so that an error does not come in the middle of a run
        self._host = JavaHost()

    def __call__(self, bootstrap: str, process: int, settings: ClientSettings) -> JavaClient:
        return JavaClient(self._world, self._host, bootstrap, settings, self._nonce)
