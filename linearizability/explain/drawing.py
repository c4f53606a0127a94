"""Draw an anomaly: its operations on an axis of time, one lane each, the faults in progress, and
the content of partitions according to the operations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby

from markupsafe import Markup

from linearizability.bounds import NANOSECONDS
from linearizability.excuses.fault_spans import Fault
from linearizability.explain.plots import (
    RIGHT,
    TimeScale,
    bands,
    fault_lane,
    fault_lane_height,
    fault_rows,
    line,
    rect,
    svg,
    time_axis,
)
from linearizability.explain.style import ALONE
from linearizability.explain.words import POSITIONS, Row, held, in_words, outcome
from linearizability.guarantees import abouts
from linearizability.history import F

ROW, CHARACTER, COLUMN_MIN = 22.0, 7.3, 28.0
MARGIN, PLOT, WORDS_MAX = 10.0, 620.0, 72
NOTHING, IN_THE_END = "nothing", "in the end"
LINES_MAX = 60
"""The most operations to draw."""
ATTRIBUTES = {name: about.columns for name, about in abouts().items()}
"""Checker -> the columns that a log view must show beside the values, to be understood."""
KINDS = {
    F.SEND.value: "send",
    F.POLL.value: "read",
    F.READ_ALL.value: "read",
    F.BEGIN.value: "txn",
    F.COMMIT.value: "txn",
    F.ABORT.value: "txn",
}
"""The function of an operation -> the CSS class of its bar; any other function has the class
"other"."""


@dataclass(frozen=True)
class Arrow:
    """A dependency between two operations: the first wrote a record that the second received, or
    was acknowledged before the second began. words: a sentence that says which of these."""

    before: int
    after: int
    words: str


@dataclass(frozen=True)
class Around:
    """Facts that a drawing shows beside the operations that prove an anomaly.

    start_ns: when the history began; if None, time zero is the first operation. beside: op_id ->
    the reason why an operation that the anomaly does not name is drawn. arrows: the dependencies to
    draw. now: (topic, partition, offset) -> the record there at the end, or NOTHING.
    """

    start_ns: int | None = None
    faults: Sequence[Fault] = ()
    beside: Mapping[int, str] = field(default_factory=dict)
    arrows: Sequence[Arrow] = ()
    now: Mapping[tuple[str, int, int], str] = field(default_factory=dict)


ALONE_HERE = Around()


@dataclass(frozen=True)
class Drawing:
    """Pieces of SVG and their size. title: the text for screen readers. scales: whether the drawing
    is as wide as its page."""

    width: float
    height: float
    title: str
    parts: tuple[str, ...]
    scales: bool = True

    def svg(self) -> Markup:
        """Return the drawing for a page whose style sheet has the rules of `style`."""
        return svg(self.height, self.title, self.parts, self.width, scales=self.scales)


def timeline(operations: list[list[Row]], around: Around = ALONE_HERE) -> Markup:
    """Return an SVG with a line per operation (LINES_MAX at most): its words, and a bar from its
    invocation to its completion. The bar of an operation of unknown outcome is dashed, and open to
    the right: it may take effect at any time after its invocation."""
    return _timeline(operations, around).svg()


def _timeline(operations: list[list[Row]], around: Around, proof: Collection[int] = ()) -> Drawing:
    """Return a drawing of the operations in time, LINES_MAX at most. proof: the operations whose
    words are bold."""
    drawn = operations[:LINES_MAX]
    labels = [_label(operation, around.beside) for operation in drawn]
    left = CHARACTER * min(max(map(len, labels), default=0), WORDS_MAX) + 16
    start_ns = around.start_ns
    if start_ns is None:
        start_ns = min((o[0]["t_invoke_ns"] for o in drawn), default=0)
    spans = [_span(operation, start_ns) for operation in drawn]
    scale = _scale(spans, left)
    near = [f for f in around.faults if f.start_s < scale.end_s and f.end_s > scale.start_s]
    rows = fault_rows(near)
    top = fault_lane_height(rows)
    bottom = top + ROW * len(drawn)
    parts = bands(scale, near, 0, bottom, None) + fault_lane(scale, near, rows)
    ends: dict[int, tuple[float, float, float]] = {}
    for number, (operation, label) in enumerate(zip(drawn, labels, strict=True)):
        y, op_id = top + ROW * number, operation[0]["op_id"]
        parts.append(line(left, y + ROW, left + PLOT, y + ROW, "grid"))
        parts.append(_words(4, y + 15, label, bold=op_id in proof))
        bar, began, ended = _bar(operation, spans[number], scale, y)
        ends[op_id] = began, ended, y + ROW / 2
        parts += bar
    parts += [piece for arrow in around.arrows for piece in _arrow(arrow, ends)]
    parts += time_axis(scale, bottom)
    return Drawing(
        left + PLOT + RIGHT, bottom + 22, "The operations in time", tuple(map(str, parts))
    )


def _label(operation: list[Row], beside: Mapping[int, str]) -> str:
    why = beside.get(operation[0]["op_id"])
    return in_words(operation) + (f" ({why})" if why else "")


def _span(operation: list[Row], start_ns: int) -> tuple[float, float | None]:
    began, ended = operation[0]["t_invoke_ns"], operation[0]["t_complete_ns"]
    return (began - start_ns) / NANOSECONDS, (
        None if ended is None else (ended - start_ns) / NANOSECONDS
    )


def _scale(spans: Sequence[tuple[float, float | None]], left: float) -> TimeScale:
    start = min((began for began, _ in spans), default=0.0)
    end = max((max(began, ended or began) for began, ended in spans), default=1.0)
    margin = max((end - start) * 0.04, 1e-9)
    return TimeScale(start - margin, end + margin, left, PLOT)


def _bar(
    operation: list[Row], span: tuple[float, float | None], scale: TimeScale, y: float
) -> tuple[list[str], float, float]:
    """Return the SVG elements of an operation's bar, and the horizontal pixels at which it begins
    and ends."""
    began, ended = span
    kind, ended_so = KINDS.get(operation[0]["f"], "other"), outcome(operation[0])
    x, edge = scale.x(began), scale.left + scale.width
    until = edge if ended is None else max(scale.x(ended), x + 3)
    when = "never answered" if ended is None else f"{ended:.4f} s"
    title = f"operation {operation[0]['op_id']}: {began:.4f} s – {when}, {ended_so}"
    css = f"{kind} {ended_so}"
    if ended_so != "info":
        return [rect(x, y + 5, until - x, ROW - 10, css, title)], x, until
    parts = [rect(x, y + 5, until - x, ROW - 10, "unknown", title)]
    if until < edge:
        parts.append(rect(until, y + 9, edge - until, ROW - 18, "tail", "may take effect later"))
    return parts, x, until


def _arrow(arrow: Arrow, ends: Mapping[int, tuple[float, float, float]]) -> Iterator[str]:
    """Yield the SVG elements of an arrow from the end of one bar to the beginning of another. Yield
    nothing if one of them is not drawn. ends: op_id -> (where its bar begins, where it ends, its
    height)."""
    if arrow.before not in ends or arrow.after not in ends:
        return
    _, x1, y1 = ends[arrow.before]
    x2, _, y2 = ends[arrow.after]
    bend = max(abs(x2 - x1) / 2, 24)
    title = f"<title>{escape(f'{arrow.before} before {arrow.after}: {arrow.words}')}</title>"
    yield (
        f'<path class="arrow" d="M{x1:.1f} {y1:.1f}C{x1 + bend:.1f} {y1:.1f} '
        f'{x2 - bend:.1f} {y2:.1f} {x2 - 5:.1f} {y2:.1f}">{title}</path>'
    )
    yield f'<path class="head" d="M{x2:.1f} {y2:.1f}l-8 -4v8z"/>'


def logs(
    operations: list[list[Row]], attributes: Collection[str] = (), around: Around = ALONE_HERE
) -> str:
    """Return HTML with a table of offsets, drawn as SVG, for each partition. It has a line for each
    operation with the values that the operation shows, and below it a line for each attribute
    (column) of the values. Offsets that hold different values are red, values at different offsets
    yellow. At most LINES_MAX operations are shown; the result is "" if none of them has an
    offset."""
    return "".join(
        f"<h4>{escape(log.title)}</h4>\n{log.svg()}"
        for log in _logs(operations, attributes, around)
    )


def _logs(
    operations: list[list[Row]], attributes: Collection[str], around: Around = ALONE_HERE
) -> Iterator[Drawing]:
    shown = [row for o in operations[:LINES_MAX] for row in o if row["offset"] is not None]
    for place in sorted({(row["topic"], row["partition"]) for row in shown}):
        here = [row for row in shown if (row["topic"], row["partition"]) == place]
        now = {at: words for (*where, at), words in around.now.items() if tuple(where) == place}
        yield _log(f"Partition {place[0]}-{place[1]}", here, attributes, now)


def _log(
    title: str, rows: list[Row], attributes: Collection[str], now: Mapping[int, str]
) -> Drawing:
    lines = list(_lines(rows, attributes))
    offsets = sorted({row["offset"] for row in rows} | set(now))
    shown = {(held(row), row["offset"]) for row in rows if row["f"] not in POSITIONS}
    if now:
        lines.append((IN_THE_END, [(words, at, True) for at, words in now.items()]))
        shown |= {(words, at) for at, words in now.items() if words != NOTHING}
    cells = [words for _, cells_ in lines for words, _, _ in cells_] + [str(at) for at in offsets]
    step = max(COLUMN_MIN, CHARACTER * max(map(len, cells)) + 10)
    left = CHARACTER * max(len(name) for name, _ in [*lines, ("offset", ())]) + 16
    column = {at: left + step * number for number, at in enumerate(offsets)}
    parts = [_words(4, 15, "offset")]
    parts += [_words(column[at], 15, str(at)) for at in offsets]
    for number, (name, cells_) in enumerate(lines, start=1):
        parts.append(_words(4, number * ROW + 15, name))
        for words, at, is_value in cells_:
            if is_value:
                css = _css(words, at, shown)
                parts.append(rect(column[at] - 4, number * ROW, step - 3, ROW - 3, css))
            parts.append(_words(column[at], number * ROW + 15, words))
    size = (left + step * len(offsets), ROW * (len(lines) + 1))
    return Drawing(*size, title, tuple(parts), scales=False)


def _css(words: str, at: int, shown: Collection[tuple[str, int]]) -> str:
    """Return the CSS class of a cell: its offset shows several values, its value is shown at
    several offsets, it is empty, or none of these."""
    if words == NOTHING:
        return "cell gone"
    if len({held for held, offset in shown if offset == at}) > 1:
        return "cell differs"
    is_twice = words[:1].isdigit() and len({o for held, o in shown if held == words}) > 1
    return "cell twice" if is_twice else "cell"


Cells = list[tuple[str, int, bool]]
"""(words, offset, whether the words state the content of that offset)."""


def _lines(rows: list[Row], attributes: Collection[str]) -> Iterator[tuple[str, Cells]]:
    """Yield (name, cells) of a line for each operation and replica that it read, followed by a line
    for each attribute of which it has a value."""

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
    operations: list[list[Row]],
    title: str,
    proof: Collection[int],
    attributes: Collection[str],
    around: Around = ALONE_HERE,
) -> str:
    """Return title, operations in time (LINES_MAX at most) and partitions as one SVG image that
    needs no style sheet. proof: the operations that the anomaly names: their words are bold."""
    drawings = [_timeline(operations, around, proof), *_logs(operations, attributes, around)]
    parts, y = [_words(MARGIN, MARGIN + 12, title, bold=True)], MARGIN + ROW + 4
    for number, drawing in enumerate(drawings):
        if number:
            parts.append(_words(MARGIN, y + 18, drawing.title))
            y += ROW + 4
        inside = "\n".join(drawing.parts)
        parts.append(f'<g transform="translate({MARGIN:.0f} {y:.0f})">{inside}</g>')
        y += drawing.height + MARGIN
    width = max(CHARACTER * len(title), *(d.width for d in drawings)) + 2 * MARGIN
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{y:.0f}" '
        f'viewBox="0 0 {width:.0f} {y:.0f}" role="img" aria-label="{escape(title)}">'
        f'<style>{ALONE}</style><rect class="ground" width="{width:.0f}" height="{y:.0f}"/>'
        f"{body}</svg>\n"
    )


def _words(x: float, y: float, words: str, *, bold: bool = False) -> str:
    """Return an SVG text, shortened if it is long; the browser shows the whole text on hover."""
    shown = words if len(words) <= WORDS_MAX else words[: WORDS_MAX - 1] + "…"
    title = f"<title>{escape(words)}</title>" if shown != words else ""
    css = "words bold" if bold else "words"
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" xml:space="preserve" class="{css}">{escape(shown)}'
        f"{title}</text>"
    )
