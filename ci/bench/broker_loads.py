"""The loads of the broker's benchmark, over raw connections, so that the broker is what is
measured: requests are encoded once, and answers are not decoded where nothing is asked of them.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from conformance.clients.transactions import Producer
from conformance.wire import Connection, Topic, Wire, api_key, batch
from reference_impl.wire import encode_request

PRODUCE_VERSION, FETCH_VERSION = 9, 12
DEPTH = 5
"""Requests in flight, as an idempotent producer has them at most."""

RECORDS_READ = 500
TRANSACTION_BATCHES, TRANSACTION_RECORDS = 5, 10
CLIENT_ID = "touchstone-bench"
WARM_UP_REQUESTS, WARM_UP_S_MAX = 50_000, 15.0


@dataclass(frozen=True)
class Measured:
    """The result of one slice of time: operations per second, and the median wait for one
    answer."""

    rate: float
    p50_ms: float


Load = Callable[[Wire, float], Measured]
"""Runs for this many seconds against a target."""


def warm_up(wire: Wire) -> None:
    """Ask for so much that a JVM has compiled what is hot: tens of thousands of each request."""
    topic = wire.create_topic()
    fetch = encode_request(
        api_key("Fetch"), FETCH_VERSION, 1, CLIENT_ID, wire.fetch_request(topic, 0)
    )
    # A topic of one batch: each fetch reads it.
    wire.produce(topic, batch(b"x" * 1_000).encode(), PRODUCE_VERSION, acks=1)
    for frame in (produce_frame(wire, wire.create_topic(), 1_000, acks=-1), fetch):
        connection = wire.connect()
        asked, ends = 0.0, time.monotonic() + WARM_UP_S_MAX
        while asked < WARM_UP_REQUESTS and time.monotonic() < ends:
            asked += pipelined(connection, frame, 1.0)
        connection.close()


def produce_frame(wire: Wire, topic: Topic, size: int, acks: int) -> bytes:
    """Return a Produce of one batch of one record."""
    body = wire.produce_request(topic, batch(b"x" * size).encode(), acks=acks)
    return encode_request(api_key("Produce"), PRODUCE_VERSION, 1, CLIENT_ID, body)


def produce(size: int, acks: int) -> Load:
    """Return a load of batches of one record of so many bytes: rate with DEPTH in flight, latency
    with one."""

    def run(wire: Wire, seconds: float) -> Measured:
        frame = produce_frame(wire, wire.create_topic(), size, acks)
        connection = wire.connect()
        rate = pipelined(connection, frame, seconds / 2)
        p50_ms = one_by_one(connection, frame, seconds / 2)
        connection.close()
        return Measured(rate, p50_ms)

    return run


def pipelined(connection: Connection, frame: bytes, seconds: float) -> float:
    """Return the requests a second with DEPTH of them in flight."""
    started = time.monotonic()
    sent = answered = 0
    while sent > answered or time.monotonic() < started + seconds:
        if sent - answered < DEPTH and time.monotonic() < started + seconds:
            connection.send_bytes(frame)
            sent += 1
        else:
            connection.receive_frame()
            answered += 1
    return answered / (time.monotonic() - started)


def one_by_one(connection: Connection, frame: bytes, seconds: float) -> float:
    """Return the median latency in ms of a request that finds the broker idle."""
    latencies: list[float] = []
    ends = time.monotonic() + seconds
    while not latencies or time.monotonic() < ends:
        asked = time.monotonic()
        connection.send_bytes(frame)
        connection.receive_frame()
        latencies.append(time.monotonic() - asked)
    return statistics.median(latencies) * 1000


def consume(megabytes: int = 64) -> Load:
    """Read a partition of 1 KB records from its beginning (MB/s), and one batch of it (ms)."""
    filled: dict[int, Topic] = {}

    def run(wire: Wire, seconds: float) -> Measured:
        if id(wire) not in filled:
            filled[id(wire)] = filled_topic(wire, megabytes)
        topic = filled[id(wire)]
        connection = wire.connect()
        rate = read_all(wire, connection, topic)
        small = wire.fetch_request(topic, 0, partition_max_bytes=1)
        frame = encode_request(api_key("Fetch"), FETCH_VERSION, 1, CLIENT_ID, small)
        p50_ms = one_by_one(connection, frame, seconds / 2)
        connection.close()
        return Measured(rate / 1e6, p50_ms)

    return run


def filled_topic(wire: Wire, megabytes: int) -> Topic:
    """Fill one partition with batches of RECORDS_READ records of 1 KB."""
    topic = wire.create_topic()
    records = batch(*[b"x" * 1000] * RECORDS_READ).encode()
    for _ in range(megabytes * 1_000_000 // len(records)):
        wire.produce(topic, records, PRODUCE_VERSION, acks=1)
    return topic


def read_all(wire: Wire, connection: Connection, topic: Topic) -> float:
    """Return the bytes a second of reading the partition, 4 MB a request."""
    offset = read = 0
    end = wire.end_offset(topic)
    started = time.monotonic()
    while offset < end:
        body = wire.fetch_request(topic, offset, partition_max_bytes=4 << 20)
        answer = connection.call("Fetch", FETCH_VERSION, body).responses[0].partitions[0]
        data = answer.records
        read += len(data)
        offset += RECORDS_READ * (len(data) // _batch_bytes(data))
    return read / (time.monotonic() - started)


def _batch_bytes(data: bytes) -> int:
    """Return the size of the first batch, which is that of all others."""
    return 12 + int.from_bytes(bytes(data[8:12]), "big")


def transactions(wire: Wire, seconds: float) -> Measured:
    """Measure transactions of TRANSACTION_BATCHES batches of ten 100-byte records; each is
    committed."""
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
