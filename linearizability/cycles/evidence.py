"""Which transaction was given whose records, and when each was committed.

Reads are found partition by partition (`reads_between`), ends from the operations that asked for
them (`ends`); the rows of both together are what `Scope.RUN` judges:

- `read`: transaction `reader` was given, before it asked for its own commit, a record of `txn`;
- `end`: when the commit of `txn` was first asked for, and first acknowledged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from linearizability.history import PARTITION, F
from linearizability.inferred_log import READ_COMMITTED
from linearizability.ingest import IS_DATA, IS_OK, IS_SEND, KEY

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
"""op_id, later_op: of a read the send and the poll; of an end what asked first, and what was
acknowledged first."""
READ, END = "read", "end"
END_COLUMNS = ("f", "type", "txn", "op_id", "t_invoke_ns", "t_complete_ns")
"""The columns of a history that `ends` reads."""


def run_evidence(events: pl.LazyFrame) -> pl.LazyFrame:
    """COLUMNS, from a whole resolved history."""
    return pl.concat([reads_between(events), ends(events)])


def reads_between(events: pl.LazyFrame) -> pl.LazyFrame:
    """The `read` rows of any number of whole partitions: of each pair the first in the log.

    Only values that were sent once have a known writer. A poll that began after its transaction's
    commit was asked for is no longer part of it.
    """
    writers = (
        events.filter(IS_SEND & pl.col("value").is_not_null())
        .group_by(*KEY, "value")
        .agg(pl.col("txn", "op_id").first(), sends=pl.len())
        .filter((pl.col("sends") == 1) & pl.col("txn").is_not_null())
        .drop("sends")
    )
    in_time = (pl.col("t_invoke_ns") <= pl.col("commit_asked_ns")).fill_null(True)
    given = events.filter(
        IS_DATA & (pl.col("isolation") == READ_COMMITTED) & pl.col("txn").is_not_null() & in_time
    ).select(*KEY, *PARTITION, "offset", "value", reader="txn", later_op="op_id")
    found = (
        given.join(writers, on=[*KEY, "value"])
        .filter(pl.col("txn") != pl.col("reader"))
        .sort(*KEY, "offset", "value", "op_id", "later_op")
        .unique([*KEY, "txn", "reader"], keep="first", maintain_order=True)
    )
    return _as_rows(found, READ)


def ends(history: pl.LazyFrame) -> pl.LazyFrame:
    """The `end` rows of every transaction whose commit was asked for."""
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
