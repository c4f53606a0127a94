"""Draw throughput, latency, bad outcomes and backlogs per second, above the same bands of
faults."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ci.report.recorded import Recorded
from linearizability.explain.plots import (
    LEFT,
    PLOT,
    TimeScale,
    bands,
    line,
    nice_ticks,
    number_text,
    rect,
    svg,
    text,
    time_axis,
)

HEIGHT = 110.0
TOP = 8.0
Points = Sequence[tuple[float, float | None]]


@dataclass(frozen=True)
class Series:
    """A named line of (second, value); a value of None makes a gap."""

    name: str
    css: str
    points: Points


def throughput(run: Recorded, scale: TimeScale, series: Sequence[Series]) -> Markup:
    """Draw records per second. The line of the final reads, which run unthrottled, is cut off
    just above the highest value before them."""
    before = [
        value
        for each in series
        for second, value in each.points
        if value is not None and (run.final_s is None or second < math.floor(run.final_s))
    ]
    return _linear(run, scale, series, max(before, default=1.0), "/s")


def levels(run: Recorded, scale: TimeScale, series: Sequence[Series], unit: str) -> Markup:
    """Draw values that are counted or measured at moments; the y axis goes from zero to the highest
    value."""
    values = [value for each in series for _, value in each.points if value is not None]
    return _linear(run, scale, series, max(values, default=1.0), unit)


def _linear(
    run: Recorded, scale: TimeScale, series: Sequence[Series], high: float, unit: str
) -> Markup:
    top = (high or 1.0) * 1.05
    ticks = nice_ticks(0, top, 4)

    def y(value: float) -> float:
        return TOP + HEIGHT * (1 - min(value / top, 1.0))

    return _chart(run, scale, series, y, ticks, unit)


def latency(run: Recorded, scale: TimeScale, series: Sequence[Series]) -> Markup:
    """Draw milliseconds on a logarithmic scale, in whole decades."""
    values = [value for each in series for _, value in each.points if value]
    low = math.floor(math.log10(max(min(values, default=1.0), 0.1)))
    high = max(math.ceil(math.log10(max(values, default=10.0))), low + 1)
    ticks = [10.0**power for power in range(low, high + 1)]

    def y(value: float) -> float:
        share = (math.log10(max(value, 10.0**low)) - low) / (high - low)
        return TOP + HEIGHT * (1 - min(share, 1.0))

    return _chart(run, scale, series, y, ticks, " ms")


def availability(
    run: Recorded, scale: TimeScale, served: Series, gaps: Sequence[tuple[float, float]]
) -> Markup:
    """Draw the share of operations that succeeded in each second, and mark the gaps in which none
    did."""

    def y(percent: float) -> float:
        return TOP + HEIGHT * (1 - percent / 100)

    parts = bands(scale, run.faults, TOP, TOP + HEIGHT, run.final_s)
    for start, end in gaps:
        title = f"nothing succeeded for {end - start:.1f} s, from {start:.1f} s"
        left = scale.x(start)
        parts.append(rect(left, TOP + HEIGHT - 8, scale.x(end) - left, 8, "bar fail", title))
    parts += _grid([0, 50, 100], y, "%")
    parts += _polyline(scale, served, y, "%")
    parts += time_axis(scale, TOP + HEIGHT)
    return svg(TOP + HEIGHT + 22, "Share of operations that succeeded, and gaps", parts)


def bad_outcomes(run: Recorded, scale: TimeScale, fails: Points, infos: Points) -> Markup:
    """Draw the operations per second that failed or whose outcome is unknown, as stacked bars."""
    known = {second: value or 0 for second, value in fails}
    unknown = {second: value or 0 for second, value in infos}
    seconds = sorted(known | unknown)
    top = max([known.get(s, 0) + unknown.get(s, 0) for s in seconds], default=1) or 1
    ticks = nice_ticks(0, top, 3)
    height = HEIGHT * 0.6
    parts = bands(scale, run.faults, TOP, TOP + height, run.final_s)
    parts += _grid(ticks, lambda value: TOP + height * (1 - value / top))
    for second in seconds:
        x = scale.x(second)
        width = max(scale.x(second + 1) - x - 1, 1.0)
        base = TOP + height
        for css, word, value in (
            ("fail", "failed", known.get(second, 0)),
            ("info", "unknown", unknown.get(second, 0)),
        ):
            tall = height * value / top
            if value:
                base -= tall
                title = f"{second:g} s: {value:g} {word}"
                parts.append(rect(x, base, width, tall, f"bar {css}", title))
    parts += time_axis(scale, TOP + height)
    return svg(TOP + height + 22, "Operations a second that failed or are unknown", parts)


def _chart(
    run: Recorded,
    scale: TimeScale,
    series: Sequence[Series],
    y: Callable[[float], float],
    ticks: Sequence[float],
    unit: str,
) -> Markup:
    parts = bands(scale, run.faults, TOP, TOP + HEIGHT, run.final_s)
    parts += _grid(ticks, y, unit)
    for each in series:
        parts += _polyline(scale, each, y, unit)
    parts += time_axis(scale, TOP + HEIGHT)
    names = ", ".join(each.name for each in series)
    return svg(TOP + HEIGHT + 22, f"Over time, in {unit.strip()}: {names}", parts)


def _grid(ticks: Sequence[float], y: Callable[[float], float], unit: str = "") -> list[str]:
    parts = []
    for tick in ticks:
        parts.append(line(LEFT, y(tick), LEFT + PLOT, y(tick), "grid"))
        parts.append(text(LEFT - 8, y(tick) + 4, _with_unit(tick, unit), "tick", "end"))
    return parts


def _with_unit(value: float, unit: str) -> str:
    """Return the value with its unit, such as 500/s or 10 ms; 1,000 ms and more are shown in
    seconds."""
    if unit == " ms" and value >= 1000:
        return f"{number_text(round(value / 1000, 1))} s"
    return f"{number_text(value)}{unit if value else ''}"


def _polyline(
    scale: TimeScale, series: Series, y: Callable[[float], float], unit: str
) -> list[str]:
    """Return the SVG elements of a series: its line, interrupted where a second has no value, a dot
    for a single point, and boxes that show the values when the mouse is over them."""
    parts = []
    pieces: list[list[tuple[float, float]]] = [[]]
    for second, value in series.points:
        if value is None:
            pieces.append([])
            continue
        x = scale.x(second + 0.5)
        pieces[-1].append((x, y(value)))
        title = f"{series.name}, second {second:g}: {_with_unit(round(value, 1), unit)}"
        left = scale.x(second)
        width = max(scale.x(second + 1) - left, 1.0)
        parts.append(rect(left, y(value) - 5, width, 10, "hover", title))
    for piece in pieces:
        if len(piece) == 1:
            x, at = piece[0]
            parts.insert(0, f'<circle cx="{x:.1f}" cy="{at:.1f}" r="2" class="dot {series.css}"/>')
        elif piece:
            path = "L".join(f"{x:.1f} {at:.1f}" for x, at in piece)
            parts.insert(0, f'<path class="line {series.css}" d="M{path}"/>')
    return parts
