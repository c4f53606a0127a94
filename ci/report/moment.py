"""A close look at one anomaly: the operations that prove it, one lane each, on their own scale."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from markupsafe import Markup

from ci.report.model import Evidence
from ci.report.plots import LEFT, PLOT, TimeScale, bands, line, rect, svg, text, time_axis
from ci.report.recorded import Recorded

LANE = 24.0
LANES_MAX = 8
LETTER = 6.4


def moment(run: Recorded, evidence: Sequence[Evidence]) -> Markup:
    """Draw the operations of one anomaly as bars that say what they did; nothing for a single
    one."""
    numbers = list(dict.fromkeys(row.operation for row in evidence))[:LANES_MAX]
    rows = run.operations.filter(pl.col("op_id").is_in(numbers)).sort("start")
    if rows.height < 2:
        return Markup("")
    start, end = float(rows["start"].min()), float(rows["end"].max())  # type: ignore[arg-type]
    margin = max((end - start) * 0.04, 0.0005)
    scale = TimeScale(max(start - margin, 0.0), end + margin)
    bottom = LANE * rows.height
    near = [f for f in run.faults if f.start_s < scale.end_s and f.end_s > scale.start_s]
    parts = bands(scale, near, 0, bottom, None)
    for number, row in enumerate(rows.iter_rows(named=True)):
        y = LANE * number
        parts.append(line(LEFT, y + LANE, LEFT + PLOT, y + LANE, "grid"))
        parts.append(text(LEFT - 8, y + 16, run.roles[row["process"]], "tick", "end"))
        x = scale.x(row["start"])
        width = max(scale.x(row["end"]) - x, 3.0)
        css = f"{row['kind']} {row['outcome']}" + (" open" if row["open"] else "")
        parts.append(rect(x, y + 5, width, LANE - 10, css, f"operation {row['op_id']}"))
        parts.append(_label(_said(row["op_id"], evidence), x, width, y + 16))
    parts += time_axis(scale, bottom)
    return svg(bottom + 22, "The operations of this anomaly in time", parts)


def _said(operation: int, evidence: Sequence[Evidence]) -> str:
    """Return what the operation did, with the records that the anomaly names."""
    rows = [row for row in evidence if row.operation == operation]
    named = [row for row in rows if row.is_named] or rows
    records = "; ".join(
        f"{row.value or row.f} at {row.offset}" if row.offset else f"{row.value}"
        for row in named[:2]
    )
    more = " …" if len(named) > 2 else ""
    return f"{rows[0].f} {operation}: {records}{more}"


def _label(words: str, x: float, width: float, y: float) -> str:
    """Place words right of the bar, or left of it if there is more room."""
    if x + width + 6 + len(words) * LETTER < LEFT + PLOT:
        return text(x + width + 6, y, words, "said")
    if x - 6 - len(words) * LETTER > LEFT:
        return text(x - 6, y, words, "said", "end")
    return text(max(x, LEFT) + 6, y, words, "said over")
