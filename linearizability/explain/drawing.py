"""An anomaly as a drawing: its operations in time, one line each, and what partitions hold by them.

Time is drawn in order, not to scale: a column for each instant at which something began or ended,
so that operations of nanoseconds stand beside operations of minutes and no label covers another.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

import polars as pl

ROW, CHARACTER, COLUMN_MIN = 22.0, 7.2, 28.0
LINES_MAX = 60
"""As many operations are drawn."""
COLOURS = {"ok": "#2f7d4f", "info": "#b07a10", "fail": "#b3382c"}
Row = dict[str, Any]


def operations_of(rows: pl.DataFrame) -> list[list[Row]]:
    """The rows by operation, in the order of invocation."""
    found: dict[int, list[Row]] = {}
    for row in rows.sort("t_invoke_ns", "op_id", "record_index").iter_rows(named=True):
        found.setdefault(row["op_id"], []).append(row)
    return list(found.values())


def in_words(operation: list[Row]) -> str:
    """An operation in one line: who, what, where, and how it ended."""
    first = operation[0]
    what = ", ".join(_record(row) for row in operation[:4])
    if len(operation) > 4:
        what += f" and {len(operation) - 4} more"
    inside = f" in transaction {first['txn']}" if first["txn"] is not None else ""
    return f"{first['op_id']}: process {first['process']} {what}{inside}: {first['type']}"


def _record(row: Row) -> str:
    place = f" {row['topic']}-{row['partition']}" if row["topic"] is not None else ""
    held = row["value"] if row["control"] is None else row["control"].upper()
    if row["offset"] is not None:
        return f"{row['f']}{place} {'?' if held is None else held} at {row['offset']}"
    return f"{row['f']}{place}" + ("" if held is None else f" {held}")


def timeline(operations: list[list[Row]]) -> str:
    """A line per operation: its words, and a bar from its invocation to its completion."""
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
        parts.append(_text(4, top + 15, label))
        parts.append(
            f'<rect x="{x:.0f}" y="{top + 4:.0f}" width="{until - x:.0f}" height="14" rx="3" '
            f'fill="{colour}"><title>{escape(label)}</title></rect>'
        )
    return _svg(width, ROW * len(drawn), "Operations in the order of time", parts)


def _span(operation: list[Row]) -> tuple[int, int | None]:
    return operation[0]["t_invoke_ns"], operation[0]["t_complete_ns"]


def logs(operations: list[list[Row]]) -> str:
    """Per partition a table of offsets: a line per operation, and the values it shows there.
    Offsets of which operations show different values are coloured."""
    places = sorted({_place(row) for o in operations for row in o if row["offset"] is not None})
    return "".join(_log(place, operations[:LINES_MAX]) for place in places)


def _place(row: Row) -> tuple[str, int]:
    return row["topic"], row["partition"]


def _log(place: tuple[str, int], operations: list[list[Row]]) -> str:
    shown = [
        [row for row in o if row["offset"] is not None and _place(row) == place] for o in operations
    ]
    rows = [row for some in shown for row in some]
    offsets = sorted({row["offset"] for row in rows})
    values = {at: {_held(row) for row in rows if row["offset"] == at} for at in offsets}
    width = max([len(_held(row)) for row in rows] + [len(str(at)) for at in offsets])
    column = {at: number for number, at in enumerate(offsets)}
    step = max(COLUMN_MIN, CHARACTER * width + 10)
    names = [f"{some[0]['op_id']}: {some[0]['f']}" for some in shown if some]
    left = CHARACTER * max(map(len, [*names, "offset"])) + 16
    parts = [_text(4, 15, "offset")]
    parts += [_text(left + step * column[at], 15, str(at)) for at in offsets]
    for number, some in enumerate(filter(None, shown), start=1):
        parts.append(_text(4, number * ROW + 15, names[number - 1]))
        for row in some:
            x = left + step * column[row["offset"]]
            fill = "#f3c6c0" if len(values[row["offset"]]) > 1 else "#e3ecf5"
            parts.append(
                f'<rect x="{x - 4:.0f}" y="{number * ROW:.0f}" width="{step - 3:.0f}" '
                f'height="{ROW - 3:.0f}" rx="3" fill="{fill}"/>'
            )
            parts.append(_text(x, number * ROW + 15, _held(row)))
    title = f"Partition {place[0]}-{place[1]}"
    drawn = _svg(left + step * len(offsets), ROW * (len(names) + 1), title, parts)
    return f"<h4>{escape(title)}</h4>\n{drawn}"


def _held(row: Row) -> str:
    return row["control"].upper() if row["control"] is not None else str(row["value"])


def _text(x: float, y: float, words: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}">{escape(words)}</text>'


def _svg(width: float, height: float, label: str, parts: Iterable[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(label)}" '
        f'font-family="monospace" font-size="12">' + "\n".join(parts) + "</svg>\n"
    )
