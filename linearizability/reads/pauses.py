"""Find when readers received nothing of a partition, and which record was waiting for them.

A *reader* is a process that was assigned partitions, or a group whose members share them. Its
*pause* in a partition begins when it is assigned the partition, receives a record of it, sets its
position, or ends a poll of unknown result, and ends when one of these happens again. During a pause
it should have received the records after its last one, or from its new position on, that are known
to be there. Pauses are computed partition by
partition; `waiting` decides what they prove.

A position that is not told lies at the end of the log at most. A poll of unknown result (a lost
poll) may have delivered any record that was there before its end.
It cannot have delivered a record that was sent afterwards, so such a record is still missed.

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
from linearizability.evidence.lost_polls import UNSEEN_NS
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
from linearizability.reads.readers import START

READER = [*KEY, "process", "group"]
"""The columns that identify a reader. One number, `reader`, stands for them, since grouping by one
column costs a third of grouping by three."""
PAUSE, SPAN = "pause", "span"
COLUMNS: Mapping[str, Any] = {
    "kind": pl.String,
    **{"topic": pl.String, "topic_id": pl.String, "partition": pl.Int32},
    "process": pl.Int32,
    "group": pl.String,
    "placed_ns": pl.Int64,
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
Either process or group is null. placed_ns: when the reader was last assigned the partition or given
a record of it, so that it still had the partition. until_ns: when the operation that ended the
pause was invoked."""

IS_READ = IS_DATA & pl.col("replica").is_null() & (pl.col("client") != "raw").fill_null(True)
IS_ASSIGNED = (pl.col("f") == F.ASSIGN.value) & IS_OK
IS_LOST = IS_POLL & pl.col("offset").is_null() & (pl.col("type") == Type.INFO.value)
"""The condition on a poll of unknown result."""
IS_PLACED = (pl.col("f") == F.POSITION.value) & IS_OK
_PLACED_AT = pl.coalesce(START, pl.when(pl.col("asked") == "earliest").then(0))
IS_PLACED_SOMEWHERE = IS_PLACED & _PLACED_AT.is_null()
"""The condition on a reader that set its position to one that the history does not tell, such as
the end of the log."""
_OVER_NS = pl.coalesce("t_complete_ns", pl.col("t_invoke_ns") + UNSEEN_NS)
IS_LOST_ANYWHERE = IS_LOST & pl.col("topic").is_null()
LOST = pl.Schema(
    {
        "process": pl.Int32,
        "group": pl.String,
        "isolation": pl.String,
        "t_invoke_ns": pl.Int64,
        "since_ns": pl.Int64,
        "since_op": pl.Int64,
    }
)
"""The columns of lost polls that name no partition. since_ns: the time from which on they deliver
nothing more."""
LOST_READ = (
    *("process", "group", "isolation", "f", "type", "topic", "offset", "op_id"),
    *("t_invoke_ns", "t_complete_ns"),
)
"""The columns needed to find lost polls that name no partition."""
IS_MEMBER = pl.col("group").is_not_null() & pl.col("member_id").is_not_null()
WHO = {
    "process": pl.when(~IS_MEMBER).then(pl.col("process")),
    "group": pl.when(IS_MEMBER).then(pl.col("group")),
}
"""The reader whose positions an operation moves."""


def lost_anywhere(history: pl.LazyFrame) -> pl.DataFrame:
    """Return the lost polls among these rows that name no partition, with the columns LOST."""
    lost = history.filter(IS_LOST_ANYWHERE).with_columns(since_ns=_OVER_NS, since_op="op_id")
    return collect(lost.select(pl.col(name).cast(dtype) for name, dtype in LOST.items()).unique())


def ends_of(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return txn, ended_ns: when the end of each transaction was first acknowledged."""
    is_end = pl.col("f").is_in([F.COMMIT.value, F.ABORT.value]) & IS_OK
    return (
        events.filter(is_end & pl.col("txn").is_not_null())
        .group_by("txn")
        .agg(ended_ns=pl.col("t_complete_ns").min())
    )


def pauses(
    events: pl.LazyFrame, ends: pl.LazyFrame, lost: pl.DataFrame, end_ns: int, shortest_ns: int
) -> pl.DataFrame:
    """Return the readers' pauses and spans as rows of COLUMNS. events: the resolved ones of one or
    more whole partitions. ends: `ends_of`. lost: `lost_anywhere` of the whole history. end_ns: when
    the run ended. Left out are those without a record to wait for, and those that lasted less than
    shortest_ns from their beginning and from when that record was known to be there."""
    given = _given(events)
    there = collect(known(events, ends)).lazy()
    begun = (
        given.filter(~pl.col("is_lost"))
        .group_by("reader")
        .agg(pl.col(*READER, "since_ns", "since_op", "isolation").first())
        .with_columns(
            kind=pl.lit(SPAN),
            before=_offset(-1),
            lost_ns=_offset(None),
            placed_ns="since_ns",
            until_ns=_offset(None),
        )
    )
    ended = pl.col("until_ns").fill_null(end_ns)
    paused = _paused(_with_lost(given, lost)).filter(ended - pl.col("since_ns") >= shortest_ns)
    long = _wanted_after_loss(paused.select(_PAUSED), there, events)
    names = events.filter(pl.col("topic").is_not_null()).select(*KEY, *PARTITION).unique()
    wanting = pl.concat([long, begun.select(_PAUSED).with_columns(wanted=pl.col("before") + 1)])
    return collect(
        _waited_for(wanting, there)
        .filter(ended - pl.max_horizontal("since_ns", "known_ns") >= shortest_ns)
        .join(names, on=KEY)
        .select(pl.col(name).cast(dtype) for name, dtype in COLUMNS.items())
    )


_PAUSED = [
    *READER,
    "kind",
    "lost_ns",
    "placed_ns",
    "since_ns",
    "until_ns",
    "since_op",
    "isolation",
    "before",
]


def _offset(number: int | None) -> pl.Expr:
    return pl.lit(number, dtype=pl.Int64)


def _given(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows that moved a reader's position, or may have, in the order of operations.
    offset: the offset of the record received, or the one before the position that was set, or null
    for other operations. lost_ns: the end of an operation after which the position is not known."""
    return (
        events.filter(IS_READ | IS_ASSIGNED | IS_LOST | IS_PLACED)
        .select(
            *KEY,
            "isolation",
            "t_invoke_ns",
            **WHO,
            offset=pl.when(IS_POLL).then("offset").when(IS_PLACED).then(_PLACED_AT - 1),
            lost_ns=pl.when(IS_LOST | IS_PLACED_SOMEWHERE).then(_OVER_NS),
            is_lost=IS_LOST,
            since_ns=pl.when(IS_LOST)
            .then(_OVER_NS)
            .otherwise(pl.coalesce("t_complete_ns", "t_invoke_ns")),
            since_op=pl.col("op_id"),
        )
        .with_columns(
            reader=pl.col(PLACE).cast(pl.Int64) * 2**32
            + pl.coalesce(-1 - pl.col("group").rank("dense").cast(pl.Int64), "process")
        )
    )


def _with_lost(given: pl.LazyFrame, lost: pl.DataFrame) -> pl.LazyFrame:
    """Return the rows of `_given`, and for each lost poll that names no partition a row in each
    partition of its reader, in the order of operations."""
    if lost.is_empty():
        return given
    readers = given.select("reader", *READER).unique()
    everywhere = [
        readers.filter(pl.col(own).is_not_null())
        .join(lost.lazy().select(pl.exclude({"process", "group"} - {own})), on=own)
        .with_columns(offset=_offset(None), lost_ns="since_ns", is_lost=True)
        for own in ("process", "group")
    ]
    columns = [pl.col(name).cast(dtype) for name, dtype in given.collect_schema().items()]
    return pl.concat(part.select(columns) for part in (given, *everywhere)).sort(
        "since_op", maintain_order=True
    )


def _paused(given: pl.LazyFrame) -> pl.LazyFrame:
    """Return _PAUSED: a pause for each row of `_given` from the reader's first assignment, position
    or record on, with the last offset that the reader had received or passed (before), and the time
    of its next such row (until_ns). lost_ns: the end of the lost polls since that record. An
    assignment may keep the position or set it back, so records received before it are not
    missed."""

    def last(column: str, where: pl.Expr) -> pl.Expr:
        return pl.when(where).then(pl.col(column)).forward_fill().over("reader")

    return (
        given.with_columns(
            kind=pl.lit(PAUSE),
            until_ns=pl.col("t_invoke_ns").shift(-1).over("reader"),
            before=pl.col("offset").forward_fill().over("reader").fill_null(-1),
            given_ns=last("since_ns", pl.col("offset").is_not_null()),
            placed_ns=last("since_ns", ~pl.col("is_lost")),
            lost_ns=pl.col("lost_ns").cum_max().forward_fill().over("reader"),
        )
        .filter(pl.col("placed_ns").is_not_null())
        .with_columns(
            lost_ns=pl.when(pl.col("lost_ns") >= pl.col("given_ns").fill_null(-NEVER)).then(
                "lost_ns"
            )
        )
    )


def _wanted_after_loss(
    paused: pl.LazyFrame, there: pl.LazyFrame, events: pl.LazyFrame
) -> pl.LazyFrame:
    """Return the pauses with `wanted`, the lowest offset that their reader cannot have received:
    the one after its last record or, after a lost poll, that of the first record that was sent when
    the poll was over. Leave out pauses after a lost poll without such a record."""
    sent = events.filter(IS_SEND).group_by(*KEY, "value").agg(sent_ns=pl.col("t_invoke_ns").min())
    first = (
        there.join(sent, on=[*KEY, "value"])
        .sort("sent_ns", descending=True)
        .select(*KEY, "sent_ns", first=pl.col("offset").cum_min().over(KEY))
        .sort("sent_ns", "first")
    )
    after = (
        paused.filter(pl.col("lost_ns").is_not_null())
        .sort("lost_ns")
        .join_asof(
            first,
            left_on="lost_ns",
            right_on="sent_ns",
            by=KEY,
            strategy="forward",
            allow_exact_matches=False,
            coalesce=False,
            check_sortedness=False,
        )
        .filter(pl.col("first").is_not_null())
        .select(*_PAUSED, wanted=pl.max_horizontal(pl.col("before") + 1, "first"))
    )
    known = paused.filter(pl.col("lost_ns").is_null())
    return pl.concat([known.with_columns(wanted=pl.col("before") + 1), after])


def _waited_for(paused: pl.LazyFrame, known: pl.LazyFrame) -> pl.LazyFrame:
    """Return each pause with the next record that its reader had still to receive: the first one,
    from offset `wanted` on, that is known to exist. Leave out pauses without such a record."""
    committed = (pl.col("isolation") != "read_uncommitted").fill_null(True)
    return (
        paused.with_columns(committed=committed)
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
    """Return the records that readers must be given, once for each isolation level (committed) and
    offset: place, committed, offset, value, op_id and known_ns, the time from which on the record
    is known to be readable, because it or a record above it was."""
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
    """Return two tables of acknowledged records: place, offset, value, op_id and known_ns. In the
    first, known_ns is the time of the acknowledgement. The second is for readers of committed
    records: it has only plain and committed ones, and known_ns is the time from which on no
    transaction that may lie before the record was open."""
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
