"""Small pieces of SVG that every figure is made of: scale, ticks, bands of faults.

Colours are classes of the page's style sheet, so that figures follow the reader's light or dark
scheme. All figures of a run share one horizontal scale and stand exactly above each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from linearizability.fault_spans import Fault, overlapping

WIDTH = 1000
LEFT = 96
RIGHT = 12
PLOT = WIDTH - LEFT - RIGHT


@dataclass(frozen=True)
class TimeScale:
    """Seconds to horizontal pixels."""

    start_s: float
    end_s: float

    def x(self, seconds: float) -> float:
        """Return the pixel of a moment, kept inside the plot."""
        share = (seconds - self.start_s) / max(self.end_s - self.start_s, 1e-9)
        return LEFT + min(max(share, 0.0), 1.0) * PLOT

    @property
    def seconds_per_pixel(self) -> float:
        return (self.end_s - self.start_s) / PLOT

    def ticks(self) -> list[float]:
        return nice_ticks(self.start_s, self.end_s, 10)


def nice_ticks(low: float, high: float, wanted: int) -> list[float]:
    """Round numbers from low to high, about as many as wanted."""
    span = max(high - low, 1e-9)
    power = 10.0 ** math.floor(math.log10(span / wanted))
    step = next(power * m for m in (1, 2, 5, 10, 20) if span / (power * m) <= wanted)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def number_text(value: float) -> str:
    """Return a number short enough for an axis: 0.5, 12, 1.5k."""
    if value >= 1_000_000:
        return f"{value / 1_000_000:g}M"
    if value >= 10_000:
        return f"{value / 1000:g}k"
    return f"{round(value, 6):g}"


def svg(height: float, label: str, parts: Iterable[str]) -> Markup:
    """Return a figure that scales with the page; `label` is what a screen reader says."""
    body = "".join(parts)
    return Markup(  # every text inside was escaped where it was made
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(label)}">'
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
    """Draw the background of the operations: bands of faults, and where the final reads began.
    Faults that overlap are one band, since a reader only compares with when something was broken.
    """
    parts = []
    for together in overlapping(faults):
        x = scale.x(together[0].start_s)
        width = max(scale.x(max(fault.end_s for fault in together)) - x, 1.0)
        title = "; ".join(f"{f.label}, {f.start_s:.1f}–{f.end_s:.1f} s" for f in together)
        parts.append(rect(x, top, width, bottom - top, "band", title))
    if final_s is not None:
        parts.append(line(scale.x(final_s), top, scale.x(final_s), bottom, "final"))
    return parts


def time_axis(scale: TimeScale, y: float) -> list[str]:
    """Draw ticks of seconds below a figure."""
    parts = [line(LEFT, y, LEFT + PLOT, y, "axis")]
    ticks = scale.ticks()
    for tick in ticks:
        x = scale.x(tick)
        parts.append(line(x, y, x, y + 4, "axis"))
        unit = " s" if tick == ticks[-1] else ""
        parts.append(text(x, y + 16, f"{number_text(tick)}{unit}", "tick", "middle"))
    return parts
