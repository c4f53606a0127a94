"""Find the longest time that a transaction of a run may last: the largest transaction.timeout.ms of
its producers.

It is known if every process that began a transaction has recorded its time-out (`init_producer`
rows). The column `longest_ns` has it in each row, or null if it is not known.
"""

from __future__ import annotations

import polars as pl

from linearizability.history import F, Type
from linearizability.plans import collect

SWEEP_NS = 10 * 1_000_000_000
"""The interval at which a coordinator looks for transactions that have lasted too long
(transaction.abort.timed.out.transaction.cleanup.interval.ms)."""
COLUMNS_READ = ("process", "f", "type", "settings")
"""The columns needed to find the time-outs."""
TOLD = pl.Schema({"process": pl.Int32, "begins": pl.Boolean, "timeout_ms": pl.Int64})
IS_INIT = (pl.col("f") == F.INIT_PRODUCER.value) & (pl.col("type") == Type.OK.value)
TIMEOUT_MS = (
    pl.col("settings")
    .str.json_path_match("$['transaction.timeout.ms']")
    .cast(pl.Int64, strict=False)
)
IS_BEGIN = pl.col("f") == F.BEGIN.value


def time_outs_in(history: pl.LazyFrame) -> pl.DataFrame:
    """Return the transaction time-outs in these rows, which may be a part of a history, with the
    columns TOLD."""
    told = history.filter(IS_INIT | IS_BEGIN).select(
        "process", begins=IS_BEGIN, timeout_ms=TIMEOUT_MS
    )
    found = told.group_by("process").agg(pl.col("begins").any(), pl.col("timeout_ms").max())
    return collect(found.select(pl.col(name).cast(dtype) for name, dtype in TOLD.items()))


def longest_of(told: pl.DataFrame) -> int | None:
    """Return the longest transaction timeout of a history in nanoseconds, from what its pieces
    report. Return None if it is not known for a process that began a transaction, or if there is
    none."""
    by_process = told.group_by("process").agg(pl.col("begins").any(), pl.col("timeout_ms").max())
    if by_process.filter(pl.col("begins") & pl.col("timeout_ms").is_null()).height:
        return None
    longest_ms = by_process["timeout_ms"].max()
    return longest_ms * 1_000_000 if isinstance(longest_ms, int) else None


def with_longest(history: pl.LazyFrame, longest_ns: int | None) -> pl.LazyFrame:
    """Return the rows with the constant column `longest_ns`, the longest transaction time-out of
    the run."""
    return history.with_columns(longest_ns=pl.lit(longest_ns, dtype=pl.Int64))
