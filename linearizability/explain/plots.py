"""Small pieces of SVG that every drawing is made of: scale, ticks, bands and lanes of faults.

Colours are CSS classes (`style`), so that drawings follow the reader's light or dark scheme. All
figures of a run have the same time scale, so that the same moment is at the same horizontal
position.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from markupsafe import Markup, escape

from linearizability.excuses.fault_spans import Fault, overlapping

WIDTH = 1000
LEFT = 96
RIGHT = 12
PLOT = WIDTH - LEFT - RIGHT


@dataclass(frozen=True)
class TimeScale:
    """The conversion of seconds to horizontal pixels. left, width: the place of the plot."""

    start_s: float
    end_s: float
    left: float = LEFT
    width: float = PLOT

    def x(self, seconds: float) -> float:
        """Return the horizontal pixel of a moment, limited to the plot."""
        share = (seconds - self.start_s) / max(self.end_s - self.start_s, 1e-9)
        return self.left + min(max(share, 0.0), 1.0) * self.width

    @property
    def seconds_per_pixel(self) -> float:
        return (self.end_s - self.start_s) / self.width

    def ticks(self) -> list[float]:
        return nice_ticks(self.start_s, self.end_s, max(int(self.width / 90), 2))


def nice_ticks(low: float, high: float, wanted: int) -> list[float]:
    """Return round numbers between low and high, about as many as wanted."""
    span = max(high - low, 1e-9)
    power = 10.0 ** math.floor(math.log10(span / wanted))
    step = next(power * m for m in (1, 2, 5, 10, 20) if span / (power * m) <= wanted)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def number_text(value: float) -> str:
    """Return a number short enough for an axis: 0.5, 12, 9999, 15k, 2M."""
    if value >= 1_000_000:
        return f"{value / 1_000_000:g}M"
    if value >= 10_000:
        return f"{value / 1000:g}k"
    return f"{round(value, 6):g}"


def svg(
    height: float, label: str, parts: Iterable[str], width: float = WIDTH, *, scales: bool = True
) -> Markup:
    """Return a figure. scales: whether it is as wide as the page, else it is `width` pixels wide.
    label: the text for screen readers. parts: SVG elements, in which all text must be escaped
    already."""
    size = "" if scales else f' style="width: {width:g}px; min-width: 0"'
    body = "".join(parts)
    return Markup(  # every text inside was escaped where it was made
        f'<svg viewBox="0 0 {width:g} {height:g}"{size} role="img" aria-label="{escape(label)}">'
        f"{body}</svg>"
    )


def text(x: float, y: float, words: object, css: str = "", anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}">{escape(words)}</text>'
    )


def line(x1: float, y1: float, x2: float, y2: float, css: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{css}"/>'


def rect(x: float, y: float, width: float, height: float, css: str, title: str = "") -> str:
    inside = f"><title>{escape(title)}</title></rect>" if title else "/>"
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{css}"'
        f"{inside}"
    )


def bands(
    scale: TimeScale, faults: Sequence[Fault], top: float, bottom: float, final_s: float | None
) -> list[str]:
    """Return the SVG elements behind the operations: a band for each time with faults, and a line
    where the final reads began, unless final_s is None. Faults that overlap share a band."""
    parts = []
    for together in overlapping(faults):
        x = scale.x(together[0].start_s)
        width = max(scale.x(max(fault.end_s for fault in together)) - x, 1.0)
        title = "; ".join(f"{f.label}, {f.start_s:.1f}–{f.end_s:.1f} s" for f in together)
        parts.append(rect(x, top, width, bottom - top, "band", title))
    if final_s is not None:
        parts.append(line(scale.x(final_s), top, scale.x(final_s), bottom, "final"))
    return parts


UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
"""The units of a time axis. Seconds, unless the whole axis is shorter than a ten-thousandth of a
second, as in a history without real times."""
SECONDS_MIN = 1e-4


def time_axis(scale: TimeScale, y: float) -> list[str]:
    """Return the SVG elements of the axis below a figure and of its ticks, the last one with its
    unit."""
    span = scale.end_s - scale.start_s
    size, unit = next((u for u in UNITS[1:] if span >= u[0]), UNITS[-1])
    if span >= SECONDS_MIN:
        size, unit = UNITS[0]
    parts = [line(scale.left, y, scale.left + scale.width, y, "axis")]
    ticks = scale.ticks()
    for tick in ticks:
        x = scale.x(tick)
        parts.append(line(x, y, x, y + 4, "axis"))
        word = f" {unit}" if tick == ticks[-1] else ""
        parts.append(text(x, y + 16, f"{number_text(tick / size)}{word}", "tick", "middle"))
    return parts


FAULT_LANE = 18.0
FAULT_LABEL_PIXELS = 6.6


def fault_lane_height(rows: Sequence[int]) -> float:
    """Return the height in pixels that the labels of faults need above the lanes of operations.
    rows: the result of `fault_rows`."""
    return FAULT_LANE * (max(rows) + 1) + 6 if rows else 4.0


def fault_rows(faults: Sequence[Fault]) -> list[int]:
    """Return the row of each fault's label, from 0: the first in which no earlier fault is in
    progress. faults must be in the order of their beginnings."""
    ends: list[float] = []
    rows = []
    for fault in faults:
        row = next((n for n in count() if n >= len(ends) or ends[n] <= fault.start_s), 0)
        if row == len(ends):
            ends.append(0.0)
        ends[row] = fault.end_s
        rows.append(row)
    return rows


def fault_lane(scale: TimeScale, faults: Sequence[Fault], rows: list[int]) -> list[str]:
    """Return the SVG elements of the faults' names above the bands, in their rows (`fault_rows`).
    Return [] without faults."""
    if not faults:
        return []
    parts = [text(scale.left - 8, 13, "faults", "tick", "end")]
    for number, (fault, row) in enumerate(zip(faults, rows, strict=True)):
        x, y = scale.x(fault.start_s), row * FAULT_LANE
        later = [
            f for f, its in zip(faults[number + 1 :], rows[number + 1 :], strict=True) if its == row
        ]
        free = scale.x(later[0].start_s) if later else scale.left + scale.width
        width = max(scale.x(fault.end_s) - x, 2.0)
        note = f" ({fault.note})" if fault.note else ""
        title = f"{fault.label}, {fault.start_s:.2f}–{fault.end_s:.2f} s{note}"
        parts.append(rect(x, y + 2, width, FAULT_LANE - 4, "fault", title))
        parts += _fault_label(fault, x, width, free, y + 13)
    return parts


def _fault_label(fault: Fault, x: float, width: float, free: float, y: float) -> list[str]:
    """Return the SVG text of a fault's label inside its box, or beside it up to where the next box
    begins (`free`), shortened if needed. Return [] if even its name does not fit."""
    for label in (fault.label, fault.label.replace(" node ", " "), fault.name):
        needed = len(label) * FAULT_LABEL_PIXELS
        if needed < width:
            return [text(x + 4, y, label, "faultname")]
        if x + width + needed < free:
            return [text(x + width + 4, y, label, "faultname")]
    return []
