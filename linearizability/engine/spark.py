"""The Spark engine: the same kernels on pieces of the history, cut by shuffles.

A history is shuffled once per scope into buckets of whole scopes (a hash of the scope's columns),
and each bucket goes to the kernels as one Arrow table (`groupBy(bucket).applyInArrow`). A bucket
holds several scopes: a kernel judges many of them in one call, and a call for each would cost five
times as much. Before that, the outcomes of transactions are resolved, by the same functions of
`ingest` that the local engine uses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from linearizability import ingest
from linearizability.checkers import CHECKERS, Scope
from linearizability.checkers.base import COLUMNS_READ
from linearizability.cycles.evidence import COLUMNS as RUN_COLUMNS
from linearizability.cycles.evidence import END_COLUMNS, ends, reads_between
from linearizability.engine.opinion import ROWS, judge, opinions
from linearizability.engine.progress import progress_shown
from linearizability.engine.session import LOCAL, spark_session
from linearizability.history import PARTITION, SCHEMA, F, Type, history_file
from linearizability.transaction_evidence import COLUMNS as EVIDENCE_COLUMNS
from linearizability.transaction_evidence import transaction_evidence
from linearizability.verdict import CheckerVerdict

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

ROWS_PER_BUCKET = 500_000
BUCKETS_MIN = 4
BROADCAST_MAX = 2_000_000
MARKER_COLUMNS = (
    *PARTITION, "f", "op_id", "record_index", "replica", "txn", "offset", "control", "value",
    "producer_id",
)  # fmt: skip
"""What `ingest.markers_of_transactions` reads."""
VALUE_COLUMNS = (*PARTITION, "f", "type", "op_id", "offset", "control", "value")
"""What the checkers of Scope.VALUE read."""

Kernel = Callable[[pl.DataFrame], pl.DataFrame]

_SPARK_TYPES = {
    pl.Int16: "smallint", pl.Int32: "int", pl.Int64: "bigint", pl.String: "string",
    pl.Boolean: "boolean", pl.List(pl.Int64): "array<bigint>",
}  # fmt: skip
_ARROW_TYPES = {
    "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(), "string": pa.string(),
    "boolean": pa.bool_(), "array<bigint>": pa.list_(pa.int64()),
}  # fmt: skip


def name(master: str | None) -> str:
    """The engine's name in verdicts."""
    return f"spark {master or LOCAL}"


def run(
    path: Path, master: str | None = None, checkers: Sequence[str] = tuple(CHECKERS)
) -> list[CheckerVerdict]:
    """What each checker says; a job that dies is UNKNOWN. Raises SparkError without Spark."""
    session = spark_session(master)
    file = history_file(path)
    buckets = tuned(session, file)
    try:
        with progress_shown(session.sparkContext):
            pieces = _pieces(read(session, file), checkers, buckets)
    except Exception as error:  # py4j, Arrow, the workers: the reason goes into the verdict
        return opinions(pl.DataFrame(schema=ROWS), checkers, f"Spark: {_first_cause(error)}")
    return opinions(pl.concat(pieces), checkers)


def _pieces(rows: DataFrame, checkers: Sequence[str], buckets: int) -> list[pl.DataFrame]:
    """The rows of `opinion.judge`, scope by scope."""
    events = with_lost_polls(with_topic_ids(rows))
    outcomes = outcomes_of_transactions(events, buckets)
    try:
        return [
            judged(with_outcomes(events, outcomes), Scope.PARTITION, checkers, buckets),
            judged(events.select(*VALUE_COLUMNS), Scope.VALUE, checkers, buckets),
            judged(
                evidence(with_outcomes(events, outcomes), buckets),
                Scope.TRANSACTION,
                checkers,
                buckets,
            ),
            judged_whole(events, outcomes, checkers, buckets),
        ]
    finally:
        outcomes.unpersist()


def tuned(session: SparkSession, file: Path) -> int:
    """Set the session up for a history of this size; the number of buckets."""
    rows: int = pq.read_metadata(file).num_rows
    buckets = max(BUCKETS_MIN, -(-rows // ROWS_PER_BUCKET))
    session.conf.set("spark.sql.shuffle.partitions", str(buckets))
    # Compiling the plan pays for many rows only.
    large = rows > ROWS_PER_BUCKET
    session.conf.set("spark.sql.codegen.wholeStage", str(large).lower())
    session.conf.set("spark.sql.codegen.factoryMode", "FALLBACK" if large else "NO_CODEGEN")
    return buckets


def read(session: SparkSession, file: Path, columns: Sequence[str] = COLUMNS_READ) -> DataFrame:
    """The columns that the kernels read; null where an older history has no such column."""
    from pyspark.sql import functions as sql

    table = session.read.parquet(str(file))
    types = {column: _SPARK_TYPES[dtype] for column, dtype in SCHEMA.items()}
    present = set(table.columns)
    return table.select(
        [
            (sql.col(f"`{c}`") if c in present else sql.lit(None)).cast(types[c]).alias(c)
            for c in columns
        ]
    )


def with_topic_ids(events: DataFrame) -> DataFrame:
    """`ingest.with_topic_ids`: the few topics go through the driver."""
    from pyspark.sql import functions as sql

    named = events.where(sql.col("topic").isNotNull() & sql.col("topic_id").isNotNull())
    found = named.select("topic", "topic_id").distinct().toArrow()
    known = ingest.topic_ids(pl.DataFrame(pl.from_arrow(found)).lazy())
    pairs = [item for row in known.iter_rows() for item in row]
    absent = sql.lit(ingest.NO_TOPIC_ID)
    only_id = sql.create_map(*map(sql.lit, pairs))[sql.col("topic")] if pairs else absent
    return events.withColumn("topic_id", sql.coalesce("topic_id", only_id, absent))


def with_lost_polls(events: DataFrame) -> DataFrame:
    """`ingest.with_lost_polls`: the few groups go through the driver."""
    from pyspark.sql import functions as sql

    lost = (
        (sql.col("f") == F.POLL.value)
        & (sql.col("type") == Type.INFO.value)
        & sql.col("topic").isNull()
        & sql.col("group").isNotNull()
    )
    groups = [row["group"] for row in events.where(lost).select("group").distinct().collect()]
    found = sql.col("group").isin(groups) if groups else sql.lit(False)
    return events.withColumn("lost_polls", sql.coalesce(found, sql.lit(False)))


def outcomes_of_transactions(events: DataFrame, buckets: int) -> DataFrame:
    """txn, txn_outcome, commit_asked_ns, computed and kept (ingest, steps 1 and 2)."""
    from pyspark.sql import functions as sql

    has_end = sql.col("f").isin(F.COMMIT.value, F.ABORT.value) & sql.col("txn").isNotNull()
    nothing = sql.lit(None).cast("string")
    parts = events.where(has_end).select("txn", "f", "type", "t_invoke_ns", nothing.alias("marker"))
    if events.where(sql.col("control").isNotNull()).limit(1).count():
        in_transactions = (sql.col("f") == F.SEND.value) & sql.col("txn").isNotNull()
        rows = events.where(in_transactions | sql.col("producer_id").isNotNull())
        markers = apply(
            rows.select(*MARKER_COLUMNS), Scope.PARTITION.columns, buckets, _markers,
            {"txn": "bigint", "marker": "string"},
        )  # fmt: skip
        for column in ("f", "type", "t_invoke_ns"):
            markers = markers.withColumn(column, sql.lit(None).cast(_SPARK_TYPES[SCHEMA[column]]))
        parts = parts.unionByName(markers)
    output = {"txn": "bigint", "txn_outcome": "string", "commit_asked_ns": "bigint"}
    return apply(parts, ["txn"], buckets, _outcomes, output).persist()


def with_outcomes(events: DataFrame, outcomes: DataFrame) -> DataFrame:
    """`txn_outcome` and `commit_asked_ns` on every row of a transaction. Few transactions are sent
    to every row, lest the whole history be shuffled once more."""
    from pyspark.sql import functions as sql

    few = outcomes.count() <= BROADCAST_MAX
    return events.join(sql.broadcast(outcomes) if few else outcomes, "txn", "left")


def judged(events: DataFrame, scope: Scope, checkers: Sequence[str], buckets: int) -> pl.DataFrame:
    """The rows of `opinion.judge` over all buckets of one scope."""
    from pyspark.sql import functions as sql

    def kernel(piece: pl.DataFrame) -> pl.DataFrame:
        if scope is Scope.PARTITION:
            piece = ingest.with_record_outcomes(ingest.with_places(piece))
        elif scope is Scope.VALUE:
            piece = piece.with_columns(outcome=pl.lit(None, dtype=pl.String))
        return judge(piece.lazy(), scope, checkers)

    rows = events
    if scope is Scope.PARTITION:
        rows = events.where(sql.col("topic").isNotNull())
    elif scope is Scope.VALUE:
        rows = events.where(sql.col("f").isin(F.SEND.value, F.POLL.value))
    output = {column: _SPARK_TYPES[dtype] for column, dtype in ROWS.items()}
    answer = apply(rows, scope.columns, buckets, kernel, output).toArrow()
    return pl.DataFrame(pl.from_arrow(answer)).cast(ROWS)


def judged_whole(
    events: DataFrame, outcomes: DataFrame, checkers: Sequence[str], buckets: int
) -> pl.DataFrame:
    """The rows of `opinion.judge` of Scope.RUN: the evidence is found here and judged on the
    driver, as it is small (at most one row per pair of transactions and partition)."""
    from pyspark.sql import functions as sql

    output = {column: _SPARK_TYPES[dtype] for column, dtype in RUN_COLUMNS.items()}
    is_read = (sql.col("f") == F.POLL.value) & sql.col("txn").isNotNull()
    rows = with_outcomes(events.where((sql.col("f") == F.SEND.value) | is_read), outcomes)
    reads = apply(rows, Scope.PARTITION.columns, buckets, _reads, output)
    is_end = (sql.col("f") == F.COMMIT.value) & sql.col("txn").isNotNull()
    ended = apply(events.where(is_end).select(*END_COLUMNS), ["txn"], buckets, _ends, output)
    found = pl.DataFrame(pl.from_arrow(reads.unionByName(ended).toArrow())).cast(
        pl.Schema(RUN_COLUMNS)
    )
    return judge(found.lazy(), Scope.RUN, checkers)


def _reads(piece: pl.DataFrame) -> pl.DataFrame:
    return reads_between(ingest.with_places(piece).lazy()).collect()


def _ends(piece: pl.DataFrame) -> pl.DataFrame:
    return ends(piece.lazy()).collect()


def evidence(events: DataFrame, buckets: int) -> DataFrame:
    """`transaction_evidence`, partition by partition."""
    from pyspark.sql import functions as sql

    output = {column: _SPARK_TYPES[dtype] for column, dtype in EVIDENCE_COLUMNS.items()}
    rows = events.where(sql.col("topic").isNotNull())
    return apply(rows, Scope.PARTITION.columns, buckets, _evidence, output)


def _evidence(piece: pl.DataFrame) -> pl.DataFrame:
    resolved = ingest.with_record_outcomes(ingest.with_places(piece))
    return transaction_evidence(resolved.lazy()).collect()


def apply(
    rows: DataFrame, key: Sequence[str], buckets: int, kernel: Kernel, output: dict[str, str]
) -> DataFrame:
    """Shuffle rows into buckets of whole keys, and each bucket through the kernel."""
    from pyspark.sql import functions as sql

    schema = pa.schema([(column, _ARROW_TYPES[dtype]) for column, dtype in output.items()])

    def on_arrow(piece: pa.Table) -> pa.Table:
        frame = pl.DataFrame(pl.from_arrow(piece)).drop("bucket")
        return kernel(frame).select(schema.names).to_arrow().cast(schema)

    bucket: Column = sql.pmod(sql.xxhash64(*key), sql.lit(buckets)).cast("int")
    return (
        rows.withColumn("bucket", bucket)
        .groupBy("bucket")
        .applyInArrow(on_arrow, ", ".join(f"{c} {dtype}" for c, dtype in output.items()))
    )


def _markers(piece: pl.DataFrame) -> pl.DataFrame:
    return ingest.markers_of_transactions(ingest.with_places(piece).lazy()).collect()


def _outcomes(piece: pl.DataFrame) -> pl.DataFrame:
    ends = piece.lazy().filter(pl.col("f").is_not_null()).select("txn", "f", "type", "t_invoke_ns")
    markers = piece.lazy().filter(pl.col("marker").is_not_null()).select("txn", "marker")
    return ingest.outcomes_of_transactions(ends, markers).collect()


def _first_cause(error: Exception) -> str:
    """One line of what Java or a worker said, without its stack."""
    text = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in text if "Error" in line or "Exception" in line]
    return (telling or text or [type(error).__name__])[-1][:300]
