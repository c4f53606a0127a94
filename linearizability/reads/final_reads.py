"""Whole reads of partitions: the offsets that they covered, and the records that they should have
found."""

from __future__ import annotations

import polars as pl

from linearizability.evidence.removals import still_there
from linearizability.ingest import (
    BY_RAW_CLIENT,
    IS_DATA,
    IS_OK,
    IS_SEND,
    KEY,
    LOG_START,
    READS_COMMITTED,
    WHOLE_READ,
)


def whole_reads(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return (start, end, proof): the offsets from start up to, not including, end that each
    complete read covered, and its operation. Under read_committed a reader cannot pass the last
    stable offset; where that is not recorded, such a read counts only in partitions without
    transactions. Reads without a high watermark are left out."""
    transactional = (
        events.filter(IS_SEND & pl.col("txn").is_not_null())
        .select(*KEY, transactional=pl.lit(True))
        .unique()
    )
    committed_only = READS_COMMITTED
    end = (
        pl.when(~committed_only | pl.col("transactional").is_null())
        .then(pl.col("high_watermark"))
        .otherwise(pl.min_horizontal("high_watermark", "last_stable_offset"))
    )
    unknown_stable = committed_only & pl.col("last_stable_offset").is_null()
    return (
        events.filter(WHOLE_READ)
        .join(transactional, on=KEY, how="left")
        .filter(~(unknown_stable & pl.col("transactional").fill_null(False)))
        .select(*KEY, start=LOG_START, end=end, proof="op_id")
        .filter(pl.col("end").is_not_null())
    )


def unseen(events: pl.LazyFrame, durable: pl.Expr) -> pl.LazyFrame:
    """Return each send that fulfils `durable`, that a whole read should have found, and that no
    successful poll delivered. If a consumer made the whole read, polls by raw clients do not count;
    late: whether such a poll received the record."""
    given = (
        events.filter(IS_DATA & IS_OK)
        .group_by(*KEY, "value")
        .agg(seen_raw=BY_RAW_CLIENT.any(), seen=(pl.col("client") != "raw").fill_null(True).any())
    )
    return (
        expected(events, durable)
        .join(given, on=[*KEY, "value"], how="left")
        .with_columns(pl.col("seen", "seen_raw").fill_null(False))
        .filter(~pl.col("seen") & ~(pl.col("raw") & pl.col("seen_raw")))
        .group_by(*KEY, "value", "offset", "op_id")
        .agg(late=pl.col("seen_raw").any())
    )


def expected(events: pl.LazyFrame, durable: pl.Expr) -> pl.LazyFrame:
    """Return each send that fulfils `durable` and that a complete read should have found, since it
    was acknowledged before and lies within the read, once for each such read. raw: whether that
    read was a raw one."""
    sent = events.filter(durable).select(*KEY, "value", "offset", "op_id", acked_ns="t_complete_ns")
    began = events.filter(WHOLE_READ).select(
        *KEY, "high_watermark", read_ns="t_invoke_ns", proof="op_id", raw=BY_RAW_CLIENT
    )
    everything = began.filter(pl.col("high_watermark").is_null())
    ranges = whole_reads(events).join(began, on=[*KEY, "proof"])
    within = (pl.col("start") <= pl.col("offset")) & (pl.col("offset") < pl.col("end"))
    columns = [*KEY, "value", "offset", "op_id", "acked_ns", "read_ns", "raw"]
    covered = pl.concat(
        [
            still_there(sent.join(ranges, on=KEY).filter(within), events).select(columns),
            sent.join(everything, on=KEY).select(columns),
        ]
    )
    return covered.filter(pl.col("acked_ns") < pl.col("read_ns"))
