"""Draw the timeline: one lane per process, one bar per operation, one band per fault.

A large run has more operations than pixels. Adjacent operations of one process, kind and outcome
that are less than a pixel apart become one bar, which states their number. Operations that prove an
anomaly are drawn individually on top.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import polars as pl
from markupsafe import Markup, escape

from ci.report.model import Axis
from ci.report.recorded import Recorded
from linearizability.explain.plots import (
    LEFT,
    PLOT,
    TimeScale,
    bands,
    fault_lane,
    fault_lane_height,
    fault_rows,
    line,
    rect,
    svg,
    text,
    time_axis,
)

BARS_MAX = 1800
PROOFS_MAX = 1000
OPERATIONS_MAX = 40_000
"""The most operations that a reader can zoom in to; this many take half a megabyte of the page."""
STEPS = 10_000
"""The number of time steps per second to which times are rounded."""
LANES_HEIGHT_MAX = 560.0
WORDS = {
    "send": "sends",
    "read": "polls with records",
    "wait": "polls without a record",
    "txn": "begins and ends of transactions",
    "other": "assignments",
}
KINDS = {
    "send": "send",
    "read": "poll with records",
    "wait": "poll, nothing there",
    "txn": "begin and end of transactions",
    "other": "assignment",
}
OUTCOMES = {"ok": "ok", "fail": "failed", "info": "outcome unknown"}
ORDER = ("wait", "other", "read", "txn", "send")


def timeline(run: Recorded, scale: TimeScale, anomalies: Mapping[int, str]) -> Markup:
    """Draw all operations over time. anomalies: op_id of an operation that proves one -> its
    anchor."""
    lanes = {process: number for number, process in enumerate(run.roles)}
    top, lane = _heights(run)
    rows = fault_rows(run.faults)
    bottom = top + lane * len(lanes)
    parts = bands(scale, run.faults, 0, bottom, run.final_s)
    parts += fault_lane(scale, run.faults, rows)
    for process, number in lanes.items():
        y = top + lane * number
        parts.append(line(LEFT, y + lane, LEFT + PLOT, y + lane, "grid"))
        parts.append(text(LEFT - 8, y + lane / 2 + 4, run.roles[process], "tick", "end"))
    tops = {process: top + lane * number for process, number in lanes.items()}
    parts += _bars(run, scale, tops, lane)
    parts += _proofs(run, scale, tops, lane, anomalies)
    if run.final_s is not None:
        parts.append(text(scale.x(run.final_s) - 4, bottom - 4, "final reads →", "tick", "end"))
    parts += time_axis(scale, bottom)
    label = f"{len(lanes)} processes and {len(run.faults)} faults over {run.seconds:.0f} seconds"
    return svg(bottom + 22, f"Timeline of operations: {label}", parts)


def _heights(run: Recorded) -> tuple[float, float]:
    """Return the y coordinate at which the lanes of the processes begin, and the height of a
    lane."""
    lane = max(7.0, min(20.0, LANES_HEIGHT_MAX / max(len(run.roles), 1)))
    return fault_lane_height(fault_rows(run.faults)), lane


def axis(run: Recorded) -> Axis:
    """Return the time axis of the figures. It holds, for each lane, a flat list of op_id, start,
    length (both in steps of 0.1 ms) and kind; op_id and start are stored as differences. Of a run
    with more than OPERATIONS_MAX operations it holds none."""
    if not 0 < run.operations.height <= OPERATIONS_MAX:
        return Axis(LEFT, PLOT, round(run.seconds, 4), Markup(""))
    top, height = _heights(run)
    kinds: list[str] = []
    lanes = []
    for number, (process, name) in enumerate(run.roles.items()):
        flat: list[int] = []
        last_id = last_start = 0
        of_lane = run.operations.filter(pl.col("process") == process).sort("start", "op_id")
        for operation in of_lane.iter_rows(named=True):
            css = f"{operation['kind']} {operation['outcome']}" + " open" * operation["open"]
            if css not in kinds:
                kinds.append(css)
            start = round(operation["start"] * STEPS)
            length = max(round(operation["end"] * STEPS) - start, 0)
            flat += [operation["op_id"] - last_id, start - last_start, length, kinds.index(css)]
            last_id, last_start = operation["op_id"], start
        y, thick = top + height * number + 2, height - 4
        lanes.append({"name": name, "top": y, "height": thick, "flat": flat})
    data = json.dumps({"kinds": kinds, "lanes": lanes}, separators=(",", ":"))
    return Axis(LEFT, PLOT, round(run.seconds, 4), Markup(data.replace("<", "\\u003c")))


def merged(operations: pl.DataFrame, gap_s: float, bars_max: int = BARS_MAX) -> pl.DataFrame:
    """Join adjacent operations that are at most gap_s seconds apart, and return the bars. Double
    gap_s until at most bars_max of them are left, or nothing more can be joined."""
    key = ["process", "kind", "outcome", "open"]
    ordered = operations.sort(*key, "start").with_columns(
        reach=pl.col("end").cum_max().shift(1).over(key)
    )
    while True:
        apart = (pl.col("start") > pl.col("reach") + gap_s).fill_null(True)
        bars = (
            ordered.with_columns(bar=apart.cast(pl.Int64).cum_sum().over(key))
            .group_by(*key, "bar", maintain_order=True)
            .agg(pl.col("start").min(), pl.col("end").max(), operations=pl.len())
        )
        if bars.height <= bars_max or gap_s > operations["end"].max():  # type: ignore[operator]
            return bars
        gap_s *= 2


def _bars(run: Recorded, scale: TimeScale, tops: Mapping[int, float], lane: float) -> list[str]:
    if not run.operations.height:
        return []
    bars = merged(run.operations, scale.seconds_per_pixel).with_columns(
        layer=pl.col("kind").replace_strict(ORDER, range(len(ORDER)), return_dtype=pl.Int8)
        + pl.col("outcome").replace_strict({"ok": 0, "info": 10, "fail": 20}, return_dtype=pl.Int8)
    )
    parts = []
    for bar in bars.sort("layer", "start").iter_rows(named=True):
        x = scale.x(bar["start"])
        width = max(scale.x(bar["end"]) - x, 0.8)
        css = f"{bar['kind']} {bar['outcome']}" + (" open" if bar["open"] else "")
        until = "never completed" if bar["open"] else f"{bar['end']:.2f} s"
        what = f"{bar['operations']} {WORDS[bar['kind']]}, {OUTCOMES[bar['outcome']]}"
        title = f"{run.roles[bar['process']]}: {what}, {bar['start']:.2f} – {until}"
        parts.append(rect(x, tops[bar["process"]] + 2, width, lane - 4, css, title))
    return parts


def _apart(proofs: pl.DataFrame, scale: TimeScale) -> pl.DataFrame:
    """Return the operations to frame. If there are very many, keep one per process and stretch of
    the axis, whose `more` counts the others."""
    pixels = 0.0
    while True:
        step = max(pixels * scale.seconds_per_pixel, 1e-9)
        where = pl.col("op_id") if pixels == 0 else (pl.col("start") / step).floor()
        framed = proofs.group_by("process", where.alias("where"), maintain_order=True).agg(
            pl.exclude("where").first(), more=pl.len() - 1
        )
        if framed.height <= PROOFS_MAX or pixels > PLOT:
            return framed.sort("start", "op_id")
        pixels = max(2 * pixels, 2.0)


def _proofs(
    run: Recorded,
    scale: TimeScale,
    tops: Mapping[int, float],
    lane: float,
    anomalies: Mapping[int, str],
) -> list[str]:
    """Return the SVG of a frame around each operation that proves an anomaly, with a link to that
    anomaly."""
    if not anomalies or not run.operations.height:
        return []
    parts = []
    found = run.operations.filter(pl.col("op_id").is_in(list(anomalies)))
    for operation in _apart(found.sort("start", "op_id"), scale).iter_rows(named=True):
        x = scale.x(operation["start"])
        width = max(scale.x(operation["end"]) - x, 3.0)
        y = tops[operation["process"]]
        more = f" (and {operation['more']:,} more here do)" if operation["more"] else ""
        title = f"operation {operation['op_id']} proves an anomaly{more}: click to see it"
        frame = rect(x - 1, y + 0.5, width + 2, lane - 1, "proof", title)
        middle = x + width / 2
        mark = f'<path class="mark" d="M{middle - 4:.1f} {y - 3:.1f}h8l-4 6z"/>'
        anchor = escape(anomalies[operation["op_id"]])
        parts.append(f'<a href="#{anchor}">{frame}{mark}</a>')
    return parts
