"""Find when readers received nothing of a partition, and which record was waiting for them.

A *reader* is a process that was assigned partitions, or a group whose members share them. Its
*pause* in a partition begins when it is assigned the partition or receives a record of it, and ends
when that happens again. During a pause it should have received the records after its last one that
are known to be there. Pauses are computed partition by partition; `waiting` decides what they
prove.

When is a record known to be there? For read_uncommitted: once it is acknowledged under acks=all, or
delivered to any reader. For read_committed: once it was delivered to another such reader; or once
it is acknowledged, its transaction's commit is, and so are the ends of all transactions that may
lie before it (KIP-98: such a reader receives the records below the last stable offset). A record
proves that those before it are there, since a log is replicated in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from linearizability.bounds import NEVER
from linearizability.evidence.removals import still_there
from linearizability.history import PARTITION, F, Type
from linearizability.ingest import (
    COMMITTED,
    IS_DATA,
    IS_OK,
    IS_POLL,
    IS_SEND,
    KEY,
    PLACE,
    PLAIN,
    READ_COMMITTED,
)
from linearizability.plans import collect
from linearizability.reads.inferred_log import ACKNOWLEDGED

READER = [*KEY, "process", "group"]
"""The columns that identify a reader. One number, `reader`, stands for them, since grouping by one
column costs a third of grouping by three."""
PAUSE, SPAN = "pause", "span"
COLUMNS: Mapping[str, Any] = {
    "kind": pl.String,
    **{"topic": pl.String, "topic_id": pl.String, "partition": pl.Int32},
    "process": pl.Int32,
    "group": pl.String,
    "given_ns": pl.Int64,
    "since_ns": pl.Int64,
    "until_ns": pl.Int64,
    "since_op": pl.Int64,
    "offset": pl.Int64,
    "value": pl.Int64,
    "op_id": pl.Int64,
    "known_ns": pl.Int64,
}
"""kind: `pause`, with the first record that the reader lacks and when it was known to be there; or
`span`, from when on a reader read the partition, with its first record of all.
Either process or group is null. given_ns: when it was given what it was given last, which says
where it stands; null: nothing yet. until_ns: when the operation that ended it was invoked."""

IS_READ = IS_DATA & pl.col("replica").is_null() & (pl.col("client") != "raw").fill_null(True)
IS_ASSIGNED = (pl.col("f") == F.ASSIGN.value) & IS_OK
IS_LOST = IS_POLL & pl.col("offset").is_null() & (pl.col("type") == Type.INFO.value)
"""The condition on a poll of unknown result, after which the position is unknown until it is set
again."""
IS_MEMBER = pl.col("group").is_not_null() & pl.col("member_id").is_not_null()
WHO = {
    "process": pl.when(~IS_MEMBER).then(pl.col("process")),
    "group": pl.when(IS_MEMBER).then(pl.col("group")),
}
"""The reader whose positions an operation moves."""


def ends_of(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return txn, ended_ns: when the end of each transaction was first acknowledged."""
    is_end = pl.col("f").is_in([F.COMMIT.value, F.ABORT.value]) & IS_OK
    return (
        events.filter(is_end & pl.col("txn").is_not_null())
        .group_by("txn")
        .agg(ended_ns=pl.col("t_complete_ns").min())
    )


def pauses(events: pl.LazyFrame, ends: pl.LazyFrame, end_ns: int, shortest_ns: int) -> pl.DataFrame:
    """Return the readers' pauses and spans as rows of COLUMNS, from the resolved events of any
    number of whole partitions. ends: `ends_of`. end_ns: when the run ended. Pauses shorter than
    shortest_ns are left out."""
    given = _given(events)
    there = collect(known(events, ends)).lazy()
    begun = (
        given.group_by("reader")
        .agg(pl.col(*READER, "since_ns", "since_op", "isolation").first())
        .with_columns(
            kind=pl.lit(SPAN), before=_offset(-1), given_ns=_offset(None), until_ns=_offset(None)
        )
    )
    ended = pl.col("until_ns").fill_null(end_ns)
    long = _paused(given).filter(ended - pl.col("since_ns") >= shortest_ns)
    names = events.filter(pl.col("topic").is_not_null()).select(*KEY, *PARTITION).unique()
    return collect(
        pl.concat([_waited_for(rows.select(_PAUSED), there) for rows in (long, begun)])
        .filter(ended - pl.max_horizontal("since_ns", "known_ns") >= shortest_ns)
        .join(names, on=KEY)
        .select(pl.col(name).cast(dtype) for name, dtype in COLUMNS.items())
    )


_PAUSED = [*READER, "kind", "given_ns", "since_ns", "until_ns", "since_op", "isolation", "before"]


def _offset(number: int | None) -> pl.Expr:
    return pl.lit(number, dtype=pl.Int64)


def _given(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows that moved a reader's position, in the order of operations. offset: the
    offset of the record received, NEVER if unknown, null if the partition was assigned."""
    return (
        events.filter(IS_READ | IS_ASSIGNED | IS_LOST)
        .select(
            *KEY,
            "isolation",
            "t_invoke_ns",
            **WHO,
            offset=pl.when(IS_LOST).then(_offset(NEVER)).when(IS_POLL).then("offset"),
            since_ns=pl.coalesce("t_complete_ns", "t_invoke_ns"),
            since_op=pl.col("op_id"),
        )
        .with_columns(
            reader=pl.col(PLACE).cast(pl.Int64) * 2**32
            + pl.coalesce(-1 - pl.col("group").rank("dense").cast(pl.Int64), "process")
        )
    )


def _paused(given: pl.LazyFrame) -> pl.LazyFrame:
    """Return _PAUSED: the last record that each reader received, and the time of its next request.
    An assignment may keep the position or set it back, so records received before it are not
    missed."""
    return given.with_columns(
        kind=pl.lit(PAUSE),
        until_ns=pl.col("t_invoke_ns").shift(-1).over("reader"),
        before=pl.col("offset").forward_fill().over("reader").fill_null(-1),
        given_ns=pl.when(pl.col("offset").is_not_null())
        .then("since_ns")
        .forward_fill()
        .over("reader"),
    )


def _waited_for(paused: pl.LazyFrame, known: pl.LazyFrame) -> pl.LazyFrame:
    """Return each pause with the next record that its reader had yet to receive: the first one
    known after the last that it received. Leave out pauses without such a record."""
    committed = (pl.col("isolation") != "read_uncommitted").fill_null(True)
    return (
        paused.with_columns(committed=committed, wanted=pl.col("before") + 1)
        .sort("wanted")
        .join_asof(
            known.sort("offset"),
            left_on="wanted",
            right_on="offset",
            by=[*KEY, "committed"],
            strategy="forward",
            coalesce=False,
            check_sortedness=False,
        )
        .filter(pl.col("known_ns").is_not_null())
    )


def known(events: pl.LazyFrame, ends: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records that readers must be given, once for each isolation level: place,
    committed, offset, value, op_id and known_ns, the time from which on the record is known to be
    readable."""
    acknowledged, stable = _acknowledged(events, ends)
    given = (
        events.filter(IS_READ & pl.col("t_complete_ns").is_not_null())
        .group_by(*KEY, "offset", committed=pl.col("isolation") == READ_COMMITTED)
        .agg(pl.col("value", "op_id").first(), known_ns=pl.col("t_complete_ns").min())
        .with_columns(pl.col("committed").fill_null(False))
    )
    columns = [*KEY, "committed", "offset", "value", "op_id", "known_ns"]
    to_anybody = [
        rows.with_columns(committed=pl.lit(False)).select(columns) for rows in (given, acknowledged)
    ]
    to_stable = [
        given.filter("committed").select(columns),
        stable.with_columns(committed=pl.lit(True)).select(columns),
    ]
    records = pl.concat([*to_anybody, *to_stable])
    return (
        still_there(records, events)
        .sort("known_ns", "op_id")
        .group_by(*KEY, "committed", "offset")
        .agg(pl.col("value", "op_id", "known_ns").first())
        .sort("offset", descending=True)
        .with_columns(pl.col("known_ns").cum_min().over(*KEY, "committed"))
    )


def _acknowledged(events: pl.LazyFrame, ends: pl.LazyFrame) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Return two tables of place, offset, value, op_id and known_ns. known_ns in the first: the
    time at which the record was acknowledged. In the second, for readers of committed records: the
    time from which on no earlier transaction was open."""
    sends = events.filter(IS_SEND & (pl.col("type") != Type.FAIL.value)).join(
        ends, on="txn", how="left", maintain_order="left"
    )
    open_until = (
        pl.when(pl.col("txn").is_null())
        .then(_offset(0))
        .otherwise(pl.col("ended_ns").fill_null(NEVER))
    )
    sends = sends.with_columns(open_until=open_until)
    acknowledged = (
        sends.filter(ACKNOWLEDGED)
        .select(*KEY, "offset", "value", "op_id", "outcome", "open_until", known_ns="t_complete_ns")
        .sort("offset")
        .with_columns(below=pl.col("open_until").cum_max().over(KEY))
        .with_columns(pl.col("below").max().over(*KEY, "offset"))
        .filter(pl.col("known_ns").is_not_null())
    )
    anywhere = (
        sends.filter(~ACKNOWLEDGED & pl.col("txn").is_not_null())
        .select(*KEY, "t_invoke_ns", somewhere="open_until")
        .sort("t_invoke_ns")
        .with_columns(pl.col("somewhere").cum_max().over(KEY))
    )
    stable = (
        acknowledged.filter(pl.col("outcome").is_in([PLAIN, COMMITTED]))
        .sort("known_ns")
        .join_asof(
            anywhere,
            left_on="known_ns",
            right_on="t_invoke_ns",
            by=KEY,
            strategy="backward",
            check_sortedness=False,
        )
        .with_columns(known_ns=pl.max_horizontal("known_ns", "below", "somewhere"))
        .filter(pl.col("known_ns") < NEVER)
    )
    return acknowledged, stable
