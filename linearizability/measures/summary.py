"""Summarise a run second by second, for reports: throughput, latency, outcomes, errors.

    summary = summarise(Path("runs/…"))
    summary.series        # one row per second and f: ok fail info records p50_ms p99_ms
    summary.as_dict()     # {"seconds": …, "engine": …, "series": {"send": {"t_s": […], "ok": […]}}}

Operations are counted. An operation is ok if all its records are, else info if any is, else fail.
It belongs to the second in which it completed, or, if it never did, in which it was invoked.
Latencies are of ok operations.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from linearizability import history
from linearizability.engine import local
from linearizability.history import F, Type
from linearizability.judging import chosen_engine

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

SERIES = ("t_s", "f", "ok", "fail", "info", "records", "p50_ms", "p99_ms")
OUTCOMES = (Type.OK.value, Type.FAIL.value, Type.INFO.value)
NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class Summary:
    """The figures of one run. seconds: the time from its first invocation to its last
    completion."""

    engine: str
    seconds: float
    series: pl.DataFrame
    errors: pl.DataFrame
    """(f, error, operations): how many operations of each kind ended with each error."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain lists for JSON and for plots: for each f, one list per column."""
        by_f = self.series.partition_by("f", as_dict=True, include_key=False)
        return {
            "engine": self.engine,
            "seconds": self.seconds,
            "series": {str(f): rows.to_dict(as_series=False) for (f,), rows in by_f.items()},
            "errors": self.errors.to_dicts(),
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return the series as a pandas frame."""
        return self.series.to_pandas()


def summarise(path: Path | str, engine: str = "auto", spark_master: str | None = None) -> Summary:
    """Return the summary of a run directory or a history file, without the faults. engine,
    spark_master: see `check`. Raise HistoryError as `check` does."""
    path = Path(path)
    engine = chosen_engine(path, engine, spark_master)
    rows = history.scan(path).filter(pl.col("f") != F.NEMESIS.value)
    bounds = rows.select(
        start=pl.col("t_invoke_ns").min(),
        end=pl.max_horizontal("t_invoke_ns", "t_complete_ns").max(),
    )
    start, end = bounds.collect().row(0)
    start, end = start or 0, end or 0
    if engine == "local":
        name, (series, errors) = local.NAME, _by_polars(rows, start)
    else:
        from linearizability.engine import spark

        name, (series, errors) = spark.name(spark_master), _by_spark(path, spark_master, start)
    return Summary(
        name,
        (end - start) / NANOSECONDS,
        series.select(SERIES).sort("f", "t_s"),
        errors.sort("f", "error"),
    )


def _by_polars(rows: pl.LazyFrame, start_ns: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    ok, info = pl.col("type") == Type.OK.value, pl.col("type") == Type.INFO.value
    is_record = pl.col("offset").is_not_null() & ok
    operations = rows.group_by("op_id", "f").agg(
        invoked=pl.col("t_invoke_ns").min(),
        completed=pl.col("t_complete_ns").max(),
        outcome=pl.when(ok.all())
        .then(pl.lit(Type.OK.value))
        .when(info.any())
        .then(pl.lit(Type.INFO.value))
        .otherwise(pl.lit(Type.FAIL.value)),
        records=is_record.sum().cast(pl.Int64),
        error=pl.col("error").min(),
    )
    good = pl.col("outcome") == Type.OK.value
    latency_ms = (pl.col("completed") - pl.col("invoked")).filter(good) / 1e6
    at_ns = pl.coalesce("completed", "invoked") - start_ns
    series = operations.group_by((at_ns // NANOSECONDS).alias("t_s"), "f").agg(
        *((pl.col("outcome") == o).sum().cast(pl.Int64).alias(o) for o in OUTCOMES),
        records=pl.col("records").sum(),
        p50_ms=latency_ms.quantile(0.5, "linear"),
        p99_ms=latency_ms.quantile(0.99, "linear"),
    )
    errors = (
        operations.filter(pl.col("error").is_not_null())
        .group_by("f", "error")
        .agg(operations=pl.len().cast(pl.Int64))
    )
    found = pl.collect_all([series, errors])
    return found[0], found[1]


def _by_spark(path: Path, master: str | None, start_ns: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    from pyspark.sql import functions as sql

    from linearizability.engine.session import spark_session
    from linearizability.engine.table import read, tuned

    columns = ("op_id", "f", "type", "t_invoke_ns", "t_complete_ns", "offset", "error")
    session, file = spark_session(master), history.history_file(path)
    tuned(session, file)
    rows = read(session, file, columns)
    ok, info = sql.col("type") == Type.OK.value, sql.col("type") == Type.INFO.value
    is_record = sql.col("offset").isNotNull() & ok
    operations = (
        rows.where(sql.col("f") != F.NEMESIS.value)
        .groupBy("op_id", "f")
        .agg(
            sql.min("t_invoke_ns").alias("invoked"),
            sql.max("t_complete_ns").alias("completed"),
            sql.when(sql.bool_and(ok), Type.OK.value)
            .when(sql.bool_or(info), Type.INFO.value)
            .otherwise(Type.FAIL.value)
            .alias("outcome"),
            sql.sum(is_record.cast("bigint")).alias("records"),
            sql.min("error").alias("error"),
        )
        .cache()
    )
    good = sql.col("outcome") == Type.OK.value
    latency_ms = sql.when(good, (sql.col("completed") - sql.col("invoked")) / 1e6)
    at_ns = sql.coalesce("completed", "invoked") - sql.lit(start_ns)
    series = operations.groupBy(sql.floor(at_ns / NANOSECONDS).alias("t_s"), "f").agg(
        *(sql.sum((sql.col("outcome") == o).cast("bigint")).alias(o) for o in OUTCOMES),
        sql.sum("records").alias("records"),
        sql.percentile(latency_ms, sql.lit(0.5)).alias("p50_ms"),
        sql.percentile(latency_ms, sql.lit(0.99)).alias("p99_ms"),
    )
    errors = (
        operations.where(sql.col("error").isNotNull())
        .groupBy("f", "error")
        .agg(sql.count("*").alias("operations"))
    )
    try:
        return _collected(series), _collected(errors)
    finally:
        operations.unpersist()


def _collected(table: DataFrame) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(table.toArrow()))
