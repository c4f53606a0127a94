"""Find the records that a consumer group must receive, and the positions that its members set."""

from __future__ import annotations

import polars as pl

from linearizability.history import F
from linearizability.ingest import IS_OK, IS_SEND
from linearizability.reads.inferred_log import ACKNOWLEDGED
from linearizability.reads.readers import START

AT = pl.coalesce("t_complete_ns", "t_invoke_ns")


def with_positions(pauses: pl.LazyFrame, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Add two columns to each pause, from the positions that members set before its end.
    before_start: the highest such position minus 1; the group may have skipped the offsets up to it
    on purpose. untold_ns: the last time at which a member began at an offset that the history does
    not record."""
    place = ["group", "topic", "partition"]
    is_untold = START.is_null()
    positions = (
        rows.filter((pl.col("f") == F.POSITION.value) & IS_OK & pl.col("group").is_not_null())
        .select(*place, before_start=START - 1, untold_ns=pl.when(is_untold).then(AT), set_ns=AT)
        .sort("set_ns")
        .with_columns(pl.col("before_start", "untold_ns").cum_max().forward_fill().over(place))
    )
    return pauses.sort("until_ns").join_asof(
        positions,
        left_on="until_ns",
        right_on="set_ns",
        by=place,
        strategy="backward",
        check_sortedness=False,
    )


def owed(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return topic, partition, acked (the offset), known_ns (when the acknowledgement came) and
    sent_op (the operation that sent it) of the plain records that every reader of the partition
    must receive: no transaction writes there, compaction removes nothing, and the record is at or
    above the highest log start."""
    place = ["topic", "partition"]
    unsure = rows.filter((IS_SEND & pl.col("txn").is_not_null()) | pl.col("key").is_not_null())
    starts = rows.group_by(place).agg(start=pl.col("log_start").max().fill_null(0))
    return (
        rows.filter(ACKNOWLEDGED & pl.col("t_complete_ns").is_not_null())
        .select(*place, acked="offset", known_ns="t_complete_ns", sent_op="op_id")
        .join(unsure.select(place).unique(), on=place, how="anti")
        .join(starts, on=place)
        .filter(pl.col("acked") >= pl.col("start"))
    )
