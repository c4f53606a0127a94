"""An anomaly as a drawing: its operations in time, one line each, and what partitions hold by them.

Time is drawn in order, not to scale: a column for each instant at which something began or ended,
so that operations of nanoseconds stand beside operations of minutes and no label covers another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby

from linearizability.explain.words import POSITIONS, Row, held, in_words

ROW, CHARACTER, COLUMN_MIN = 22.0, 7.2, 28.0
MARGIN = 10.0
LINES_MAX = 60
"""As many operations are drawn."""
COLOURS = {"ok": "#2f7d4f", "info": "#b07a10", "fail": "#b3382c"}
ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "producer_order": ("sequence",),
    "idempotence": ("producer_epoch", "sequence"),
    "fencing": ("producer_epoch",),
    "leader_epochs": ("leader_epoch",),
    "replica_agreement": ("leader_epoch",),
    "compaction": ("key",),
}
"""Checker -> the columns that a log view must show beside the values, to be understood."""


@dataclass(frozen=True)
class Drawing:
    """A piece of SVG and its size. title: what a screen reader says."""

    width: float
    height: float
    title: str
    parts: tuple[str, ...]

    def svg(self) -> str:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:.0f}" '
            f'height="{self.height:.0f}" viewBox="0 0 {self.width:.0f} {self.height:.0f}" '
            f'role="img" aria-label="{escape(self.title)}" font-family="monospace" '
            'font-size="12">' + "\n".join(self.parts) + "</svg>\n"
        )


def timeline(operations: list[list[Row]]) -> str:
    """Return a line per operation: its words, and a bar from its invocation to its completion."""
    return _timeline(operations).svg()


def _timeline(operations: list[list[Row]], proof: Collection[int] = ()) -> Drawing:
    """Draw the operations in time. proof: the operations whose words are bold."""
    drawn = operations[:LINES_MAX]
    labels = [in_words(operation) for operation in drawn]
    instants = sorted({t for o in drawn for t in _span(o) if t is not None})
    column = {instant: number for number, instant in enumerate(instants)}
    left = CHARACTER * max(map(len, labels), default=0) + 16
    width = left + COLUMN_MIN * (len(instants) + 1)
    parts = []
    for number, (operation, label) in enumerate(zip(drawn, labels, strict=True)):
        began, ended = _span(operation)
        top = number * ROW
        x = left + COLUMN_MIN * column[began]
        until = width if ended is None else left + COLUMN_MIN * column[ended] + COLUMN_MIN / 2
        colour = COLOURS[operation[0]["type"]]
        parts.append(_text(4, top + 15, label, bold=operation[0]["op_id"] in proof))
        parts.append(
            f'<rect x="{x:.0f}" y="{top + 4:.0f}" width="{until - x:.0f}" height="14" rx="3" '
            f'fill="{colour}"><title>{escape(label)}</title></rect>'
        )
    return Drawing(width, ROW * len(drawn), "Operations in the order of time", tuple(parts))


def _span(operation: list[Row]) -> tuple[int, int | None]:
    return operation[0]["t_invoke_ns"], operation[0]["t_complete_ns"]


def logs(operations: list[list[Row]], attributes: Collection[str] = ()) -> str:
    """Draw per partition a table of offsets: a line per operation, and the values it shows there,
    with a line below for each attribute (column) of them. Offsets that hold different values are
    red, values at different offsets yellow."""
    return "".join(
        f"<h4>{escape(log.title)}</h4>\n{log.svg()}" for log in _logs(operations, attributes)
    )


def _logs(operations: list[list[Row]], attributes: Collection[str]) -> Iterator[Drawing]:
    shown = [row for o in operations[:LINES_MAX] for row in o if row["offset"] is not None]
    for place in sorted({(row["topic"], row["partition"]) for row in shown}):
        here = [row for row in shown if (row["topic"], row["partition"]) == place]
        yield _log(f"Partition {place[0]}-{place[1]}", here, attributes)


def _log(title: str, rows: list[Row], attributes: Collection[str]) -> Drawing:
    lines = list(_lines(rows, attributes))
    offsets = sorted({row["offset"] for row in rows})
    shown = {(held(row), row["offset"]) for row in rows if row["f"] not in POSITIONS}
    cells = [words for _, line in lines for words, _, _ in line] + [str(at) for at in offsets]
    step = max(COLUMN_MIN, CHARACTER * max(map(len, cells)) + 10)
    left = CHARACTER * max(len(name) for name, _ in [*lines, ("offset", ())]) + 16
    column = {at: left + step * number for number, at in enumerate(offsets)}
    parts = [_text(4, 15, "offset")]
    parts += [_text(column[at], 15, str(at)) for at in offsets]
    for number, (name, line) in enumerate(lines, start=1):
        parts.append(_text(4, number * ROW + 15, name))
        for words, at, is_value in line:
            fill = _fill(words, at, shown) if is_value else "none"
            parts.append(
                f'<rect x="{column[at] - 4:.0f}" y="{number * ROW:.0f}" width="{step - 3:.0f}" '
                f'height="{ROW - 3:.0f}" rx="3" fill="{fill}"/>'
            )
            parts.append(_text(column[at], number * ROW + 15, words))
    return Drawing(left + step * len(offsets), ROW * (len(lines) + 1), title, tuple(parts))


def _fill(words: str, at: int, shown: Collection[tuple[str, int]]) -> str:
    """Return red if the offset has different values, and yellow if the value (no marker) has
    several offsets."""
    if len({held for held, offset in shown if offset == at}) > 1:
        return "#f3c6c0"
    is_twice = words[:1].isdigit() and len({o for held, o in shown if held == words}) > 1
    return "#f7e3b5" if is_twice else "#e3ecf5"


Cells = list[tuple[str, int, bool]]
"""Words, offset, whether they say what stands there."""


def _lines(rows: list[Row], attributes: Collection[str]) -> Iterator[tuple[str, Cells]]:
    """Yield a line for each reading of each operation, by replica, and its attributes below."""

    def reader(row: Row) -> tuple[int, str, int | None]:
        return row["op_id"], row["f"], row["replica"]

    for (op_id, f, replica), some in groupby(rows, key=reader):
        read = list(some)
        whose = f" replica {replica}" if replica is not None else ""
        yield f"{op_id}: {f}{whose}", [(held(r), r["offset"], f not in POSITIONS) for r in read]
        for column in attributes:
            known = [(str(r[column]), r["offset"], False) for r in read if r[column] is not None]
            if known:
                yield f"   {column.replace('_', ' ')}", known


def picture(
    operations: list[list[Row]], title: str, proof: Collection[int], attributes: Collection[str]
) -> str:
    """Return all of it as one image on white paper: title, operations in time, partitions. proof:
    the operations that the anomaly names: their words are bold."""
    drawings = [_timeline(operations, proof), *_logs(operations, attributes)]
    parts, y = [_text(MARGIN, MARGIN + 12, title, bold=True)], MARGIN + ROW + 4
    for number, drawing in enumerate(drawings):
        if number:
            parts.append(_text(MARGIN, y + 18, drawing.title))
            y += ROW + 4
        inside = "\n".join(drawing.parts)
        parts.append(f'<g transform="translate({MARGIN:.0f} {y:.0f})">{inside}</g>')
        y += drawing.height + MARGIN
    width = max(CHARACTER * len(title), *(d.width for d in drawings)) + 2 * MARGIN
    paper = f'<rect width="{width:.0f}" height="{y:.0f}" fill="#ffffff"/>'
    return Drawing(width, y, title, (paper, *parts)).svg()


def _text(x: float, y: float, words: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.0f}" y="{y:.0f}" xml:space="preserve"{weight}>{escape(words)}</text>'
