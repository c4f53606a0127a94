"""The loads of the broker benchmark, over raw connections, so that the broker and not a client is
measured: requests are encoded once, and responses are not decoded where their content does not
matter."""

from __future__ import annotations

import itertools
import math
import socket
import ssl
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from conformance.case import expect
from conformance.clients.transactions import Producer
from conformance.connection import NoAnswer
from conformance.wire import Connection, ConnectionClosed, Topic, Wire, api_key, batch
from reference_impl.wire import ErrorCode, decode_response, encode_request

PRODUCE_VERSION, FETCH_VERSION = 9, 12
DEPTH = 5
"""The number of requests in flight: as many as an idempotent producer may have."""

RECORDS_READ = 500
FETCH_BYTES = 4 << 20
FETCH_WAIT_MS = 500
TRANSACTION_BATCHES, TRANSACTION_RECORDS = 5, 10
CLIENT_ID = "touchstone-bench"
WARM_UP_REQUESTS, WARM_UP_S_MAX = 50_000, 15.0


@dataclass(frozen=True)
class Measured:
    """The result of one time slice: operations per second, and the median latency in ms."""

    rate: float
    p50_ms: float


Load = Callable[[Wire, float], Measured]
"""A function that runs a load against a target for this many seconds."""
MakeTopic = Callable[[Wire], Topic]


def warm_up(wire: Wire, make: MakeTopic = Wire.create_topic) -> None:
    """Send up to tens of thousands of requests of each kind, Produce and Fetch, for at most
    WARM_UP_S_MAX each, so that a JVM has compiled its hot code. make: makes the topics."""
    topic, written = make(wire), make(wire)
    fetch = encode_request(
        api_key("Fetch"), FETCH_VERSION, 1, CLIENT_ID, wire.fetch_request(topic, 0)
    )
    # A topic of one batch: every fetch reads this batch.
    wire.produce(topic, batch(b"x" * 1_000).encode(), PRODUCE_VERSION, acks=1)
    frames = {written: produce_frame(wire, written, 1_000, acks=-1), topic: fetch}
    for asked_of, frame in frames.items():
        connection = wire.connect_to_leader(asked_of)
        asked, ends = 0.0, time.monotonic() + WARM_UP_S_MAX
        while asked < WARM_UP_REQUESTS and time.monotonic() < ends:
            asked += pipelined(connection, frame, 1.0)
        connection.close()


def produce_frame(wire: Wire, topic: Topic, size: int, acks: int, records: int = 1) -> bytes:
    """Return the encoded Produce request of one batch. size: that of each record in bytes."""
    body = wire.produce_request(topic, batch(*[b"x" * size] * records).encode(), acks=acks)
    return encode_request(api_key("Produce"), PRODUCE_VERSION, 1, CLIENT_ID, body)


def produce(size: int, acks: int, make: MakeTopic = Wire.create_topic) -> Load:
    """Return a load of Produce requests with one record of `size` bytes. The load measures the rate
    with DEPTH requests in flight, and the latency with one."""

    def run(wire: Wire, seconds: float) -> Measured:
        topic = make(wire)
        frame = produce_frame(wire, topic, size, acks)
        connection = wire.connect_to_leader(topic)
        rate = pipelined(connection, frame, seconds / 2)
        p50_ms = one_by_one(connection, frame, seconds / 2)
        connection.close()
        return Measured(rate, p50_ms)

    return run


def pipelined(
    connection: Connection, frame: bytes, seconds: float, most: float = math.inf
) -> float:
    """Send a request again and again for this long, or this many times, with DEPTH of them in
    flight, and wait for all answers. Return the requests per second."""
    started = time.monotonic()
    sent = answered = 0
    while sent > answered or (time.monotonic() < started + seconds and sent < most):
        may_send = sent - answered < DEPTH and sent < most
        if may_send and time.monotonic() < started + seconds:
            connection.send_bytes(frame)
            sent += 1
        else:
            connection.receive_frame()
            answered += 1
    return answered / (time.monotonic() - started)


def one_by_one(connection: Connection, frame: bytes, seconds: float) -> float:
    """Send a request again and again for this long, one at a time, at least once. Return the median
    latency in ms."""
    return statistics.median(latencies_ms(connection, frame, seconds))


def latencies_ms(
    connection: Connection, frame: bytes, seconds: float, most: float = math.inf
) -> list[float]:
    """Send a request again and again for this long, or this many times, one at a time, at least
    once. Return the latency of each in ms."""
    latencies: list[float] = []
    ends = time.monotonic() + seconds
    while not latencies or (time.monotonic() < ends and len(latencies) < most):
        asked = time.monotonic()
        connection.send_bytes(frame)
        connection.receive_frame()
        latencies.append((time.monotonic() - asked) * 1000)
    return latencies


def end_to_end_ms(
    wire: Wire, topic: Topic, size: int, seconds: float, most: float = math.inf
) -> list[float]:
    """Send one record at a time for this long, or this many, at least one, each while a Fetch on
    another connection waits for it. Return, in ms, the time from each send until the reader has
    the record. Raise NoAnswer if the reader does not get one within the connection's time-out."""
    writer, reader = wire.connect_to_leader(topic), wire.connect_to_leader(topic)
    frame, offset = produce_frame(wire, topic, size, acks=-1), wire.end_offset(topic)
    found: list[float] = []
    ends = time.monotonic() + seconds
    while not found or (time.monotonic() < ends and len(found) < most):
        body = wire.fetch_request(topic, offset, max_wait_ms=FETCH_WAIT_MS)
        fetch = encode_request(api_key("Fetch"), FETCH_VERSION, 1, CLIENT_ID, body)
        reader.send_bytes(fetch)
        sent = time.monotonic()
        writer.send_bytes(frame)
        read = reader.receive_frame()
        arrived = time.monotonic()
        while not _has_records(read):  # the broker answered before the record was there
            if arrived > sent + reader.timeout_s:
                raise NoAnswer(f"no reader got offset {offset} within {reader.timeout_s:g} s")
            reader.send_bytes(fetch)
            read = reader.receive_frame()
            arrived = time.monotonic()
        found.append((arrived - sent) * 1000)
        writer.receive_frame()
        offset += 1
    writer.close()
    reader.close()
    return found


def _has_records(fetched: bytes) -> bool:
    """Return whether the response to a Fetch of one partition holds records. Raise Deviation if it
    has an error instead."""
    _, answer = decode_response(fetched, api_key("Fetch"), FETCH_VERSION)
    row = answer.responses[0].partitions[0]
    expect(row.error_code, ErrorCode.NONE, "Fetch")
    return bool(row.records)


def consume(megabytes: int = 64, make: MakeTopic = Wire.create_topic) -> Load:
    """Return a load that reads a partition of 1 KB records, which it fills once for each client. It
    measures the rate in MB per second over the whole partition, and the latency of one batch in
    ms. make: makes the topic."""
    filled: dict[int, tuple[Topic, list[bytes]]] = {}

    def run(wire: Wire, seconds: float) -> Measured:
        if id(wire) not in filled:
            topic = filled_topic(wire, megabytes, make)
            filled[id(wire)] = topic, frames_to_read_all(wire, topic)
        topic, frames = filled[id(wire)]
        connection = wire.connect_to_leader(topic)
        rate = read_again(connection, frames, seconds / 2)
        small = wire.fetch_request(topic, 0, partition_max_bytes=1)
        frame = encode_request(api_key("Fetch"), FETCH_VERSION, 1, CLIENT_ID, small)
        p50_ms = one_by_one(connection, frame, seconds / 2)
        connection.close()
        return Measured(rate / 1e6, p50_ms)

    return run


def filled_topic(wire: Wire, megabytes: int, make: MakeTopic = Wire.create_topic) -> Topic:
    """Create a topic, and fill its partition with batches of RECORDS_READ records of 1 KB. Return
    the topic."""
    topic = make(wire)
    records = batch(*[b"x" * 1000] * RECORDS_READ).encode()
    for _ in range(megabytes * 1_000_000 // len(records)):
        wire.produce(topic, records, PRODUCE_VERSION, acks=1)
    return topic


def frames_to_read_all(wire: Wire, topic: Topic) -> list[bytes]:
    """Return the encoded Fetch requests that read the whole partition from its beginning,
    FETCH_BYTES each."""
    offset, end, frames = 0, wire.end_offset(topic), []
    connection = wire.connect_to_leader(topic)
    while offset < end:
        body = wire.fetch_request(topic, offset, partition_max_bytes=FETCH_BYTES)
        frames.append(encode_request(api_key("Fetch"), FETCH_VERSION, 1, CLIENT_ID, body))
        data = connection.call("Fetch", FETCH_VERSION, body).responses[0].partitions[0].records
        offset += RECORDS_READ * (len(data) // _batch_bytes(data))
    connection.close()
    return frames


def read_again(connection: Connection, frames: list[bytes], seconds: float) -> float:
    """Send these requests one at a time, all of them at least once, and again until so many seconds
    have passed. Return the bytes per second of the responses.

    All responses go into one buffer, so that the client never limits the rate.
    """
    connection.socket.settimeout(None)  # with a time-out, MSG_WAITALL waits for nothing
    buffer = memoryview(bytearray(2 * FETCH_BYTES))
    started, read = time.monotonic(), 0
    for sent, frame in enumerate(itertools.cycle(frames), start=1):
        connection.socket.sendall(frame)
        _fill(buffer[:4], connection)
        read += _fill(buffer[: int.from_bytes(buffer[:4], "big")], connection)
        if sent >= len(frames) and time.monotonic() > started + seconds:
            break
    return read / (time.monotonic() - started)


def _fill(buffer: memoryview, connection: Connection) -> int:
    """Read bytes from the connection until the buffer is full. Return the number of bytes. Raise
    ConnectionClosed if the target closes it first."""
    # MSG_WAITALL fills the buffer by one call; a TLS socket takes no flags.
    flags = 0 if isinstance(connection.socket, ssl.SSLSocket) else socket.MSG_WAITALL
    filled = 0
    while filled < len(buffer):
        got = connection.socket.recv_into(buffer[filled:], len(buffer) - filled, flags)
        if not got:
            raise ConnectionClosed("the target closed the connection")
        filled += got
    return filled


def _batch_bytes(data: bytes) -> int:
    """Return the size in bytes of the first batch in these bytes."""
    return 12 + int.from_bytes(bytes(data[8:12]), "big")


def transactions(wire: Wire, seconds: float) -> Measured:
    """Run transactions of TRANSACTION_BATCHES batches of ten 100-byte records for so many seconds,
    all committed. Return their rate and median latency."""
    topic = wire.create_topic()
    producer = Producer.ready(wire)
    latencies: list[float] = []
    started = time.monotonic()
    for _ in itertools.takewhile(lambda _: time.monotonic() < started + seconds, itertools.count()):
        began = time.monotonic()
        producer.add(topic)
        for _ in range(TRANSACTION_BATCHES):
            producer.send(topic, *[b"x" * 100] * TRANSACTION_RECORDS)
        producer.end(commit=True)
        latencies.append(time.monotonic() - began)
    rate = len(latencies) / (time.monotonic() - started)
    return Measured(rate, statistics.median(latencies) * 1000)
