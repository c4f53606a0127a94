"""Find look-ups by time (ListOffsets, KIP-79) that answered the wrong record.

The answer is the first record of the log whose timestamp is not before the time asked for. All
records before it in the log were there when the look-up was answered.

"Nothing" is right if no such record lies below the high watermark or, for read_committed, below the
last stable offset (Partition.fetchOffsetForTimestamp). Apache Kafka 4.3.1 searches only the first
segment whose largest timestamp is late enough. If the record with that timestamp lies below the log
start, it answers "nothing" although a later segment has a match. So such answers prove nothing in
partitions from which records were deleted, or may have been compacted away.
"""

from __future__ import annotations

import polars as pl

from linearizability.evidence.removals import compactable, still_there
from linearizability.history import F, Type
from linearizability.ingest import HAS_RECORD, IS_OK, IS_SEND, KEY, READS_COMMITTED
from linearizability.plans import collect, needed
from linearizability.reads.inferred_log import ACKNOWLEDGED, PROVEN_POLL

IS_LOOK_UP = (
    (pl.col("f") == F.POSITION.value)
    & IS_OK
    & (pl.col("asked") == "timestamp")
    & pl.col("asked_offset").is_not_null()
)
IS_OF_LEADER = pl.col("replica").is_null() & pl.col("t_complete_ns").is_not_null()


def look_ups(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the look-ups: `wanted` is the time, `offset` the answer, or null if nothing was
    found."""
    return events.filter(IS_LOOK_UP).select(
        *KEY,
        "op_id",
        "process",
        "session",
        "offset",
        "isolation",
        "t_invoke_ns",
        wanted="asked_offset",
    )


def wrong_look_ups(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the wrong look-ups: those that skipped an earlier record whose timestamp is late
    enough, and those that returned a record which is too old. The skipped or too old record is in
    `proof_offset`, `proof_ms` and `proof_op`."""
    found = collect(look_ups(events).filter(pl.col("offset").is_not_null()))
    asked, events = found.lazy(), needed(events, found)
    late = _with_latest(asked, "offset", events)
    records = _timed_records(events)
    early = asked.join(records, on=[*KEY, "offset"]).filter(pl.col("proof_ms") < pl.col("wanted"))
    return pl.concat([late.select(early.collect_schema().names()), early])


def missed(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the look-ups that found nothing although a record whose timestamp is late enough was
    there, and readable, before they were invoked. It is in `proof_offset`, `proof_ms` and
    `proof_op`."""
    nothing = collect(look_ups(events).filter(pl.col("offset").is_null()))
    events = needed(events, nothing)
    by_time = [*KEY, "committed"]
    asked = (
        nothing.lazy()
        .join(_shortened(events), on=KEY, how="anti")
        .with_columns(committed=(pl.col("isolation") != "read_uncommitted").fill_null(True))
        .sort("t_invoke_ns")
        .join_asof(
            _reach(events).sort("known_ns").with_columns(pl.col("reach").cum_max().over(by_time)),
            left_on="t_invoke_ns",
            right_on="known_ns",
            by=by_time,
            strategy="backward",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .filter(pl.col("reach").is_not_null())
    )
    return _with_latest(asked, "reach", events)


def _with_latest(asked: pl.LazyFrame, end: str, events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the look-ups that have a match below the offset in the column `end`, with the record
    of the largest timestamp there."""
    highest = pl.col("proof_ms").cum_max().over(KEY)
    is_first = pl.col("proof_ms") > highest.shift(1, fill_value=-1).over(KEY)
    proofs = [
        pl.when(is_first).then(column).forward_fill().over(KEY).alias(column)
        for column in ("proof_offset", "proof_op")
    ]
    latest = (
        still_there(_timed_records(events), events)
        .sort("offset")
        .with_columns(*proofs, proof_ms=highest)
        .rename({"offset": "stands"})
        .sort("stands")
    )
    return (
        asked.sort(end)
        .join_asof(
            latest,
            left_on=end,
            right_on="stands",
            by=KEY,
            strategy="backward",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .filter(pl.col("proof_ms") >= pl.col("wanted"))
    )


def _shortened(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the partitions whose log start may have risen, or that may be compacted."""
    is_deletion = (pl.col("f") == F.DELETE_RECORDS.value) & (pl.col("type") != Type.FAIL.value)
    risen = events.filter(is_deletion | (pl.col("log_start") > 0)).select(KEY)
    return pl.concat([risen.unique(), compactable(events)]).unique()


def _reach(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return KEY, committed, known_ns, reach: from this time on, all records below `reach` are
    known to be readable. For readers of committed records that follows from a record that one of
    them was given, from a named last stable offset, or, in a partition without transactions, from
    any record that was acknowledged or read."""
    shown = events.filter((ACKNOWLEDGED | PROVEN_POLL) & IS_OF_LEADER).with_columns(
        reach=pl.col("offset") + 1
    )
    in_transactions = events.filter(IS_SEND & pl.col("txn").is_not_null()).select(KEY).unique()
    stable = pl.concat(
        [
            shown.join(in_transactions, on=KEY, how="anti"),
            shown.filter(HAS_RECORD & READS_COMMITTED),
            events.filter(pl.col("last_stable_offset").is_not_null() & IS_OF_LEADER).with_columns(
                reach="last_stable_offset"
            ),
        ]
    )
    parts = [shown.with_columns(committed=False), stable.with_columns(committed=True)]
    return pl.concat(
        part.select(*KEY, "committed", "reach", known_ns="t_complete_ns") for part in parts
    )


def _timed_records(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the data records that were read with a timestamp, one row for each offset (the latest
    timestamp, if reads differ): proof_offset, proof_ms, proof_op."""
    is_timed = HAS_RECORD & (pl.col("f") == F.POLL.value) & (pl.col("timestamp_ms") >= 0)
    return (
        events.filter(is_timed & pl.col("control").is_null())
        .select(*KEY, "offset", proof_offset="offset", proof_ms="timestamp_ms", proof_op="op_id")
        .sort("offset", "proof_ms", "proof_op", descending=[False, True, False])
        .unique([*KEY, "offset"], keep="first", maintain_order=True)
    )
