"""Measure latency, throughput and memory of a compared target by the loads of `touchstone bench`,
over raw connections, so that the broker and not a client library is measured."""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from chaos.targets import parse_target
from chaos.targets.apache import ApacheKafka
from chaos.targets.clusters.cluster import LocalCluster
from chaos.values.able_targets import RunningTarget
from chaos.values.protocols import Cluster, TargetError
from ci.bench import broker_loads as loads
from ci.bench import family
from ci.bench.broker import on_one_cpu, running
from ci.compare.cells import NOT_MEASURED, UNSUPPORTED
from ci.compare.speed import MEASURES, Speed
from conformance.case import Deviation, Unsupported
from conformance.invariants.put_off import PUT_OFF
from conformance.wire import ConnectionClosed, Topic, Wire
from reference_impl.robustness.usage import peak_mib
from reference_impl.wire import Malformed

RECORD_BYTES, RECORDS_MAX = 1_000, 20_000
SMALL_BYTES, BATCH_RECORDS, REQUESTS_MAX = 100, 100, 5_000
"""The sizes of what is written, and the most of it in one load: a broker may keep all of it in
memory."""
READ_MEGABYTES = 8
P50, P99 = 0.5, 0.99
FAILURES = (TargetError, Deviation, ConnectionClosed, Malformed, OSError)
"""The errors by which a target or its connection keeps something from being measured."""


def measure(name: str, seconds: float) -> Speed:
    """Start a target with one node, and run each load on it for this many seconds, after as long a
    warm-up with the same load. Return the figures; the progress goes to stderr. Raise TargetError
    for an unknown target."""
    target = parse_target(name)
    if isinstance(target, ApacheKafka):
        target.full_speed = True
    print(f"\n== speed of {name}, {seconds:g} s of each load", file=sys.stderr, flush=True)
    figures: dict[str, float] = {}
    lacking: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="touchstone-speed-") as scratch:
        try:
            with (
                running(target, Path(scratch)) as (cluster, wire),
                on_one_cpu(),
                _invariants_left_to_cases(),
            ):
                make = (
                    _makes_and_removes if isinstance(target, RunningTarget) else Wire.create_topic
                )
                others = family.Others()
                for names, load in LOADS.items():
                    with _noted(names, lacking):
                        _check_versions(wire)
                        figures |= zip(names, load(wire, make, seconds), strict=True)
                with _noted(("memory",), lacking):
                    if lacking:
                        raise TargetError("not every load could be run")
                    figures["memory"] = memory_mib(cluster)
                if figures:
                    figures["others"] = others.cpus()
        except FAILURES as error:  # it does not start, or does not answer
            if len(figures) == len(MEASURES):
                raise
            lacking |= {each: _why(error) for each in MEASURES if each not in figures}
    speed = Speed(figures, lacking)
    for each, one in MEASURES.items():
        print(f"  {one.title}: {speed.cell(each, None).text()}", file=sys.stderr, flush=True)
    return speed


@contextmanager
def _invariants_left_to_cases() -> Iterator[None]:
    """Within the block, let no response raise BrokenInvariant: it is no reason to measure nothing,
    and the cases report it."""
    PUT_OFF.begin("")
    try:
        yield
    finally:
        PUT_OFF.end(passed=False)


@contextmanager
def _noted(names: Sequence[str], lacking: dict[str, str]) -> Iterator[None]:
    """If the block fails, note why these measures are lacking, and go on after it."""
    try:
        yield
    except (*FAILURES, Unsupported) as error:
        lacking |= dict.fromkeys(names, _why(error))


def _why(error: BaseException) -> str:
    return f"{UNSUPPORTED if isinstance(error, Unsupported) else NOT_MEASURED}: {error}"


def _check_versions(wire: Wire) -> None:
    """Raise Unsupported unless the target serves the versions that the loads use."""
    for api, version in (("Produce", loads.PRODUCE_VERSION), ("Fetch", loads.FETCH_VERSION)):
        wire.version(api, version, version)


def _makes_and_removes(wire: Wire) -> Topic:
    """Create a topic on a cluster of others, which is deleted when the client is closed."""
    topic = wire.create_topic()
    wire.at_end(lambda: wire.delete_topic(topic))
    return topic


def memory_mib(cluster: Cluster) -> float:
    """Return the sum in MiB of the peaks of a cluster's processes. Raise TargetError if none of
    them runs on this machine, and OSError if one has ended."""
    members = cluster.processes() if isinstance(cluster, LocalCluster) else ()
    pids = [member.child.pid for member in members if member.child is not None]
    if not pids:
        raise TargetError("its processes were not started here")
    return sum(map(peak_mib, pids))


# --- loads ----------------------------------------------------------------------------------------

Load = Callable[[Wire, loads.MakeTopic, float], Sequence[float]]


def _acknowledged(wire: Wire, make: loads.MakeTopic, seconds: float) -> Sequence[float]:
    topic = make(wire)
    connection = wire.connect_to_leader(topic)
    frame = loads.produce_frame(wire, topic, RECORD_BYTES, acks=-1)
    loads.latencies_ms(connection, frame, seconds, RECORDS_MAX)
    before = wire.end_offset(topic)
    found = loads.latencies_ms(connection, frame, seconds, RECORDS_MAX)
    connection.close()
    _check_written(wire, topic, before + len(found))
    return percentile(found, P50), percentile(found, P99)


def _end_to_end(wire: Wire, make: loads.MakeTopic, seconds: float) -> Sequence[float]:
    topic = make(wire)
    loads.end_to_end_ms(wire, topic, RECORD_BYTES, seconds, RECORDS_MAX)
    found = loads.end_to_end_ms(wire, topic, RECORD_BYTES, seconds, RECORDS_MAX)
    return percentile(found, P50), percentile(found, P99)


def _written(wire: Wire, make: loads.MakeTopic, seconds: float) -> Sequence[float]:
    topic = make(wire)
    connection = wire.connect_to_leader(topic)
    frame = loads.produce_frame(wire, topic, SMALL_BYTES, acks=-1, records=BATCH_RECORDS)
    loads.pipelined(connection, frame, seconds, REQUESTS_MAX)
    before = wire.end_offset(topic)
    rate = loads.pipelined(connection, frame, seconds, REQUESTS_MAX)
    connection.close()
    least = int(min(rate * seconds, REQUESTS_MAX)) * BATCH_RECORDS
    _check_written(wire, topic, before + least)
    return (rate * BATCH_RECORDS,)


def _read(wire: Wire, make: loads.MakeTopic, seconds: float) -> Sequence[float]:
    load = loads.consume(READ_MEGABYTES, make)
    load(wire, seconds)
    return (load(wire, seconds).rate,)


LOADS: Mapping[tuple[str, ...], Load] = {
    ("ack_p50", "ack_p99"): _acknowledged,
    ("end_to_end_p50", "end_to_end_p99"): _end_to_end,
    ("written",): _written,
    ("read",): _read,
}
"""Names of measures -> the load that returns their figures, in the order of the loads."""


def _check_written(wire: Wire, topic: Topic, expected: int) -> None:
    """Raise Deviation if the log is shorter than what was acknowledged: a refusal is fast, too."""
    if (end := wire.end_offset(topic)) < expected:
        raise Deviation("end offset of the log after the load", f"at least {expected}", end)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest of these values that at least this share of them does not exceed."""
    return sorted(values)[math.ceil(len(values) * share) - 1]
