"""Compare three nodes of the reference with three of Apache Kafka, measured in turn: the rate and
latency of replicated writes, and the time without an acknowledgement after a node was killed. Then
measure the reference alone with thousands of partitions (`cluster_resources.py`).

Both clusters have the same time-outs (`chaos/targets/clusters/properties.py`); those of the quorum
are 1 s.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

from chaos.targets import parse_target
from chaos.targets.apache import ApacheKafka
from chaos.targets.clusters.cluster import LocalCluster
from ci import doctor
from ci.bench import broker_loads as loads
from ci.bench import cluster_resources, family
from ci.bench.broker import COLUMNS, Row, compare, on_one_cpu, running
from ci.bench.failovers import controller_failover, leader_failover, replicated_topic
from ci.bench.table import Ratio, Table
from ci.errors import UsageError
from ci.places import KAFKA_VERSION
from conformance.wire import Wire

NODES, ROUNDS = 3, 3
QUORUM = {
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.election.timeout.ms": "1000",
}
CONTROLLER_S_MAX = 2.0
LOADS: Mapping[str, Row] = {
    f"produce {size:,} B, acks=all, 3 replicas (requests)": Row(
        loads.produce(size, -1, replicated_topic), rate=0.8, p50=1.5
    )
    for size in (100, 1_000, 100_000)
}
Measure = Callable[[LocalCluster, Wire], float]
Side = tuple[LocalCluster, Wire]
FAILOVERS: Mapping[str, tuple[Measure, float | None]] = {
    "longest gap after kill -9 of a leader (s)": (leader_failover, None),
    "longest gap after kill -9 of the controller (s)": (controller_failover, CONTROLLER_S_MAX),
}
"""Row of the table -> the function that measures it, and the most seconds that the reference may
take (None: unbounded)."""
GAP_MAX = 1.1
"""The largest ratio of the reference's time without an acknowledgement to Apache's: it may not be
longer, except by a tenth for chance."""


def run() -> Table:
    """Measure the loads, then the failovers, then the reference with thousands of partitions;
    return the table. Its ratios are reference to Apache. Raise UsageError if Apache Kafka's jars
    are not here."""
    table = Table(COLUMNS)
    if not doctor.found("kafka-jars"):
        raise UsageError(
            "bench: cluster needs Apache Kafka's jars to compare with; see `touchstone doctor`"
        )
    apache = ApacheKafka(KAFKA_VERSION, full_speed=True)
    with (
        tempfile.TemporaryDirectory(prefix="touchstone-bench-") as scratch,
        running(parse_target("reference"), Path(scratch) / "reference", NODES, QUORUM) as ours,
        running(apache, Path(scratch) / "apache", NODES, QUORUM) as theirs,
    ):
        with on_one_cpu():
            for _, wire in (ours, theirs):
                loads.warm_up(wire, replicated_topic)
            for name, row in LOADS.items():
                compare(table, name, row, ours[1], theirs[1])
        sides = [(cast(LocalCluster, cluster), wire) for cluster, wire in (ours, theirs)]
        for name, (measure, most_s) in FAILOVERS.items():
            _fail_over(table, name, measure, most_s, sides)
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as scratch:
        cluster_resources.add_rows(table, Path(scratch), QUORUM)
    return table


def _fail_over(
    table: Table, name: str, measure: Measure, most_s: float | None, sides: Sequence[Side]
) -> None:
    """Measure ROUNDS failovers on each cluster in turn, and add a row with the medians and their
    ratio. most_s: the bound on the reference's time, or None."""
    others = family.Others()
    gaps = [[measure(*side) for side in sides] for _ in range(ROUNDS)]
    mine, other = (statistics.median(each) for each in zip(*gaps, strict=True))
    ratio = Ratio(mine / other, at_most=GAP_MAX)
    taken = others.cpus()
    shown = mine if most_s is None else Ratio(mine, at_most=most_s)
    table.add(name, shown, other, ratio, "", "", "", taken)
    print(f"  {name}: {gaps}; others took {taken:.2f} CPUs", flush=True)
