"""Collect the evidence that each partition gives about each transaction. Only the evidence of all
partitions together decides.

Computed partition by partition (`transaction_evidence`), then judged transaction by transaction
(`Scope.TRANSACTION`). One row per record and kind of evidence:

- `commit`, `abort`: the marker that a raw read shows after the record;
- `delivered`: a read_committed reader received the record;
- `passed`: a read_committed reader went, in one session, from a lower offset, or from its recorded
  start, to a higher offset without receiving it;
- `lacking`: no reader ever received it, though readers read on to the end (only for transactions
  that another of their records shows to be committed);
- `unmarked`: no marker follows it, though the last stable offset had passed it;
- `joined`: it was appended after the end of its transaction had been acknowledged;
- `unsent`: its client had failed to send it when it committed the transaction;
- `in_force`, `not_in_force`: of offsets, what the group was told (`offsets_told`).

Only records that prove something are included: acknowledged under acks=all with an offset, sent
once, at or above the log start; for `lacking`, also records of unknown offset.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from linearizability.evidence.ends import (
    OF_ITS_TRANSACTION,
    RECORD,
    followed,
    joined_late,
    unmarked,
    unsent,
)
from linearizability.evidence.offsets import offsets_told
from linearizability.evidence.removals import not_compacted_away
from linearizability.history import PARTITION
from linearizability.ingest import (
    IS_DATA,
    IS_DECIDED,
    IS_SEND,
    KEY,
    READ_COMMITTED,
    markers_of_records,
)
from linearizability.plans import collect, needed
from linearizability.reads.final_reads import unseen
from linearizability.reads.inferred_log import ACKNOWLEDGED, at_or_above_log_start
from linearizability.reads.readers import distinct_jumps, jumps

COLUMNS: Mapping[str, Any] = {
    "txn": pl.Int64,
    "txn_outcome": pl.String,
    "told": pl.String,
    "end_op": pl.Int64,
    "kind": pl.String,
    "topic": pl.String,
    "topic_id": pl.String,
    "partition": pl.Int32,
    "offset": pl.Int64,
    "value": pl.Int64,
    "send_op": pl.Int64,
    "op_ids": pl.List(pl.Int64),
}
COMMIT, ABORT, DELIVERED, PASSED = "commit", "abort", "delivered", "passed"
LACKING = "lacking"


def transaction_evidence(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the evidence about transactions as rows of COLUMNS. events: the resolved ones of one
    or more whole partitions."""
    sent = collect(transactional_records(events)).lazy()
    kept = not_compacted_away(sent, events)
    found = [
        markers(events, sent),
        delivered(events, sent),
        passed(events, kept),
        unmarked(events, sent),
        followed(events, sent),
        joined_late(events),
        unsent(events),
        offsets_told(events),
        *of_decided(events),
    ]
    return pl.concat(
        rows.select(pl.col(name).cast(dtype) for name, dtype in COLUMNS.items()) for rows in found
    )


def transactional_records(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the acknowledged records of transactions that were sent once and are at or above the
    log start: key, RECORD."""
    sends = events.filter(IS_SEND & pl.col("value").is_not_null())
    once = sends.group_by(*KEY, "value").len().filter(pl.col("len") == 1).drop("len")
    placed = sends.filter(ACKNOWLEDGED & pl.col("txn").is_not_null()).select(
        *KEY, *PARTITION, *OF_ITS_TRANSACTION, "offset", "value", send_op="op_id"
    )
    return at_or_above_log_start(placed.join(once, on=[*KEY, "value"], how="semi"), events)


def markers(events: pl.LazyFrame, sent: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records that a raw read shows with a marker after them, and that marker."""
    found = markers_of_records(events).select(*KEY, "offset", "value", "marker", "op_id")
    return sent.join(found, on=[*KEY, "offset", "value"]).select(
        *RECORD, kind="marker", op_ids=pl.concat_list("op_id")
    )


def delivered(events: pl.LazyFrame, sent: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records in `sent` that a read_committed reader received, each with the first such
    read."""
    given = (
        events.filter(IS_DATA & (pl.col("isolation") == READ_COMMITTED))
        .group_by(*KEY, "value")
        .agg(pl.min("op_id"))
    )
    return sent.join(given, on=[*KEY, "value"]).select(
        *RECORD, kind=pl.lit(DELIVERED), op_ids=pl.concat_list("op_id")
    )


def passed(events: pl.LazyFrame, sent: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records that some read_committed reader skipped, between two records or between
    the start of its session and its first record, each with the first such reader."""
    is_committed, jump = pl.col("isolation") == READ_COMMITTED, [*KEY, "before", "after"]
    made = distinct_jumps(events).filter(is_committed).select(*KEY, "before", after="offset")
    over = collect(over_something(made, sent))
    inside = (pl.col("before") < pl.col("offset")) & (pl.col("offset") < pl.col("after"))
    return (
        jumps(needed(events, over))
        .filter(is_committed)
        .rename({"offset": "after"})
        .join(over.lazy(), on=jump)
        .group_by(jump)
        .agg(pl.min("before_op", "op_id"))
        .join(sent, on=KEY)
        .filter(inside)
        .group_by(*KEY, *RECORD)
        .agg(pl.min("before_op", "op_id"))
        .select(*RECORD, kind=pl.lit(PASSED), op_ids=pl.concat_list("before_op", "op_id"))
    )


def over_something(jumps: pl.LazyFrame, sent: pl.LazyFrame) -> pl.LazyFrame:
    """Return the jumps of readers, from one offset to a later one, that pass over a record whose
    transaction is not known to have aborted. A correct log has none."""
    undecided = sent.filter((pl.col("txn_outcome") != "aborted").fill_null(True))
    ends = undecided.select(*KEY, inside="offset").unique().sort("inside")
    return (
        jumps.with_columns(wanted=pl.col("before") + 1)
        .sort("wanted")
        .join_asof(
            ends,
            left_on="wanted",
            right_on="inside",
            by=KEY,
            strategy="forward",
            check_sortedness=False,
        )
        .filter(pl.col("inside") < pl.col("after"))
        .select(*KEY, "before", "after")
    )


def of_decided(events: pl.LazyFrame) -> list[pl.LazyFrame]:
    """Return evidence about transactions that only their own records show to be committed: their
    records without a known offset that readers received, and their records that no reader received.
    Return [] if there are no such transactions."""
    records = collect(
        events.filter(
            IS_DECIDED & pl.col("txn").is_not_null() & pl.col("value").is_not_null()
        ).select(*KEY, *PARTITION, *OF_ITS_TRANSACTION, "offset", "value", send_op="op_id")
    ).lazy()
    if collect(records).is_empty():  # the usual case: only imported histories have them
        return []
    lacking = unseen(events, IS_DECIDED).select(*KEY, "value", send_op="op_id")
    return [
        delivered(events, records.filter(pl.col("offset").is_null())),
        records.join(lacking, on=[*KEY, "value", "send_op"]).select(
            *RECORD, kind=pl.lit(LACKING), op_ids=pl.concat_list("send_op")
        ),
    ]
