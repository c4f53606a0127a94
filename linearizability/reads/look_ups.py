"""Find look-ups by time (ListOffsets, KIP-79) that answered the wrong record.

The answer is the first record of the log whose timestamp is not before the time asked for. All
records before it in the log were there when the look-up was answered.
"""

from __future__ import annotations

import polars as pl

from linearizability.evidence.removals import still_there
from linearizability.history import F
from linearizability.ingest import HAS_RECORD, IS_OK, KEY
from linearizability.plans import collect, needed

IS_LOOK_UP = (
    (pl.col("f") == F.POSITION.value)
    & IS_OK
    & (pl.col("asked") == "timestamp")
    & pl.col("offset").is_not_null()
    & pl.col("asked_offset").is_not_null()
)


def look_ups(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the look-ups that found a record: `wanted` is the time, `offset` the answer."""
    return events.filter(IS_LOOK_UP).select(
        *KEY, "op_id", "process", "session", "offset", wanted="asked_offset"
    )


def wrong_look_ups(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the wrong look-ups: those that skipped an earlier record whose timestamp is late
    enough, and those that returned a record which is too old. The skipped or too old record is in
    `proof_offset`, `proof_ms` and `proof_op`."""
    wanted = collect(look_ups(events))
    asked, events = wanted.lazy(), needed(events, wanted)
    records = _timed_records(events)
    highest = pl.col("proof_ms").cum_max().over(KEY)
    is_first = pl.col("proof_ms") > highest.shift(1, fill_value=-1).over(KEY)
    proofs = [
        pl.when(is_first).then(column).forward_fill().over(KEY).alias(column)
        for column in ("proof_offset", "proof_op")
    ]
    latest = (
        still_there(records, events)
        .sort("offset")
        .with_columns(*proofs, proof_ms=highest)
        .sort("offset")
    )
    late = (
        asked.sort("offset")
        .join_asof(
            latest,
            on="offset",
            by=KEY,
            strategy="backward",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .filter(pl.col("proof_ms") >= pl.col("wanted"))
    )
    early = asked.join(records, on=[*KEY, "offset"]).filter(pl.col("proof_ms") < pl.col("wanted"))
    return pl.concat([late.select(early.collect_schema().names()), early])


def _timed_records(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records that were read with a timestamp, one row for each offset."""
    is_timed = HAS_RECORD & (pl.col("f") == F.POLL.value) & (pl.col("timestamp_ms") >= 0)
    return (
        events.filter(is_timed & pl.col("control").is_null())
        .select(*KEY, "offset", proof_offset="offset", proof_ms="timestamp_ms", proof_op="op_id")
        .sort("offset", "proof_ms", "proof_op", descending=[False, True, False])
        .unique([*KEY, "offset"], keep="first", maintain_order=True)
    )
