"""The path of each reader through a partition: its start, the records it received, and the record
before each."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from linearizability.history import F, Type
from linearizability.ingest import HAS_RECORD, IS_OK, KEY
from linearizability.plans import collect, collect_all, needed, once

READER = [*KEY, "process", "session", "replica", "isolation"]
"""The columns that identify one reader with one run of positions. Seeks, rebalances, resets and the
process's own operations without success begin a new session (history.COLUMNS, `session`)."""

SESSION = [*KEY, "process", "session"]
_ASKED_OFFSET = pl.when(pl.col("asked").is_in(["offset", "committed"])).then("asked_offset")
_FROM_LOG_START = (pl.col("asked") == "earliest") & (pl.col("log_start") < pl.col("offset"))
START = (
    pl.when(_FROM_LOG_START.fill_null(False))
    .then("log_start")
    .otherwise(pl.coalesce("offset", _ASKED_OFFSET))
)
"""In rows that fulfil `IS_START`: the first offset that the reader wants. A reader that requests
the earliest record but must begin above the log start was given a wrong offset."""
IS_MISLED = (pl.col("f") == F.POSITION.value) & IS_OK & _FROM_LOG_START
"""The condition on a reader that requested the earliest record and got an offset above a log start
that was named later."""
IS_START = (pl.col("f") == F.POSITION.value) & IS_OK & START.is_not_null()

IS_JUMP = pl.col("offset") > pl.col("before") + 1
"""The condition on a step that passes over an offset."""


def starts(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return each recorded start of a reader: SESSION, `start`, `op_id` and `t_invoke_ns`."""
    return events.filter(IS_START).select(*SESSION, "op_id", "t_invoke_ns", start=START)


def first_steps(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the first record of each session whose start is recorded, in the form of `steps`.
    before: the offset just below the start (the last one, if there are several); before_op: the
    operation that set the start. A session whose last start came after that record is left out."""
    begun = collect(
        starts(events)
        .group_by(SESSION)
        .agg(
            before=pl.col("start").last() - 1,
            before_op=pl.col("op_id").last(),
            begun_ns=pl.col("t_invoke_ns").last(),
        )
    )
    first = (
        needed(events, begun)
        .filter(HAS_RECORD & pl.col("replica").is_null())
        .group_by(SESSION)
        .agg(pl.col("isolation", "replica", "op_id", "record_index", "offset", "value").first())
    )
    return first.join(begun.lazy(), on=SESSION).filter(pl.col("before_op") <= pl.col("op_id"))


class Walked(NamedTuple):
    """A summary of `steps`. total: how many there are. back: those that do not lead to a higher
    offset. jumps: KEY, isolation, before and offset of those that are longer than one offset, each
    once."""

    total: int
    back: pl.DataFrame
    jumps: pl.DataFrame


def walked(events: pl.LazyFrame) -> Walked:
    """Return the summary of the steps in these rows (to be called by `plans.once`)."""
    made = steps(events)
    total, back, jumps = collect_all(
        [
            made.select(pl.len()),
            made.filter(pl.col("offset") <= pl.col("before")),
            made.filter(IS_JUMP).select(*KEY, "isolation", "before", "offset").unique(),
        ]
    )
    return Walked(total.item(), back, jumps)


def steps(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return each record read with the one that the same reader received before it: before,
    before_op. Records that have none are left out. Records of failed operations are compared too,
    but their reader must be rewound: the next operation continues after the last one that did not
    fail. The rows of a history stand in the order of operations (`checkers.base`)."""
    is_next = pl.col("op_id") == pl.col("op_id").shift(1)

    def before(column: str) -> pl.Expr:
        kept = pl.when(~pl.col("failed")).then(pl.col(column)).forward_fill()
        found = pl.when(is_next).then(pl.col(column).shift(1)).otherwise(kept.shift(1))
        return found.over(READER)

    return (
        events.filter(HAS_RECORD)
        .select(
            *READER,
            "op_id",
            "record_index",
            "offset",
            "value",
            failed=pl.col("type") == Type.FAIL.value,
        )
        .with_columns(before=before("offset"), before_op=before("op_id"))
        .filter(pl.col("before").is_not_null())
        .drop("failed")
    )


def distinct_jumps(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return KEY, isolation, before and offset of all `jumps`. Few are different, since readers
    pass over the same markers and aborted transactions."""
    begun = first_steps(events).filter(IS_JUMP).select(*KEY, "isolation", "before", "offset")
    return pl.concat([once(walked, events).jumps.lazy(), begun])


def jumps(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the steps, and first steps of sessions, that are longer than one offset."""
    first = first_steps(events).drop("begun_ns")
    return pl.concat([steps(events), first], how="diagonal").filter(IS_JUMP)
