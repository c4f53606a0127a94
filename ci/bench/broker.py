"""Compare produce, consume and transactions on the reference and on Apache Kafka, in turn, both
warmed up.

Then measure what the reference alone needs to start and to run (`broker_resources.py`). The bounds
hold for a quiet machine. Apache uses more CPUs than the reference, so a busy machine favours the
reference: each row says how many CPUs other processes used meanwhile. The client stays on one CPU:
where the scheduler puts it next to a broker would otherwise change the rate of long responses by a
factor of three from one slice to the next.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from chaos.targets import parse_target
from chaos.targets.apache import ApacheKafka
from chaos.values.protocols import Cluster, Target
from ci import doctor
from ci.bench import broker_loads as loads
from ci.bench import broker_resources, family
from ci.bench.broker_loads import Load, Measured
from ci.bench.table import Ratio, Table
from ci.errors import UsageError
from ci.places import KAFKA_VERSION
from conformance.target.examination import advertised_versions
from conformance.wire import Wire

SLICE_S = 1.0
ROUNDS = 13
WARM_UP_S = 1.0
SMALL_BYTES = 1_000


@dataclass(frozen=True)
class Row:
    """A load with its two bounds, on ratios of the reference to Apache: the lowest rate and the
    highest median latency."""

    load: Load
    rate: float = 1.0
    p50: float = 1.35


ROWS: Mapping[str, Row] = {
    **{
        f"produce {size:,} B, acks={'all' if acks == -1 else acks} (requests)": Row(
            loads.produce(size, acks), p50=1.35 if size <= SMALL_BYTES else 1.5
        )
        for size in (100, SMALL_BYTES, 100_000)
        for acks in (1, -1)
    },
    "consume 1 KB records (MB)": Row(loads.consume()),
    "produce in transactions (transactions)": Row(loads.transactions, rate=0.5, p50=1.5),
}
COLUMNS = (
    *("load", "reference /s", "Apache /s", "ratio", "reference p50 ms", "Apache p50 ms", "ratio"),
    "CPUs of others",
)


def run() -> Table:
    """Measure rate and median latency of each load, and what the reference alone needs; return the
    table. Its ratios are reference to Apache. Raise UsageError if Apache Kafka's jars are not
    here."""
    table = Table(COLUMNS)
    if not doctor.found("kafka-jars"):
        raise UsageError(
            "bench: broker needs Apache Kafka's jars to compare with; see `touchstone doctor`"
        )
    apache = ApacheKafka(KAFKA_VERSION, full_speed=True)
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as scratch:
        with (
            running(parse_target("reference"), Path(scratch) / "reference") as (_, ours),
            running(apache, Path(scratch) / "apache") as (_, theirs),
            on_one_cpu(),
        ):
            for wire in (ours, theirs):
                loads.warm_up(wire)
            for name, row in ROWS.items():
                compare(table, name, row, ours, theirs)
        broker_resources.add_rows(table, Path(scratch))
    return table


def compare(table: Table, name: str, row: Row, ours: Wire, theirs: Wire) -> None:
    """Measure both brokers in turn, alternating which is first, so that noise affects both alike,
    and add a row with the medians to the table."""
    for wire in (ours, theirs):
        row.load(wire, WARM_UP_S)
    others = family.Others()
    rounds: list[tuple[Measured, Measured]] = []
    for number in range(ROUNDS):
        first, second = (ours, theirs) if number % 2 else (theirs, ours)
        seen = {wire: row.load(wire, SLICE_S) for wire in (first, second)}
        rounds.append((seen[ours], seen[theirs]))
    mine, other = (_median([pair[side] for pair in rounds]) for side in (0, 1))
    rate = Ratio(statistics.median(a.rate / b.rate for a, b in rounds), at_least=row.rate)
    wait = Ratio(statistics.median(a.p50_ms / b.p50_ms for a, b in rounds), at_most=row.p50)
    taken = others.cpus()
    table.add(name, mine.rate, other.rate, rate, mine.p50_ms, other.p50_ms, wait, taken)
    print(
        f"  {name}: {rate} of Apache's rate, {wait} of its latency; others took {taken:.2f} CPUs",
        flush=True,
    )


def _median(slices: list[Measured]) -> Measured:
    return Measured(
        statistics.median(s.rate for s in slices), statistics.median(s.p50_ms for s in slices)
    )


@contextmanager
def on_one_cpu() -> Iterator[None]:
    """Keep this thread, which is the client, on the first CPU that it may use, until the end of the
    block."""
    may_use = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(may_use)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, may_use)


@contextmanager
def running(
    target: Target, directory: Path, nodes: int = 1, config: Mapping[str, str] | None = None
) -> Iterator[tuple[Cluster, Wire]]:
    """Yield a freshly started target, and a raw client of it; stop the target after the block."""
    cluster = target.start(directory, nodes=nodes, config=config)
    try:
        with closing(Wire(cluster.bootstrap, advertised_versions(cluster.bootstrap))) as wire:
            yield cluster, wire
    finally:
        cluster.stop()
