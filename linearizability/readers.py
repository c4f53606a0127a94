"""How readers go through a partition: what each was given, and what before it."""

from __future__ import annotations

import polars as pl

from linearizability.ingest import HAS_RECORD, KEY

READER = [*KEY, "process", "session", "replica", "isolation"]
"""One reader with one run of positions. Seeks, rebalances, resets and the process's own failed
operations begin a new session (history.COLUMNS, `session`)."""


def steps(events: pl.LazyFrame) -> pl.LazyFrame:
    """Each record read with the one that the same reader was given before: before, before_op.

    The rows of a history stand in the order of operations (`checkers.base`)."""
    return (
        events.filter(HAS_RECORD)
        .select(*READER, "op_id", "record_index", "offset", "value")
        .with_columns(
            before=pl.col("offset").shift(1).over(READER),
            before_op=pl.col("op_id").shift(1).over(READER),
        )
        .filter(pl.col("before").is_not_null())
    )
