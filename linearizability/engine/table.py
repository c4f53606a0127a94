"""A history as a Spark DataFrame, for aggregates, which are simplest in SQL (`summary.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pyarrow.parquet as pq

from linearizability.history import SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_PER_BUCKET = 500_000
BUCKETS_MIN = 4

_SPARK_TYPES = {
    pl.Int16: "smallint",
    pl.Int32: "int",
    pl.Int64: "bigint",
    pl.String: "string",
    pl.Boolean: "boolean",
}


def tuned(session: SparkSession, file: Path) -> int:
    """Set the session up for a history of this size, and return the number of buckets to use."""
    rows: int = pq.read_metadata(file).num_rows
    buckets = max(BUCKETS_MIN, -(-rows // ROWS_PER_BUCKET))
    session.conf.set("spark.sql.shuffle.partitions", str(buckets))
    # Compiling the plan pays for many rows only.
    large = rows > ROWS_PER_BUCKET
    session.conf.set("spark.sql.codegen.wholeStage", str(large).lower())
    session.conf.set("spark.sql.codegen.factoryMode", "FALLBACK" if large else "NO_CODEGEN")
    return buckets


def read(session: SparkSession, file: Path, columns: Sequence[str]) -> DataFrame:
    """Return these columns of the history's file as a Spark DataFrame, with null for a column that
    an older history does not have."""
    from pyspark.sql import functions as sql

    table = session.read.parquet(str(file))
    types = {column: _SPARK_TYPES[dtype.base_type()] for column, dtype in SCHEMA.items()}
    present = set(table.columns)
    return table.select(
        [
            (sql.col(f"`{c}`") if c in present else sql.lit(None)).cast(types[c]).alias(c)
            for c in columns
        ]
    )
