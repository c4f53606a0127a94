"""Draw a finding: acknowledged records per second, with lost ones in red."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from chaos.scenarios.effects import PARTITION, acknowledged, last_logs
from ci.report.recorded import NANOSECONDS, Recorded, load
from linearizability.excuses.fault_spans import overlapping
from linearizability.explain.plots import LEFT, PLOT, WIDTH, TimeScale, nice_ticks, number_text

TOP, HEIGHT, BOTTOM = 34.0, 150.0, 30.0
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #59636e } .ground { fill: #fff }
.kept { fill: #2f6fd0 } .lost { fill: #d6303f } .band { fill: #e2762a; opacity: .18 }
.grid { stroke: #e6e9ed } .axis { stroke: #59636e }
"""


def draw(run: Path, out: Path) -> Path:
    """Draw the picture of a run as SVG, write it to `out`, and return that path."""
    recorded = load(run)
    seconds = per_second(recorded)
    end_s = float(seconds["second"].max() or 0) + 1 if seconds.height else 1.0  # type: ignore[arg-type]
    parts = _parts(seconds, recorded, TimeScale(0.0, end_s))
    height = TOP + HEIGHT + BOTTOM
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img">'
        f"<title>Acknowledged records by second, and those that are gone</title>"
        f"<style>{STYLE}</style>{''.join(parts)}</svg>\n",
        encoding="utf-8",
    )
    return out


def per_second(recorded: Recorded) -> pl.DataFrame:
    """Return the columns second (since the run began), kept and lost: how many of the records
    acknowledged in that second were kept, and how many were lost. A second without acknowledged
    records has no row."""
    assert recorded.rows is not None
    sent = acknowledged(recorded.rows).drop_nulls("t_complete_ns")
    there = last_logs(recorded.rows).select(*PARTITION, "value", there=pl.lit(True)).unique()
    start_ns = recorded.bounds_ns[0]
    return (
        sent.join(there, on=[*PARTITION, "value"], how="left")
        .with_columns(second=(pl.col("t_complete_ns") - start_ns) // NANOSECONDS)
        .group_by("second")
        .agg(kept=pl.col("there").is_not_null().sum(), lost=pl.col("there").is_null().sum())
        .sort("second")
    )


def _parts(seconds: pl.DataFrame, recorded: Recorded, scale: TimeScale) -> Iterator[str]:
    top = max((seconds["kept"] + seconds["lost"]).to_list(), default=1) or 1
    floor = TOP + HEIGHT
    yield f'<rect class="ground" width="{WIDTH}" height="{floor + BOTTOM:g}"/>'
    yield from _bands(recorded, scale)
    for tick in nice_ticks(0, top, 3):
        y = floor - HEIGHT * tick / top
        yield f'<path class="grid" d="M{LEFT} {y:.1f}h{PLOT}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{number_text(tick)}</text>'
    for second, kept, lost in seconds.select("second", "kept", "lost").iter_rows():
        x, width = scale.x(second), max(scale.x(second + 1) - scale.x(second) - 1, 1.0)
        yield _bar(x, width, floor, HEIGHT * kept / top, "kept")
        yield _bar(x, width, floor - HEIGHT * kept / top, HEIGHT * lost / top, "lost")
    yield f'<path class="axis" d="M{LEFT} {floor:g}h{PLOT}"/>'
    for tick in scale.ticks():
        x, label = scale.x(tick), f"{number_text(tick)} s"
        yield f'<text x="{x:.1f}" y="{floor + 18:g}" text-anchor="middle">{label}</text>'
    yield from _legend()


def _bar(x: float, width: float, floor: float, tall: float, css: str) -> str:
    if not math.ceil(tall):
        return ""
    y = floor - tall
    return f'<rect class="{css}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{tall:.1f}"/>'


def _bands(recorded: Recorded, scale: TimeScale) -> Iterator[str]:
    for together in overlapping(recorded.faults):
        x = scale.x(together[0].start_s)
        width = max(scale.x(max(fault.end_s for fault in together)) - x, 1.0)
        yield (
            f'<rect class="band" x="{x:.1f}" y="{TOP:g}" width="{width:.1f}" height="{HEIGHT:g}"/>'
        )


KEYS: Sequence[tuple[str, str]] = (
    ("kept", "acknowledged in this second, and there at the end"),
    ("lost", "acknowledged, and gone"),
    ("band", "fault, until it was healed"),
)


def _legend() -> Iterator[str]:
    for number, (css, name) in enumerate(KEYS):
        x = LEFT + (0, 330, 520)[number]
        yield f'<rect class="{css}" x="{x}" y="10" width="12" height="10"/>'
        yield f'<text x="{x + 18}" y="19">{name}</text>'
