"""Lay out the table that a benchmark prints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Ratio:
    """A figure of a benchmark with a bound, which is a maximum (at_most) or a minimum
    (at_least)."""

    value: float
    at_most: float = math.inf
    at_least: float = -math.inf

    @property
    def holds(self) -> bool:
        return self.at_least <= self.value <= self.at_most

    def __str__(self) -> str:
        bound = f"≤ {self.at_most:g}" if self.at_most < math.inf else f"≥ {self.at_least:g}"
        return f"{self.value:.2f} ({bound}{'' if self.holds else ', BROKEN'})"


@dataclass
class Table:
    """A benchmark's columns, and its rows, whose cells are text, numbers or ratios."""

    columns: Sequence[str]
    rows: list[Sequence[object]] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        self.rows.append(cells)

    @property
    def broken(self) -> list[Ratio]:
        """Return the ratios that break their bound."""
        return [c for row in self.rows for c in row if isinstance(c, Ratio) and not c.holds]

    def render(self) -> str:
        """Return the table as aligned text. A float has four significant digits, a ratio two
        decimals and its bound."""
        shown = [list(self.columns)] + [[_cell(c) for c in row] for row in self.rows]
        widths = [max(len(row[at]) for row in shown) for at in range(len(self.columns))]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in shown]
        lines.insert(1, "  ".join("-" * w for w in widths))
        return "\n".join(line.rstrip() for line in lines)


def _cell(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
