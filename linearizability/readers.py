"""How readers go through a partition: what each was given, and what before it."""

from __future__ import annotations

import polars as pl

from linearizability.history import Type
from linearizability.ingest import HAS_RECORD, KEY

READER = [*KEY, "process", "session", "replica", "isolation"]
"""One reader with one run of positions. Seeks, rebalances, resets and the process's own failed
operations begin a new session (history.COLUMNS, `session`)."""


def steps(events: pl.LazyFrame) -> pl.LazyFrame:
    """Each record read with the one that the same reader was given before: before, before_op.

    What a failed operation was given is compared too, but its reader must be rewound: the next one
    goes on from where the last operation that did not fail had come. The rows of a history stand
    in the order of operations (`checkers.base`)."""
    is_next = pl.col("op_id") == pl.col("op_id").shift(1)

    def before(column: str) -> pl.Expr:
        kept = pl.when(~pl.col("failed")).then(pl.col(column)).forward_fill()
        found = pl.when(is_next).then(pl.col(column).shift(1)).otherwise(kept.shift(1))
        return found.over(READER)

    return (
        events.filter(HAS_RECORD)
        .select(
            *READER, "op_id", "record_index", "offset", "value",
            failed=pl.col("type") == Type.FAIL.value,
        )
        .with_columns(before=before("offset"), before_op=before("op_id"))
        .filter(pl.col("before").is_not_null())
        .drop("failed")
    )  # fmt: skip
