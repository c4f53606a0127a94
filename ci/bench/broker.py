"""Produce and consume over one raw connection: the reference beside Apache Kafka, in turn.

Requests are encoded beforehand and pipelined, so that the broker is what is measured.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chaos.protocols import Target
from chaos.targets import parse_target
from chaos.targets.apache import ApacheKafka
from ci import doctor
from ci.bench.table import Ratio, Table
from ci.errors import UsageError
from ci.places import KAFKA_VERSION
from conformance.examination import advertised_versions
from conformance.wire import Topic, Wire, batch

PRODUCE_VERSION, FETCH_VERSION = 9, 12
DEPTH = 5
ROUND_S = 2.0
WARM_UP_S = 3.0
ROUNDS = 3
AT_LEAST = 0.5


@dataclass(frozen=True)
class Load:
    """One row of the table: batches of one record of `size` bytes."""

    size: int
    acks: int

    def __str__(self) -> str:
        return f"produce {self.size:,} B, acks={'all' if self.acks == -1 else self.acks}"


LOADS = [Load(size, acks) for size in (100, 1_000, 100_000) for acks in (1, -1)]


def run() -> Table:
    """Requests a second and median latency of each; the ratio is reference to Apache."""
    table = Table(("load", "reference /s", "Apache /s", "ratio", "reference p50 ms",
                   "Apache p50 ms"))  # fmt: skip
    if not doctor.found("kafka-jars"):
        raise UsageError("bench: broker compares with Apache Kafka, whose jars are missing")
    apache = ApacheKafka(KAFKA_VERSION, full_speed=True)
    with (
        tempfile.TemporaryDirectory(prefix="touchstone-bench-") as scratch,
        running(parse_target("reference"), Path(scratch) / "reference") as ours,
        running(apache, Path(scratch) / "apache") as theirs,
    ):
        _compare(table, ours, theirs)
    return table


def _compare(table: Table, ours: Wire, theirs: Wire) -> None:
    for load in LOADS:
        produce(theirs, load, WARM_UP_S)
        rounds = [(produce(ours, load), produce(theirs, load)) for _ in range(ROUNDS)]
        rate, their_rate = (statistics.median(r[side][0] for r in rounds) for side in (0, 1))
        p50, their_p50 = (statistics.median(r[side][1] for r in rounds) for side in (0, 1))
        ratio = statistics.median(mine[0] / other[0] for mine, other in rounds)
        table.add(load, rate, their_rate, Ratio(ratio, at_least=AT_LEAST), p50, their_p50)
    fetched = [(consume(ours), consume(theirs)) for _ in range(ROUNDS)]
    mine, other = (statistics.median(r[side] for r in fetched) for side in (0, 1))
    ratio = statistics.median(a / b for a, b in fetched)
    table.add("consume 1 KB records, MB/s", mine, other, Ratio(ratio, at_least=AT_LEAST), "", "")


@contextmanager
def running(target: Target, directory: Path) -> Iterator[Wire]:
    """A raw client of a freshly started target."""
    cluster = target.start(directory)
    try:
        wire = Wire(cluster.bootstrap, advertised_versions(cluster.bootstrap))
        yield wire
        wire.close()
    finally:
        cluster.stop()


def produce(wire: Wire, load: Load, seconds: float = ROUND_S) -> tuple[float, float]:
    """(requests a second, median latency in ms), DEPTH requests in flight."""
    topic = wire.create_topic()
    body = wire.produce_request(topic, batch(b"x" * load.size).encode(), acks=load.acks)
    connection = wire.connect()
    sent_at: list[float] = []
    latencies: list[float] = []
    started = time.monotonic()
    while (now := time.monotonic()) < started + seconds or len(latencies) < len(sent_at):
        if now < started + seconds and len(sent_at) - len(latencies) < DEPTH:
            sent_at.append(now)
            connection.send("Produce", PRODUCE_VERSION, body)
        else:
            connection.receive_frame()
            latencies.append(time.monotonic() - sent_at[len(latencies)])
    took_s = time.monotonic() - started
    connection.close()
    return len(latencies) / took_s, statistics.median(latencies) * 1000


def consume(wire: Wire, megabytes: int = 64) -> float:
    """MB/s of reading a partition of 1 KB records from its beginning."""
    topic = wire.create_topic()
    records = batch(*[b"x" * 1000] * 500).encode()
    for _ in range(megabytes * 2):
        wire.produce(topic, records, PRODUCE_VERSION, acks=1)
    return _read(wire, topic) / 1e6


def _read(wire: Wire, topic: Topic) -> float:
    connection = wire.connect()
    offset = read = 0
    end = wire.end_offset(topic)
    started = time.monotonic()
    while offset < end:
        body = wire.fetch_request(topic, offset, partition_max_bytes=4 << 20)
        answer = connection.call("Fetch", FETCH_VERSION, body).responses[0].partitions[0]
        data = answer.records
        read += len(data)
        offset += 500 * (len(data) // _batch_bytes(data))
    connection.close()
    return read / (time.monotonic() - started)


def _batch_bytes(data: bytes) -> int:
    """Size of the first batch: all of them are alike."""
    return 12 + int.from_bytes(bytes(data[8:12]), "big")
