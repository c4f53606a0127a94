"""Find errors that would make a verdict on a history meaningless, within rows and between
neighbouring rows. Rows are read in pieces, because a history may be larger than memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from linearizability.errors import HistoryError
from linearizability.schema import REQUIRED, ROW_GROUP_ROWS, SCHEMA_VERSION, F, Type

CHECKED_AT_ONCE = ROW_GROUP_ROWS
"""The number of rows that are checked at a time."""

_HAS_RECORD = (pl.col("f") == F.SEND.value) | (
    (pl.col("f") == F.POLL.value) & pl.col("offset").is_not_null()
)
FIRST_NS, FIRST_RUN = "first_ns", "first_run"
"""The names of two facts of the whole file: the first row's `t_invoke_ns`, and the first `run_id`
that is not null."""
YEAR_NS = 365 * 24 * 3600 * 1_000_000_000
_SAME_OPERATION = pl.col("op_id") == pl.col("op_id").shift()
_BAD_ROWS: Mapping[str, pl.Expr] = {
    f"column 'schema_version' is newer than {SCHEMA_VERSION}": (
        pl.col("schema_version") > SCHEMA_VERSION
    ),
    f"column 'f' is not one of {', '.join(F)}": ~pl.col("f").is_in([f.value for f in F]),
    "column 'type' is not ok, fail or info": ~pl.col("type").is_in([t.value for t in Type]),
    "column 't_complete_ns' is before 't_invoke_ns': it completes before it was invoked": (
        pl.col("t_complete_ns") < pl.col("t_invoke_ns")
    ),
    "column 't_invoke_ns' is more than a year from the first row's: all times must come from one "
    "clock": (pl.col("t_invoke_ns") - pl.col(FIRST_NS)).abs() > YEAR_NS,
    "column 't_complete_ns' is more than a year after 't_invoke_ns': all times must come from one "
    "clock": pl.col("t_complete_ns") - pl.col("t_invoke_ns") > YEAR_NS,
    "column 'offset' is negative": pl.col("offset") < 0,
    "column 'topic' or 'partition' is null, but it speaks of a record": (
        _HAS_RECORD & (pl.col("topic").is_null() | pl.col("partition").is_null())
    ),
    "column 'op_id' is that of the row before, but the process is another: numbers of operations "
    "must be unique": _SAME_OPERATION & (pl.col("process") != pl.col("process").shift()),
    "columns 'op_id' and 'record_index' are those of the row before: a record sent must have one "
    "row": (
        _SAME_OPERATION
        & (pl.col("record_index") == pl.col("record_index").shift())
        & (pl.col("f") == F.SEND.value)
        & (pl.col("f").shift() == F.SEND.value)
    ),
    "column 'run_id' names another run than the rows before: runs have clocks of their own, judge "
    "them one by one": pl.col("run_id") != pl.col(FIRST_RUN),
}
"""Problem -> the condition on rows that have it."""
_OF_NEIGHBOURS = [problem for problem in _BAD_ROWS if "row before" in problem]
"""The problems found by comparing a row with the row before. If the rows of the file are not in the
order of their operations, they are sorted by operation and checked for these problems again."""
_UNORDERED = "unordered"
_LOOKED_FOR: Mapping[str, pl.Expr] = {
    **{f"column {name!r} is null": pl.col(name).is_null() for name in REQUIRED},
    **_BAD_ROWS,
    _UNORDERED: pl.col("op_id").diff() < 0,
}
_CHECKED = (*REQUIRED, "t_complete_ns", "offset", "topic", "partition", "run_id")
_OF_OPERATIONS = ("op_id", "record_index", "process", "f")


def check_rows(file: Path, lazy: pl.LazyFrame, count: int) -> tuple[str, ...]:
    """Raise HistoryError for anything that would make a verdict meaningless, naming the first
    offending row. Return the columns that are null in every row."""
    try:
        # Polars is to read all of it later, and refuses some files that Arrow reads.
        nulls = lazy.select(pl.all().null_count()).collect().row(0, named=True)
        firsts, spans = _looked_through(lazy, count)
        unordered = firsts.pop(_UNORDERED, None) is not None
        if unordered and not any(row is not None for row in firsts.values()):
            firsts = _compared_by_operation(lazy, spans)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise HistoryError(
            f"{file}: cannot be read to its end ({str(error).splitlines()[0]})"
        ) from error
    for problem, row in firsts.items():
        if row is not None:
            raise HistoryError(f"{file}: row {row}: {problem}")
    return tuple(name for name, number in nulls.items() if number == count)


Firsts = dict[str, int | None]
"""Problem -> the number of the first row that has it."""


class _Span(NamedTuple):
    """A range of rows in the file, and the operations that they belong to."""

    start: int
    lowest: int
    highest: int
    some: pl.Series
    """Every 512th of its operations, in order."""


_ONE_IN = 512
"""One in this many of a span's operations is kept, to know how they are distributed."""


def _looked_through(lazy: pl.LazyFrame, count: int) -> tuple[Firsts, list[_Span]]:
    """Return, for each problem, the first row that has it (or None), and for each piece its range
    of operation ids with a sample of them. A piece is checked together with the last row of the
    piece before, since some problems lie between neighbours."""
    firsts: Firsts = dict.fromkeys(_LOOKED_FOR)
    spans: list[_Span] = []
    first_ns = first_run = before = None
    for start in range(0, count, CHECKED_AT_ONCE):
        rows = _read(lazy, _CHECKED, start)
        if before is None:
            first_ns = rows["t_invoke_ns"][0]
        if first_run is None:
            first_run = rows["run_id"].drop_nulls().first()
        of_file = {FIRST_NS: pl.lit(first_ns, pl.Int64), FIRST_RUN: pl.lit(first_run, pl.String)}
        piece = rows if before is None else pl.concat([before, rows])
        _keep_earlier(firsts, _first_rows(piece.with_columns(**of_file), _LOOKED_FOR))
        before = rows.tail(1)
        operations = rows["op_id"].drop_nulls().sort()
        if len(operations):
            ends = operations[0], operations[-1]
            spans.append(_Span(start, *ends, operations.gather_every(_ONE_IN)))
    return firsts, spans


def _compared_by_operation(lazy: pl.LazyFrame, spans: Sequence[_Span]) -> Firsts:
    """Return the first contradictions between rows of one operation, wherever the rows are. Take
    operations in ranges of about CHECKED_AT_ONCE rows and read only the spans with rows of a range;
    a recorded history is nearly in order, so that is about two spans. spans: those of
    `_looked_through`."""
    firsts: Firsts = {}
    spread = pl.concat([span.some for span in spans]).sort()
    bounds = spread.gather_every(CHECKED_AT_ONCE // _ONE_IN).unique(maintain_order=True).to_list()
    for lowest, beyond in zip(bounds, [*bounds[1:], None], strict=True):
        is_within = pl.col("op_id") >= lowest
        if beyond is not None:
            is_within &= pl.col("op_id") < beyond
        rows = pl.concat(
            _read(lazy, _OF_OPERATIONS, span.start).filter(is_within)
            for span in spans
            if span.highest >= lowest and (beyond is None or span.lowest < beyond)
        )
        together = rows.sort(*_OF_OPERATIONS, "row")
        _keep_earlier(firsts, _first_rows(together, {p: _BAD_ROWS[p] for p in _OF_NEIGHBOURS}))
    return firsts


def _read(lazy: pl.LazyFrame, columns: Sequence[str], start: int) -> pl.DataFrame:
    """Return up to CHECKED_AT_ONCE rows from the row `start` on, with their number in the file in
    the column `row`."""
    return lazy.select(columns).slice(start, CHECKED_AT_ONCE).collect().with_row_index("row", start)


def _first_rows(rows: pl.DataFrame, bad: Mapping[str, pl.Expr]) -> Firsts:
    found = rows.select(
        pl.col("row").filter(condition).min().alias(problem) for problem, condition in bad.items()
    )
    return found.row(0, named=True)


def _keep_earlier(firsts: Firsts, found: Firsts) -> None:
    """Update `firsts` so that it has, for each problem of `found`, the earlier of the two rows."""
    for problem, row in found.items():
        known = firsts.get(problem)
        firsts[problem] = row if known is None or (row is not None and row < known) else known
