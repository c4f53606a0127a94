"""Find which transaction read records of which other one, and when each committed.

Reads are found partition by partition (`reads_between`), ends from the operations that asked for
them (`ends`); the rows that `Scope.RUN` judges are:

- `read`: transaction `reader` received a record of `txn` before it requested its own commit;
- `end`: when the commit of `txn` was first requested, and when it was first acknowledged;
- `given`: the number of all reads (`value`), also those that are not kept.

Only reads that can be part of a cycle are kept, in a correct history hardly any. Each transaction
has an instant: when its commit was acknowledged, else when it was asked for, else never. Real time
leads from an earlier instant to a later one, and so does nearly every read. On a cycle something
must lead back, and that is a read: the way from the latest instant of a cycle to the earliest
passes each instant between them by reads that lead back over it. So the whole cycle lies in one of
the spans which such reads cover together (`spans_of`), and all other reads can be left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from linearizability.cycles.graph import NEVER
from linearizability.history import PARTITION, F
from linearizability.ingest import IS_DATA, IS_OK, IS_SEND, KEY, READ_COMMITTED
from linearizability.plans import collect

COLUMNS: Mapping[str, Any] = {
    "kind": pl.String,
    "txn": pl.Int64,
    "reader": pl.Int64,
    "topic": pl.String,
    "topic_id": pl.String,
    "partition": pl.Int32,
    "offset": pl.Int64,
    "value": pl.Int64,
    "op_id": pl.Int64,
    "later_op": pl.Int64,
    "asked_ns": pl.Int64,
    "done_ns": pl.Int64,
}
"""The columns of the evidence. op_id, later_op: for a read, the send and the poll; for an end, the
first request and the first acknowledgement."""
OF_READS = frozenset(COLUMNS) - {"kind", "asked_ns", "done_ns"}
READ, END, GIVEN = "read", "end", "given"
END_COLUMNS = ("f", "type", "txn", "op_id", "t_invoke_ns", "t_complete_ns")
"""The columns of a history that `ends` reads."""
INSTANTS = ("writer_ns", "reader_ns")
"""The columns with the instants of the two transactions of a read: the writer's and the
reader's."""

Spans = np.ndarray[Any, np.dtype[np.int64]]
"""One (first instant, last instant) per row, for each span; the spans are disjoint and in order."""


def run_evidence(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return rows of COLUMNS from a whole resolved history: the reads that may be part of a cycle,
    the ends of their transactions, and the number of all reads."""
    reads = reads_between(events)
    instants = collect(reads.select(INSTANTS))
    spans = spans_of(instants.filter(LEADS_BACK))
    kept = within(collect(reads), spans) if len(spans) else collect(reads.head(0))
    return told(
        kept, ends(events.join(transactions_of(kept).lazy(), on="txn", how="semi")), instants.height
    )


def told(reads: pl.DataFrame, ended: pl.LazyFrame, given: int) -> pl.LazyFrame:
    """Return rows (COLUMNS) with these reads, these ends of transactions, and the number of all
    reads in one row."""
    counted = pl.LazyFrame({"value": [given]})
    return pl.concat([_as_rows(reads.lazy(), READ), ended, _as_rows(counted, GIVEN)])


def transactions_of(reads: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with one column, txn: every transaction that wrote or received one of these
    reads."""
    return pl.concat([reads["txn"], reads["reader"].rename("txn")]).unique().to_frame()


_INSTANT = pl.coalesce("commit_done_ns", "commit_asked_ns", pl.lit(NEVER))
LEADS_BACK = pl.col("writer_ns") >= pl.col("reader_ns")
"""The condition on reads that lead back in time. Every cycle contains one."""


def spans_of(leading_back: pl.DataFrame) -> Spans:
    """Return the spans of time, from the reader's instant to the writer's, that these reads cover,
    in order; overlapping ones are merged."""
    pairs = leading_back.select("reader_ns", "writer_ns").unique().sort("reader_ns").to_numpy()
    if not len(pairs):
        return pairs
    reached = np.maximum.accumulate(pairs[:, 1])
    is_first = np.concatenate([[True], pairs[1:, 0] > reached[:-1]])
    is_last = np.concatenate([is_first[1:], [True]])
    return np.column_stack([pairs[is_first, 0], reached[is_last]])


def within(reads: pl.DataFrame, spans: Spans) -> pl.DataFrame:
    """Return the reads whose writer and reader both have their instants in one of the spans, the
    same one. spans must not be empty."""
    writer_ns, reader_ns = (reads[column].to_numpy() for column in INSTANTS)
    number = np.searchsorted(spans[:, 0], writer_ns, side="right") - 1
    first, last = spans[number].T
    inside = (number >= 0) & (writer_ns <= last) & (first <= reader_ns) & (reader_ns <= last)
    return reads.filter(pl.Series(inside))


def reads_between(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return each record of one transaction that another transaction read under read_committed,
    with its INSTANTS. The events must be those of whole partitions. Leave out records whose value
    was sent twice, since their writer is not known, and polls that began after the reading
    transaction had requested its commit."""
    writers = (
        events.filter(IS_SEND & pl.col("value").is_not_null())
        .select(*KEY, "value", "txn", "op_id", writer_ns=_INSTANT)
        .group_by(*KEY, "value")
        .agg(pl.col("txn", "op_id", "writer_ns").first(), sends=pl.len())
        .filter((pl.col("sends") == 1) & pl.col("txn").is_not_null())
        .drop("sends")
    )
    in_time = (pl.col("t_invoke_ns") <= pl.col("commit_asked_ns")).fill_null(True)
    given = events.filter(
        IS_DATA & (pl.col("isolation") == READ_COMMITTED) & pl.col("txn").is_not_null() & in_time
    ).select(
        *KEY, *PARTITION, "offset", "value", reader="txn", later_op="op_id", reader_ns=_INSTANT
    )
    return given.join(writers, on=[*KEY, "value"]).filter(pl.col("txn") != pl.col("reader"))


def ends(history: pl.LazyFrame) -> pl.LazyFrame:
    """Return an `end` row for every transaction whose commit was requested. done_ns is null if no
    request was acknowledged; then later_op is its first request."""
    asked = history.filter((pl.col("f") == F.COMMIT.value) & pl.col("txn").is_not_null())
    done = pl.when(IS_OK).then("t_complete_ns")
    found = (
        asked.with_columns(done_ns=done)
        .sort("t_invoke_ns", "op_id")
        .group_by("txn")
        .agg(
            pl.col("op_id").first(),
            asked_ns=pl.col("t_invoke_ns").first(),
            done_ns=pl.col("done_ns").min(),
            later_op=pl.col("op_id").sort_by("done_ns", "op_id", nulls_last=True).first(),
        )
    )
    return _as_rows(found, END)


def _as_rows(found: pl.LazyFrame, kind: str) -> pl.LazyFrame:
    known = found.collect_schema().names()
    return found.select(
        (pl.lit(kind) if name == "kind" else pl.col(name) if name in known else pl.lit(None))
        .cast(dtype)
        .alias(name)
        for name, dtype in COLUMNS.items()
    )
