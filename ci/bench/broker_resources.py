"""Measure the reference broker's time to start, time to restart, memory, and the cost of a fetch
session, each with a bound.

The time of a start is what the user waits: from the command to the line `ready`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ci.bench import fetch_sessions
from ci.bench.table import Ratio, Table
from reference_impl.robustness.process import BrokerProcess, RawClient
from reference_impl.robustness.usage import resident_mib
from reference_impl.wire import ApiKey, Record, RecordBatch, Struct, request_definition

STARTS = 5
START_S_MAX = 1.0
TOPICS, PARTITIONS_OF_ONE = 10, 100
RESTART_S_MAX, RESIDENT_MIB_MAX = 3.0, 300.0
BATCH_BYTES = 1_000_000
BATCHES = 4_000
WARM_UP_BATCHES, SAMPLED_EVERY = 400, 50
GROWTH_MIB_MAX = 32.0
SESSION_RATIO_MAX = 1.35
SMALL_LOG = (
    *("--config", "log.segment.bytes=67108864", "--config", "log.retention.bytes=268435456"),
    *("--config", "log.retention.check.interval.ms=1000"),
    *("--config", "log.initial.task.delay.ms=1000"),
    *("--config", "log.segment.delete.delay.ms=0"),
)
"""Settings for a log that is smaller than the data written to it, so that segments are rolled and
deleted during the measurement."""


def add_rows(table: Table, scratch: Path) -> None:
    """Add one row for each bound; its figures are in the columns `reference` and `ratio`."""
    # The best time counts, since other load on the machine can only lengthen it.
    started_s = min(_start(scratch / f"empty-{n}") for n in range(STARTS))
    _add(table, "start-up (s)", started_s, START_S_MAX)
    restarted_s, resident = _thousand_partitions(scratch / "thousand")
    _add(table, "restart of 1,000 partitions after kill -9 (s)", restarted_s, RESTART_S_MAX)
    _add(table, "resident with 1,000 partitions (MiB)", resident, RESIDENT_MIB_MAX)
    growth = _growth(scratch / "flat")
    _add(table, "growth over 4 GB written and read (MiB)", growth, GROWTH_MIB_MAX)
    session_ratio = fetch_sessions.many_to_few(scratch / "sessions")
    _add(table, "fetch session of 1,000 partitions to one of 20", session_ratio, SESSION_RATIO_MAX)


def _add(table: Table, name: str, value: float, at_most: float) -> None:
    table.add(name, value, "", Ratio(value, at_most=at_most), "", "", "", "")
    print(f"  {name}: {value:.2f}, at most {at_most:g}", flush=True)


def _start(data: Path) -> float:
    started = time.monotonic()
    with _broker(data):
        return time.monotonic() - started


def _thousand_partitions(data: Path) -> tuple[float, float]:
    """Write to 1,000 partitions of a broker, and kill it. Return the seconds until it serves again,
    and its memory then, in MiB."""
    with _broker(data) as broker, RawClient(broker) as client:
        _create(client, [f"topic-{n}" for n in range(TOPICS)], PARTITIONS_OF_ONE)
        records = RecordBatch([Record(b"x" * 100)] * 10).encode()
        for n in range(TOPICS):
            _produce(client, f"topic-{n}", range(PARTITIONS_OF_ONE), records)
        broker.kill()
    started = time.monotonic()
    with _broker(data) as broker:
        return time.monotonic() - started, resident_mib(broker.process.pid)


def _growth(data: Path) -> float:
    """Write and read BATCHES batches of a log that is deleted meanwhile. Return by how many MiB the
    broker's largest memory after the warm-up exceeds the first sample after it."""
    records = RecordBatch([Record(os.urandom(1000))] * (BATCH_BYTES // 1010)).encode()
    per_batch = BATCH_BYTES // 1010
    samples: list[float] = []
    with _broker(data, *SMALL_LOG) as broker, RawClient(broker) as client:
        _create(client, ["flat"], 1)
        for n in range(BATCHES):
            _produce(client, "flat", [0], records)
            client.send_fetch("flat", n * per_batch)
            frame = client.receive()
            assert frame is not None and len(frame) > BATCH_BYTES * 0.9, "the batch is not read"
            if n >= WARM_UP_BATCHES and n % SAMPLED_EVERY == 0:
                samples.append(resident_mib(broker.process.pid))
    return max(samples) - samples[0]


@contextmanager
def _broker(data: Path, *options: str) -> Iterator[BrokerProcess]:
    data.parent.mkdir(parents=True, exist_ok=True)
    with BrokerProcess(data, *options) as broker:
        yield broker


def _create(client: RawClient, names: list[str], partitions: int) -> None:
    of = request_definition(ApiKey.CREATE_TOPICS)
    topics = [
        of.struct("CreatableTopic", name=name, num_partitions=partitions, replication_factor=1)
        for name in names
    ]
    answer = client.call(ApiKey.CREATE_TOPICS, 7, topics=topics, timeout_ms=60_000)
    assert not any(row.error_code for row in answer.topics), answer


def _produce(client: RawClient, topic: str, partitions: range | list[int], records: bytes) -> None:
    of = request_definition(ApiKey.PRODUCE)
    rows: list[Struct] = [
        of.struct("PartitionProduceData", index=index, records=records) for index in partitions
    ]
    data = of.struct("TopicProduceData", name=topic, partition_data=rows)
    answer = client.call(ApiKey.PRODUCE, 9, acks=-1, timeout_ms=60_000, topic_data=[data])
    assert not any(row.error_code for row in answer.responses[0].partition_responses), answer
