"""Draw the figures of a run, with their captions and keys."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from ci.report.charts import Series, availability, bad_outcomes, latency, levels, throughput
from ci.report.model import Figure
from ci.report.recorded import Recorded
from ci.report.timeline import KINDS, timeline
from linearizability.explain.plots import TimeScale
from linearizability.measures.summary import Summary

TIMELINE = (
    "A lane per client process, a bar per operation; a bar may stand for several neighbours. "
    "Shaded: a fault, until it was healed."
)
LATENCY = (
    "From invocation to acknowledgement, logarithmic. An operation counts in the second in which "
    "it completed."
)
BAD = (
    "Failed: certainly did not happen. Unknown: may have happened or not, so the judges allow both."
)
UNSEEN = (
    "Records that were known to be stored and that no consumer had received yet, by partition, at "
    "the end of each second. No consumer received those that are left at the end."
)
LAG = (
    "For how long each consumer's next record had been waiting for it, by partition, at the end "
    "of each second. 0: the consumer has received every record."
)
STYLES = ("send", "read", "txn", "send dashed", "read dashed", "txn dashed")
"""The styles of lines. A figure shows as many lines as there are styles: those with the highest
peaks."""
LATENCIES = {"send": "send", "commit": "txn"}


def figures(run: Recorded, summary: Summary, anomalies: Mapping[int, str]) -> Iterator[Figure]:
    """Yield the figures for which a run has data. anomalies: op_id of an operation that proves one
    -> its anchor."""
    if not run.operations.height:
        return
    scale = TimeScale(0.0, run.seconds)
    drawn = timeline(run, scale, anomalies)
    yield Figure("Timeline of operations", drawn, TIMELINE, tuple(_timeline_keys(run, anomalies)))
    yield from _throughput(run, summary, scale)
    yield from _latency(run, summary, scale)
    yield from _bad(run, summary, scale)
    yield from _availability(run, summary, scale)
    yield from _backlog(run, scale)


def _timeline_keys(run: Recorded, anomalies: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    found = set(run.operations["kind"])
    yield from ((kind, name) for kind, name in KINDS.items() if kind in found)
    outcomes = set(run.operations["outcome"])
    if "fail" in outcomes:
        yield "fail", "failed"
    if "info" in outcomes:
        yield "info", "outcome unknown"
    if run.faults:
        yield "band", "fault"
    if anomalies:
        yield "proof", "proves an anomaly"


def _throughput(run: Recorded, summary: Summary, scale: TimeScale) -> Iterator[Figure]:
    series = []
    for f, name, css in (("send", "acknowledged", "send"), ("poll", "delivered", "read")):
        if points := _points(summary, f, "records"):
            series.append(Series(name, css, points))
    if series:
        off = " The final reads may exceed the plot." if run.final_s is not None else ""
        keys = tuple((f"{each.css} stroke", each.name) for each in series)
        caption = f"Records acknowledged to writers and delivered to readers.{off}"
        yield Figure("Throughput", throughput(run, scale, series), caption, keys)


def _latency(run: Recorded, summary: Summary, scale: TimeScale) -> Iterator[Figure]:
    series = []
    for f, css in LATENCIES.items():
        for quantile in ("p50", "p99"):
            points = _points(summary, f, f"{quantile}_ms")
            if any(value is not None for _, value in points):
                series.append(Series(f"{f} {quantile}", f"{css} {quantile}", points))
    if series:
        keys = tuple((f"{each.css} stroke", each.name) for each in series)
        yield Figure("Latency", latency(run, scale, series), LATENCY, keys)


def _bad(run: Recorded, summary: Summary, scale: TimeScale) -> Iterator[Figure]:
    totals = summary.series.group_by("t_s").agg(pl.col("fail", "info").sum()).sort("t_s")
    fails = list(zip(totals["t_s"], totals["fail"], strict=True))
    infos = list(zip(totals["t_s"], totals["info"], strict=True))
    if any(value for _, value in fails + infos):
        keys = (("fail", "failed"), ("info", "unknown"))
        drawn = bad_outcomes(run, scale, fails, infos)
        yield Figure("Failed and unknown operations", drawn, BAD, keys)


def _availability(run: Recorded, summary: Summary, scale: TimeScale) -> Iterator[Figure]:
    """Yield the figure of the run's availability (`linearizability.measures.availability`), if the
    run was judged."""
    found = run.verdict.availability if run.verdict else None
    if not found or not found["operations"]:
        return
    totals = summary.series.group_by("t_s").agg(pl.col("ok", "fail", "info").sum()).sort("t_s")
    gaps = [(gap["start_s"], gap["end_s"]) for gap in found["gaps"]]
    points = _share_served(totals, gaps)
    drawn = availability(run, scale, Series("succeeded", "send", points), gaps)
    keys = (("send stroke", "share that succeeded"), ("fail", "nothing succeeded"))
    yield Figure("Availability", drawn, _served(found), keys)


def _share_served(
    totals: pl.DataFrame, gaps: Sequence[tuple[float, float]]
) -> list[tuple[float, float | None]]:
    """Return (second, percentage of the operations that succeeded), reduced by the part of the
    second that lies in a gap (a poll that finds nothing is no success there). None stands for a
    second without operations outside the gaps. totals: t_s, ok, fail, info. gaps: (start, end) in
    seconds."""
    known = {second: (ok, ok + fail + info) for second, ok, fail, info in totals.iter_rows()}
    outage: dict[int, float] = {}
    for start, end in gaps:
        for second in range(math.floor(start), math.ceil(end)):
            inside = min(end, second + 1) - max(start, second)
            outage[second] = outage.get(second, 0.0) + inside
    points: list[tuple[float, float | None]] = []
    for second in sorted({*outage, *known}):
        good, count = known.get(second, (0, 0))
        served = max(1 - outage.get(second, 0.0), 0.0)
        share = good / count if count else 1.0 if second in outage else None
        points.append((second, None if share is None else 100 * share * served))
    return points


def _backlog(run: Recorded, scale: TimeScale) -> Iterator[Figure]:
    """Yield the figure of the readers' backlog (`linearizability.measures.backlog`)."""
    found = run.backlog
    if found is None:
        return
    for title, caption, rows, column, unit in (
        ("Unseen records", UNSEEN, found.unseen, "records", " records"),
        ("Real-time lag", LAG, found.lag, "lag_s", " s"),
    ):
        series, count = _highest(rows, column)
        if series:
            left_out = f" Shown are the {len(series)} highest of {count}." * (count > len(series))
            keys = tuple((f"{each.css} stroke", each.name) for each in series)
            yield Figure(title, levels(run, scale, series, unit), caption + left_out, keys)


def _highest(rows: pl.DataFrame, column: str) -> tuple[list[Series], int]:
    """Return the series with the highest peaks, one per partition and consumer, and the number of
    all series. A series has a gap where it has no value."""
    times = rows["t_s"].unique().sort().to_list()
    key = [name for name in ("topic", "partition", "consumer") if name in rows.columns]
    named = rows.partition_by(key, as_dict=True, maintain_order=True)
    order = sorted(named, key=lambda name: -named[name][column].max())  # type: ignore[operator]
    shown = []
    for css, name in zip(STYLES, order, strict=False):
        topic, partition, *consumer = name
        values = dict(named[name].select("t_s", column).iter_rows())
        points = [(second, values.get(second)) for second in times]
        shown.append(Series(", ".join([f"{topic}-{partition}", *consumer]), css, points))
    return shown, len(order)


def _served(found: Mapping[str, Any]) -> str:
    """Return the measures of availability as text."""
    healed = [recovery["seconds"] for recovery in found["recoveries"]]
    known = [seconds for seconds in healed if seconds is not None]
    words = [
        *([f"Served {found['share']:.1%} of the time."] if "share" in found else []),
        f"{found['error_rate']:.2%} of operations did not succeed.",
        f"The longest time without any success: {found['longest_gap_s']:.1f} s.",
    ]
    for name, role in found.get("roles", {}).items():
        words.append(
            f"{name[0].upper()}{name[1:]}: served {role['share']:.1%} of the time, longest gap "
            f"{role['longest_gap_s']:.1f} s."
        )
    if known:
        words.append(f"After each heal the first success came within {max(known):.1f} s.")
    if None in healed:
        words.append("After the last heal nothing succeeded any more.")
    return " ".join(words)


def _points(summary: Summary, f: str, column: str) -> list[tuple[float, float | None]]:
    """Return (second, value) for one kind of operation, from its first second to its last. A second
    without completions counts 0 in a rate, and has no latency. Return nothing if there is no such
    operation."""
    rows = summary.series.filter(pl.col("f") == f)
    found = dict(zip(rows["t_s"].to_list(), rows[column].to_list(), strict=True))
    if not found:
        return []
    empty = None if column.endswith("_ms") else 0
    return [(second, found.get(second, empty)) for second in range(min(found), max(found) + 1)]
