"""Collect the facts that may explain an anomaly: its fault, its partition's log on each replica,
and the log lines of each node at that time."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from ci.report.model import Cause, Evidence, LogLine, NodeLog, ReplicaLog
from ci.report.recorded import NANOSECONDS, Recorded
from linearizability.excuses.fault_spans import Fault
from linearizability.history import F
from linearizability.verdict import Anomaly

FAULTS_MAX = 4
"""The most faults to name as the cause of one anomaly."""
AROUND = 2
"""The number of offsets that are shown before and after each offset that the anomaly names."""
OFFSETS_MAX = 3
LINES_MAX = 8
"""The most lines of one node's log that are shown beside one anomaly."""
LINES_OF_PAGE_MAX = 600
LOG_BYTES_MAX = 64 << 20
TEXT_MAX = 300
BEFORE_S, AFTER_S = 1.0, 2.0
STAMP = re.compile(r"\[?(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)[,.](\d{3})\]? ?")
GRAVE = re.compile(r"\b(?:WARN|ERROR|FATAL)\b")
QUARTER_S = 900.0
NEAR_S = 300.0
"""The tolerance in seconds for recognising that a node's clock shows another time zone: its last
line must then have been written when the run ended."""
NOTHING = "–"


@dataclass(frozen=True)
class Span:
    """The time of an anomaly, in seconds since the first invocation."""

    start_s: float
    end_s: float


def fault_anchor(anchor: str, number: int) -> str:
    """Return the HTML anchor of a run's fault with this number, from 0."""
    return f"{anchor}-fault-{number + 1}"


def cause_of(
    run: Recorded,
    anchor: str,
    anomaly: Anomaly,
    evidence: Sequence[Evidence],
    rows: dict[int, list[dict[str, Any]]],
    logs: NodeLogs,
) -> Cause:
    """Return the possible cause of an anomaly. anchor: the run's HTML anchor."""
    span = span_of(run, anomaly, rows)
    struck = faults_of(run, span)
    topic, partition = anomaly.scope.get("topic"), anomaly.scope.get("partition")
    place = "" if topic is None or partition is None else f"{topic}-{partition}"
    return Cause(
        faults=tuple(
            (fault_anchor(anchor, n), run.faults[n].label, how) for n, how in struck[:FAULTS_MAX]
        ),
        replicas=replica_logs(run, anomaly, evidence),
        logs=tuple(logs.around(span, [run.faults[n] for n, _ in struck], place)),
        from_s=min([span.start_s, *(run.faults[n].start_s for n, _ in struck)]) if span else None,
        to_s=max([span.end_s, *(run.faults[n].start_s for n, _ in struck)]) if span else None,
    )


def span_of(run: Recorded, anomaly: Anomaly, rows: dict[int, list[dict[str, Any]]]) -> Span | None:
    """Return the time span of the anomaly's operations, or None if it is unknown. Final reads are
    ignored if there are other operations."""
    found = [row for op in anomaly.operations for row in rows.get(op, ())[:1]]
    found = [row for row in found if not row["final"]] or found
    if not found:
        return None
    start_ns = run.bounds_ns[0]
    ends = [row["t_complete_ns"] or row["t_invoke_ns"] for row in found]
    first = min(row["t_invoke_ns"] for row in found)
    return Span((first - start_ns) / NANOSECONDS, (max(ends) - start_ns) / NANOSECONDS)


def faults_of(run: Recorded, span: Span | None) -> list[tuple[int, str]]:
    """Return (index of the fault, its relation to the anomaly in words) for each fault during the
    span; if there was none, for the next fault after it, else for the last one before it."""
    if span is None:
        return []
    numbered = list(enumerate(run.faults))
    during = [n for n, f in numbered if f.start_s <= span.end_s and f.end_s >= span.start_s]
    if during:
        return [(n, "under way") for n in during]
    after = [n for n, fault in numbered if fault.start_s > span.end_s]
    if after:
        return [(after[0], "struck next")]
    return [(len(numbered) - 1, "the last before")] if numbered else []


def replica_logs(
    run: Recorded, anomaly: Anomaly, evidence: Sequence[Evidence]
) -> tuple[ReplicaLog, ...]:
    """Return the records that each replica held around the offsets that an anomaly names, as raw
    reads showed them. Return () if it names no partition or no offset, or no raw read is there."""
    topic, partition = anomaly.scope.get("topic"), anomaly.scope.get("partition")
    if topic is None or partition is None:
        return ()
    reads = run.replica_reads
    held = reads.filter((pl.col("topic") == topic) & (pl.col("partition") == partition))
    place = f"{topic}-{partition}"
    named = sorted(
        {int(e.offset) for e in evidence if e.is_named and e.offset and e.place == place}
    )
    if held.is_empty() or not named:
        return ()
    replicas = sorted(held["replica"].unique(), key=lambda replica: (replica is not None, replica))
    near = {n + step for n in named[:OFFSETS_MAX] for step in range(-AROUND, AROUND + 1)}
    cells: dict[tuple[int, int | None], str] = {}
    for row in held.filter(pl.col("offset").is_in(sorted(near))).iter_rows(named=True):
        word = str(row["control"] or ("?" if row["value"] is None else row["value"]))
        key = (row["offset"], row["replica"])
        known = cells.get(key, word)
        cells[key] = known if word in known.split(" / ") else f"{known} / {word}"
    lines = []
    for offset in sorted(n for n in near if n >= 0):
        there = tuple(cells.get((offset, replica), NOTHING) for replica in replicas)
        if set(there) != {NOTHING} or offset in named:
            lines.append((offset, there, offset in named, len(set(there)) > 1))
    return (
        ReplicaLog(place, tuple(_replica(replica, held) for replica in replicas), tuple(lines)),
    )


def _replica(replica: int | None, held: pl.DataFrame) -> str:
    """Return the name of a replica, with the range of offsets that it holds if the final read
    recorded the range."""
    name = "leader" if replica is None else f"node {replica}"
    of_it = held.filter(pl.col("replica").eq_missing(replica), pl.col("f") == F.READ_ALL.value)
    ranges = of_it.select("log_start", "high_watermark").drop_nulls().unique(maintain_order=True)
    return ", ".join([name, *(f"{start} to {end}" for start, end in ranges.iter_rows())])


class NodeLogs:
    """The log files of a run's nodes, indexed by time and read once for all anomalies."""

    def __init__(self, run: Recorded) -> None:
        self.run = run
        self.left = LINES_OF_PAGE_MAX
        self._logs: dict[Path, tuple[list[float], list[str]]] | None = None

    def around(self, span: Span | None, faults: Sequence[Fault], place: str) -> Iterator[NodeLog]:
        """Yield a few log lines of each node from the time of an anomaly and its fault, in
        order of time. Prefer lines that name the partition, then warnings and errors, then the
        lines nearest to the fault. All calls together yield at most LINES_OF_PAGE_MAX lines."""
        if span is None or self.left <= 0:
            return
        struck = [fault.start_s for fault in faults[:1]]
        start, end = min([span.start_s, *struck]) - BEFORE_S, max([span.end_s, *struck]) + AFTER_S
        moment = max([span.start_s, *struck])
        for file, (times, texts) in self._read().items():
            inside = range(bisect_left(times, start), bisect_right(times, end))
            ranked = sorted(
                inside, key=lambda n: (-_weight(texts[n], place), abs(times[n] - moment))
            )
            chosen = sorted(ranked[: min(LINES_MAX, max(self.left, 0))])
            self.left -= len(chosen)
            if chosen:
                lines = tuple(
                    LogLine(f"{times[n]:.3f}", texts[n][:TEXT_MAX], bool(GRAVE.search(texts[n])))
                    for n in chosen
                )
                name = file.relative_to(self.run.directory).as_posix()
                yield NodeLog(file.parent.name, name, lines, len(inside) - len(chosen))

    def _read(self) -> dict[Path, tuple[list[float], list[str]]]:
        if self._logs is None:
            zero = wall_clock_s(self.run)
            files = sorted(self.run.directory.glob("nodes/*/*.log")) if zero is not None else []
            self._logs = {file: _lines(file, zero or 0.0, self.run.seconds) for file in files}
        return self._logs


def wall_clock_s(run: Recorded) -> float | None:
    """Return the wall-clock time of the first invocation in Unix seconds, or None if the history
    does not record it."""
    if run.rows is None:
        return None
    is_noted = (pl.col("f") == F.TOPIC.value) & pl.col("timestamp_ms").is_not_null()
    noted = run.rows.filter(is_noted).select("t_invoke_ns", "timestamp_ms").head(1).collect()
    if noted.is_empty():
        return None
    invoked_ns, shown_ms = noted.row(0)
    return float(shown_ms / 1000 - (invoked_ns - run.bounds_ns[0]) / NANOSECONDS)


def _lines(file: Path, zero: float, seconds: float) -> tuple[list[float], list[str]]:
    """Return the times, in seconds since the first invocation, and the text of the lines that begin
    with a time, in order of time. Times of another time zone are shifted to the run's. Return no
    lines if the file is too large, or its times cannot be of this run."""
    found = []
    if file.stat().st_size <= LOG_BYTES_MAX:
        with file.open(encoding="utf-8", errors="replace") as stream:
            for text in stream:
                if stamp := STAMP.match(text):
                    day, clock, millis = stamp.groups()
                    shown = datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=UTC)
                    at = shown.timestamp() + int(millis) / 1000 - zero
                    found.append((at, text[stamp.end() :].strip()))
    if found and not any(0 <= at <= seconds for at, _ in found):
        late = found[-1][0] - seconds
        zone = round(late / QUARTER_S) * QUARTER_S
        found = [(at - zone, text) for at, text in found] if abs(late - zone) < NEAR_S else []
    found.sort(key=lambda line: line[0])
    return [at for at, _ in found], [text for _, text in found]


def _weight(text: str, place: str) -> int:
    return 2 * bool(place and place in text) + bool(GRAVE.search(text))
