"""Produce, consume and transactions: the reference beside Apache Kafka, in turn, both warm.

Then what the reference alone needs to start and to stay (`broker_resources.py`).
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from chaos.protocols import Target
from chaos.targets import parse_target
from chaos.targets.apache import ApacheKafka
from ci import doctor
from ci.bench import broker_loads as loads
from ci.bench import broker_resources
from ci.bench.broker_loads import Load, Measured
from ci.bench.table import Ratio, Table
from ci.errors import UsageError
from ci.places import KAFKA_VERSION
from conformance.examination import advertised_versions
from conformance.wire import Wire

ROUND_S = 2.0
ROUNDS = 7
WARM_UP_S = 1.5
WARM_UPS = (3, 12)
"""A JVM compiles what is hot, and becomes faster for a while: at least and at most so many slices
before the first row, until one is no longer a tenth faster than the best before it."""

RATE_AT_LEAST = 0.5
P50_AT_MOST = 1.5
LOADS: Mapping[str, Load] = {
    **{
        f"produce {size:,} B, acks={'all' if acks == -1 else acks} (requests)": loads.produce(
            size, acks
        )
        for size in (100, 1_000, 100_000)
        for acks in (1, -1)
    },
    "consume 1 KB records (MB)": loads.consume(),
    "produce in transactions (transactions)": loads.transactions,
}


def run() -> Table:
    """Rate and median latency of each load; the ratios are reference to Apache."""
    table = Table(("load", "reference /s", "Apache /s", "ratio", "reference p50 ms",
                   "Apache p50 ms", "ratio"))  # fmt: skip
    if not doctor.found("kafka-jars"):
        raise UsageError("bench: broker compares with Apache Kafka, whose jars are missing")
    apache = ApacheKafka(KAFKA_VERSION, full_speed=True)
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as scratch:
        with (
            running(parse_target("reference"), Path(scratch) / "reference") as ours,
            running(apache, Path(scratch) / "apache") as theirs,
        ):
            _warm_up(theirs)
            for name, load in LOADS.items():
                _compare(table, name, load, ours, theirs)
        broker_resources.add_rows(table, Path(scratch))
    return table


def _warm_up(wire: Wire) -> None:
    best = 0.0
    for done in range(WARM_UPS[1]):
        rate = loads.produce(1_000, -1)(wire, WARM_UP_S).rate
        if done >= WARM_UPS[0] and rate < 1.1 * best:
            return
        best = max(best, rate)


def _compare(table: Table, name: str, load: Load, ours: Wire, theirs: Wire) -> None:
    for wire in (ours, theirs):
        load(wire, WARM_UP_S)
    rounds = [(load(ours, ROUND_S), load(theirs, ROUND_S)) for _ in range(ROUNDS)]
    mine, other = (_median([pair[side] for pair in rounds]) for side in (0, 1))
    rate = statistics.median(a.rate / b.rate for a, b in rounds)
    wait = statistics.median(a.p50_ms / b.p50_ms for a, b in rounds)
    table.add(name, mine.rate, other.rate, Ratio(rate, at_least=RATE_AT_LEAST),
              mine.p50_ms, other.p50_ms, Ratio(wait, at_most=P50_AT_MOST))  # fmt: skip
    print(f"  {name}: {rate:.2f} of Apache's rate, {wait:.2f} of its latency", flush=True)


def _median(slices: list[Measured]) -> Measured:
    return Measured(
        statistics.median(s.rate for s in slices), statistics.median(s.p50_ms for s in slices)
    )


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
