"""Find the pauses of readers that prove that they were kept waiting: the evidence of
`Scope.READER`.

A pause proves that, if the reader still polled `shortest_ns` after both the beginning of the pause
and the time when the missing record was known to be there, and did not receive it. Nothing may have
happened in between that would excuse it: a change of positions, a member that joined or left the
group, a fault or a heal. "Still polled" means that a poll returned
nothing at all; or that polls returned other records, both at that time and in the first half of the
time (a reader that pauses for an hour first receives records that its client had fetched before).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from linearizability.excuses.faults import faults_of, undisturbed
from linearizability.history import F
from linearizability.ingest import IS_OK, IS_POLL
from linearizability.plans import collect, collect_all
from linearizability.reads.pauses import PAUSE, SPAN, WHO, ends_of, lost_anywhere, pauses

COLUMNS: Mapping[str, Any] = {
    "kind": pl.String,
    **{"topic": pl.String, "topic_id": pl.String, "partition": pl.Int32},
    "process": pl.Int32,
    "group": pl.String,
    "offset": pl.Int64,
    "value": pl.Int64,
    "op_ids": pl.List(pl.Int64),
    "waited_ns": pl.Int64,
}
"""The columns of the evidence. kind: STALE, or SPAN (a reader of a partition that was watched for
longer than the bound)."""
STALE = "stale"
WHOSE = ["process", "group"]
TURNS = (F.ASSIGN.value, F.SUBSCRIBE.value, F.LEAVE.value, F.CRASH.value)
IS_TURN = pl.col("f").is_in(TURNS)
IS_ANSWERED_POLL = IS_POLL & IS_OK & pl.col("t_complete_ns").is_not_null()
Polls = Callable[[pl.DataFrame], pl.DataFrame]
"""A function from the WHOSE columns of some readers to their answered polls: WHOSE, op_id,
t_invoke_ns, nothing (whether the poll delivered no record)."""


def waiting(events: pl.LazyFrame, shortest_ns: int) -> pl.DataFrame:
    """Return the pauses that prove a wait, and the watched spans, as rows of COLUMNS, from a whole
    resolved history. A run shorter than shortest_ns has none."""
    began, ended = bounds(events)
    if ended - began < shortest_ns:
        return pl.DataFrame(schema=pl.Schema(COLUMNS))
    rows = events.filter(pl.col("topic").is_not_null())
    found = pauses(rows, ends_of(events), lost_anywhere(events), ended, shortest_ns)
    turns, faults = collect_all([turns_of(events), faults_of(events)])
    polls = events.filter(IS_ANSWERED_POLL).select(
        "op_id", "t_invoke_ns", **WHO, nothing=pl.col("offset").is_null()
    )
    return kept_waiting(found, turns, faults, lambda who: polls_of(polls, who), shortest_ns)


def bounds(events: pl.LazyFrame) -> tuple[int, int]:
    """Return the times at which the run began and ended, or (0, 0) without rows."""
    last = pl.max_horizontal("t_invoke_ns", "t_complete_ns").max()
    began, ended = collect(events.select(pl.col("t_invoke_ns").min(), ended=last)).row(0)
    return began or 0, ended or 0


def turns_of(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return process, group and t_invoke_ns of the operations that changed a reader's
    positions."""
    return events.filter(IS_TURN).select("process", "group", "t_invoke_ns").unique()


def polls_of(polls: pl.LazyFrame, who: pl.DataFrame) -> pl.DataFrame:
    """Return the polls of these readers in the form of ASKED, one row per operation. polls: one row
    per record. who: the WHOSE columns."""
    return collect(
        polls.join(who.lazy(), on=WHOSE, how="semi", nulls_equal=True)
        .group_by(*WHOSE, "op_id")
        .agg(pl.col("t_invoke_ns").min(), pl.col("nothing").all())
        .select(ASKED.keys())
    )


def kept_waiting(
    found: pl.DataFrame, turns: pl.DataFrame, faults: pl.DataFrame, polls: Polls, shortest_ns: int
) -> pl.DataFrame:
    """Return a row (COLUMNS) for each reader that was watched for longer than the bound, and for
    each that was kept waiting. found: the rows of `pauses`; turns, faults, polls: events outside
    the partition that may excuse a wait."""
    judged = found.with_columns(since_ns=pl.max_horizontal("since_ns", "known_ns"))
    paused = _undisturbed(judged.filter(kind=PAUSE), turns, faults, shortest_ns)
    spans = judged.filter(kind=SPAN)
    who = pl.concat([rows.select(WHOSE) for rows in (paused, spans)]).unique()
    asked = polls(who) if who.height else pl.DataFrame(schema=ASKED)
    last = asked.group_by(WHOSE).agg(asked_ns=pl.col("t_invoke_ns").max())
    watched = (
        spans.join(last, on=WHOSE, nulls_equal=True)
        .with_columns(
            waited_ns=pl.col("asked_ns") - pl.col("since_ns"), op_ids=pl.concat_list("op_id")
        )
        .filter(pl.col("waited_ns") >= shortest_ns)
    )
    stale = _stale(paused, asked, shortest_ns).with_columns(kind=pl.lit(STALE))
    return pl.concat(
        [rows.select(pl.col(n).cast(t) for n, t in COLUMNS.items()) for rows in (watched, stale)]
    ).rechunk()  # polars panics on lists in chunks


ASKED: dict[str, Any] = {
    "process": pl.Int32,
    "group": pl.String,
    "op_id": pl.Int64,
    "t_invoke_ns": pl.Int64,
    "nothing": pl.Boolean,
}


def _undisturbed(
    paused: pl.DataFrame, turns: pl.DataFrame, faults: pl.DataFrame, shortest_ns: int
) -> pl.DataFrame:
    """Return the parts of pauses between faults that last at least shortest_ns and end before the
    reader's positions are set again."""
    parts = paused.with_row_index("pause").join(undisturbed(faults), how="cross")
    found = []
    for own in WHOSE:
        mine = parts.filter(pl.col(own).is_not_null())
        turn = (
            turns.filter(pl.col(own).is_not_null()).select(own, "t_invoke_ns").sort("t_invoke_ns")
        )
        found.append(
            mine.sort("placed_ns").join_asof(
                turn,
                left_on="placed_ns",
                right_on="t_invoke_ns",
                by=own,
                strategy="forward",
                coalesce=False,
                check_sortedness=False,
            )
        )
    return (
        pl.concat(found)
        .with_columns(
            since_ns=pl.max_horizontal("since_ns", "undisturbed_ns"),
            until_ns=pl.min_horizontal("until_ns", "t_invoke_ns", "disturbed_ns"),
        )
        .filter(pl.col("until_ns") - pl.col("since_ns") >= shortest_ns)
    )


def _stale(paused: pl.DataFrame, asked: pl.DataFrame, shortest_ns: int) -> pl.DataFrame:
    """Return the pauses during which the reader polled for long enough. op_ids: the operations of
    the waiting record, of the last record that the reader received, and of the first poll that
    proves the pause."""
    late = pl.col("asked_ns") >= pl.col("since_ns") + shortest_ns
    early = pl.col("asked_ns") <= pl.col("since_ns") + shortest_ns // 2
    polls = asked.select(*WHOSE, "nothing", asked_ns="t_invoke_ns", poll_op="op_id")
    row = ["pause", "undisturbed_ns"]
    return (
        paused.join(polls, on=WHOSE, nulls_equal=True)
        .filter(
            (pl.col("since_ns") <= pl.col("asked_ns")) & (pl.col("asked_ns") < pl.col("until_ns"))
        )
        .with_columns(proves=late & (pl.col("nothing") | early.any().over(row)))
        .filter("proves")
        .sort("asked_ns", "poll_op")
        .unique(["pause"], keep="first", maintain_order=True)
        .with_columns(
            waited_ns=pl.col("asked_ns") - pl.col("since_ns"),
            op_ids=pl.concat_list("op_id", "since_op", "poll_op").list.unique().list.sort(),
        )
    )
