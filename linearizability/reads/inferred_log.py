"""The log of each partition, inferred from the operations of clients.

Kafka shows no log to a client; it is put together as Jepsen does (jepsen/tests/kafka.clj,
`version-orders`): every offset that a poll delivered, whatever became of the polling operation, and
every offset that a send was acknowledged with. Beyond Jepsen, we use control records and producer
ids from raw reads, and the end of each transaction (`ingest`), if the history has them.

Only rows that prove something are used:
- an acknowledgement counts under acks=all alone, with an offset: acks 0 and 1 and offset -1
  prove nothing (design#replication: a record is committed when all in-sync replicas have it);
- a poll row of a replica's own log counts below its high watermark: what lies above may be
  truncated when the replica follows a new leader.

Columns of the answer: partition, offset, value, control (null for data), outcome, op_id (the first
operation that shows the entry), seen_committed (some read_committed reader delivered it). Two
values at one offset are two entries; only `inconsistent_offsets` judges that.
"""

from __future__ import annotations

import polars as pl

from linearizability.ingest import (
    ABORTED,
    COMMITTED,
    HAS_RECORD,
    IS_OK,
    IS_SEND,
    KEY,
    PLAIN,
    READ_COMMITTED,
)

ACKNOWLEDGED = IS_SEND & IS_OK & (pl.col("acks") == -1) & pl.col("offset").is_not_null()
"""The condition on send rows that prove a record at an offset."""
DURABLE = ACKNOWLEDGED & pl.col("outcome").is_in([PLAIN, COMMITTED])
"""The condition on send rows whose records must be kept: plain, or of a committed transaction."""

BELOW_HIGH_WATERMARK = (
    pl.col("replica").is_null()
    | pl.col("high_watermark").is_null()
    | (pl.col("offset") < pl.col("high_watermark"))
)
PROVEN_POLL = HAS_RECORD & BELOW_HIGH_WATERMARK
"""The condition on poll rows that prove a record (data or control) at an offset."""


def inferred_log(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row per distinct (partition, offset, value, control) that an operation proves.
    outcome is null if the rows of an entry contradict each other, or none has one."""
    is_poll = PROVEN_POLL
    outcome = pl.col("outcome")
    return (
        events.filter(ACKNOWLEDGED | is_poll)
        .group_by(*KEY, "offset", "value", "control")
        .agg(
            outcome=pl.when(outcome.min() == outcome.max()).then(outcome.min()),
            op_id=pl.col("op_id").min(),
            seen_committed=(is_poll & (pl.col("isolation") == READ_COMMITTED)).any(),
        )
    )


def latest_asked(records: pl.LazyFrame, acked: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records, each with the last request (latest_ns, latest_op) of the acknowledged
    sends whose record is at its offset or below, or null without one. The record was appended after
    that request."""
    invoked_ns = pl.col("t_invoke_ns")
    is_latest = (invoked_ns > pl.col("latest_ns").shift(1).over(KEY)).fill_null(True)
    latest = (
        acked.sort("offset", "op_id")
        .with_columns(latest_ns=invoked_ns.cum_max().over(KEY))
        .with_columns(latest_op=pl.when(is_latest).then("op_id").forward_fill().over(KEY))
        .select(*KEY, "latest_ns", "latest_op", stands="offset")
    )
    return records.sort("offset").join_asof(
        latest,
        left_on="offset",
        right_on="stands",
        by=KEY,
        strategy="backward",
        check_sortedness=False,
    )


def log_starts(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return partition -> the highest log start that any answer named. Below it, a missing record
    is no loss."""
    return (
        events.filter(pl.col("log_start").is_not_null())
        .group_by(KEY)
        .agg(log_start_max=pl.col("log_start").max())
    )


def at_or_above_log_start(rows: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    """Return those rows whose offset lies at or above the highest log start that `events` name, so
    that neither retention nor DeleteRecords removed it."""
    return (
        rows.join(log_starts(events), on=KEY, how="left")
        .filter(pl.col("offset") >= pl.col("log_start_max").fill_null(0))
        .drop("log_start_max")
    )


VISIBLE_COMMITTED = pl.col("outcome").is_in([PLAIN, COMMITTED]) | (
    pl.col("seen_committed") & (pl.col("outcome") != ABORTED).fill_null(True)
)
"""The condition on log entries that every read_committed reader must receive when it reads past
them: plain, committed, or delivered to another such reader (the last stable offset was then above
it, so the transaction was decided)."""
