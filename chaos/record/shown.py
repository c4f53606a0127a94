"""Count the events in a history that a run must show, and decide whether there were enough for a
verdict.

A workload has a subject (fenced transactions, groups that rebalance), and so has a nemesis. If
nothing of the kind happened in a run, there is nothing to judge, and the verdict is unknown with
that reason. A table lists the kinds of events (Sight) that each workload must show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import polars as pl

from linearizability import history
from linearizability.history import F, Type

FENCED = ("INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED", "_FENCED", "FENCED_INSTANCE_ID")
WRAPPED_BELOW = 1 << 30
FOR_EVER_NS = (1 << 63) - 1
FINAL_LEADER = pl.col("final") & (pl.col("client") == "raw") & pl.col("replica").is_null()


class Sight(StrEnum):
    """The kinds of events that a run may show. The value of each is its text for the user."""

    READS = "records polled during the attack"
    UNDER_FAULT = "sends acknowledged although a fault was in progress"
    REBALANCES = "group rebalances"
    GIVEN = "records delivered to group members"
    TAKEN_OVER = "partitions resumed at the group's committed offset"
    ABORTS = "transactions aborted"
    FENCED = "producers fenced by their successors"
    TIMED_OUT = "transactions that exceeded their time-out"
    REFUSED = "requests refused because the sender was fenced"
    SEEKS = "seeks to offsets"
    LOOK_UPS = "offset look-ups by timestamp"
    DELETED = "logs that start above offset 0"
    CLEANED = "offsets removed by compaction"
    WRAPPED = "sequence numbers that wrapped to 0"
    RECREATED = "topics deleted and created again"
    GROWN = "topics that got more partitions"
    POSITIONS = "committed offsets fetched"
    LATEST = "reads of the last record"
    HEARTBEATS = "heartbeats accepted"
    DISMISSED = "heartbeats refused because the sender is not a member"
    JOINED = "group members that joined after the first of their process"
    LEFT = "group members that left"
    CRASHED = "group members that crashed"
    MOVED_UNDER_FAULT = "group members that came or went while a fault was in progress"


COMING_AND_GOING = (Sight.GIVEN, Sight.JOINED, Sight.LEFT, Sight.CRASHED)
MUST_SHOW: dict[str, tuple[Sight, ...]] = {
    "appends": (Sight.READS,),
    "appends-mixed": (Sight.READS,),
    "appends-acks1": (Sight.READS,),
    "appends-acks0": (Sight.READS,),
    "appends-not-idempotent": (Sight.READS,),
    "fan-out": (Sight.READS,),
    "read-from-follower": (Sight.READS,),
    "transactions": (Sight.ABORTS, Sight.FENCED, Sight.TIMED_OUT),
    "zombies": (Sight.ABORTS, Sight.FENCED, Sight.REFUSED),
    "sequences": (Sight.WRAPPED,),
    "seeks": (Sight.SEEKS, Sight.LOOK_UPS),
    "groups": (*COMING_AND_GOING, Sight.REBALANCES),
    "groups-cooperative": (*COMING_AND_GOING, Sight.REBALANCES),
    "groups-consumer": (*COMING_AND_GOING, Sight.REBALANCES),
    "groups-growing": (Sight.GIVEN, Sight.REBALANCES, Sight.GROWN),
    "groups-static": (*COMING_AND_GOING, Sight.TAKEN_OVER),
    "groups-consumer-static": (*COMING_AND_GOING, Sight.TAKEN_OVER),
    "groups-positions": (*COMING_AND_GOING, Sight.REBALANCES, Sight.POSITIONS),
    "groups-static-positions": (*COMING_AND_GOING, Sight.TAKEN_OVER, Sight.POSITIONS),
    "groups-consumer-positions": (*COMING_AND_GOING, Sight.REBALANCES, Sight.POSITIONS),
    "transform": (*COMING_AND_GOING, Sight.REBALANCES, Sight.ABORTS),
    "compaction": (Sight.CLEANED,),
    "compaction-transactions": (Sight.CLEANED, Sight.ABORTS),
    "register": (Sight.LATEST,),
    "retention": (Sight.DELETED,),
    "retention-size": (Sight.DELETED,),
    "delete-records": (Sight.DELETED,),
    "recreate": (Sight.RECREATED,),
    "sessions": (Sight.HEARTBEATS, Sight.DISMISSED),
    "offsets": (Sight.POSITIONS,),
    "offsets-transactions": (Sight.POSITIONS, Sight.ABORTS, Sight.FENCED),
}
"""Workload -> the sights that each of its runs must show. In runs with faults, UNDER_FAULT is also
required of all."""
ANSWERS_NOBODY = frozenset({"appends-acks0", "register"})
"""The workloads whose sends are not acknowledged, or too rarely for UNDER_FAULT to be required."""


@dataclass(frozen=True)
class Shown:
    """The number of times that a run showed each Sight, a kind of event such as a rebalance or a
    compaction."""

    counts: Mapping[Sight, int]

    def as_dict(self) -> dict[str, int]:
        """Return, for run.json, the number of occurrences of each Sight that occurred at least
        once."""
        return {sight.value: count for sight, count in self.counts.items() if count}

    def missing(self, workload: str, under_faults: bool) -> tuple[Sight, ...]:
        """Return the kinds of events (Sight) that a run of this workload must show, but did not.
        Return none for a workload that is not in MUST_SHOW. under_faults: whether the run's nemesis
        has faults."""
        wanted = MUST_SHOW.get(workload, ())
        if under_faults and workload in MUST_SHOW and workload not in ANSWERS_NOBODY:
            wanted = (*wanted, Sight.UNDER_FAULT)
        return tuple(sight for sight in wanted if not self.counts[sight])


def problem(sight: Sight) -> str:
    """Return the reason why a run that did not show this kind of event cannot be valid."""
    return f"no {sight.value} in this run, so it did not test its subject; use a longer --seconds"


PROBLEMS = frozenset(map(problem, Sight))
"""The reasons for which a longer run helps."""


def line(shown: Mapping[str, int]) -> str:
    """Return one line that lists what a run has shown, such as "12 offset look-ups by timestamp, 3
    seeks to offsets", or "nothing"."""
    return ", ".join(f"{count:,} {what}" for what, count in shown.items()) or "nothing"


def shown_by(run: Path) -> Shown:
    """Count the events of each kind (Sight) that the history of a run shows. Raise HistoryError if
    there is no history."""
    rows = pl.scan_parquet(history.history_file(run))
    found = rows.select(
        shows.cast(pl.Int64).sum().alias(sight.name) for sight, shows in _COUNTS.items()
    ).collect()
    counts = {sight: int(found[sight.name].item() or 0) for sight in _COUNTS}
    return Shown(counts | dict(_joined(rows)))


def _is(f: F) -> pl.Expr:
    return pl.col("f") == f.value


_OK = pl.col("type") == Type.OK.value
_OF_GROUP = pl.col("group").is_not_null()
_ASKED = pl.col("asked")
_COUNTS: Mapping[Sight, pl.Expr] = {
    Sight.READS: _is(F.POLL) & pl.col("offset").is_not_null() & ~pl.col("final"),
    Sight.GIVEN: (
        _is(F.POLL)
        & _OK
        & pl.col("group").is_not_null()
        & pl.col("member_id").is_not_null()
        & pl.col("offset").is_not_null()
    ),
    Sight.TAKEN_OVER: (
        _is(F.POSITION) & (_ASKED == "committed") & pl.col("asked_offset").is_not_null()
    ),
    Sight.ABORTS: _is(F.ABORT) & _OK,
    Sight.REFUSED: pl.col("error").is_in(FENCED),
    Sight.SEEKS: (
        _is(F.POSITION)
        & _OK
        & (_ASKED == "offset")
        & (pl.col("asked_offset") > 0)
        & pl.col("group").is_null()
    ),
    Sight.LOOK_UPS: (
        _is(F.POSITION) & _OK & (_ASKED == "timestamp") & pl.col("offset").is_not_null()
    ),
    Sight.DELETED: _is(F.READ_ALL) & FINAL_LEADER & (pl.col("log_start") > 0),
    Sight.RECREATED: _is(F.TOPIC) & _OK & (pl.col("process") >= 0),
    Sight.GROWN: _is(F.TOPIC) & _OK & (pl.col("process") >= 0) & ~pl.col("final").fill_null(False),
    Sight.POSITIONS: _is(F.FETCH_OFFSETS) & _OK & pl.col("offset").is_not_null(),
    Sight.HEARTBEATS: _is(F.HEARTBEAT) & _OK,
    Sight.DISMISSED: _is(F.HEARTBEAT) & (pl.col("type") == Type.FAIL.value),
    Sight.LATEST: _is(F.READ_LATEST) & _OK & pl.col("offset").is_not_null(),
    Sight.LEFT: _is(F.LEAVE) & _OK & _OF_GROUP,
    Sight.CRASHED: _is(F.CRASH) & _OF_GROUP,
}
"""The kinds of events that are counted row by row, each with the condition on a row."""


def _joined(rows: pl.LazyFrame) -> Iterator[tuple[Sight, int]]:
    """Yield (kind of event, count) for the kinds that are found only by comparing several rows."""
    yield (
        Sight.REBALANCES,
        _more_than_one(
            rows.filter(pl.col("generation").is_not_null() & _OF_GROUP), "group", "generation"
        ),
    )
    members = rows.filter(_is(F.POLL) & _OF_GROUP & pl.col("member_id").is_not_null())
    yield Sight.JOINED, _more_than_one(members, "process", "member_id")
    yield (
        Sight.FENCED,
        _more_than_one(
            rows.filter(_is(F.INIT_PRODUCER) & pl.col("transactional_id").is_not_null()),
            "transactional_id",
            "t_complete_ns",
        ),
    )
    yield Sight.TIMED_OUT, _timed_out(rows)
    yield Sight.CLEANED, _cleaned(rows)
    yield Sight.WRAPPED, _wrapped(rows)
    yield Sight.UNDER_FAULT, _count(_under_fault(rows, _is(F.SEND) & _OK))
    moves = pl.col("f").is_in([F.SUBSCRIBE.value, F.LEAVE.value, F.CRASH.value]) & _OF_GROUP
    yield Sight.MOVED_UNDER_FAULT, _count(_under_fault(rows, moves))


def _count(rows: pl.LazyFrame) -> int:
    return int(rows.select(pl.len()).collect().item())


def _more_than_one(rows: pl.LazyFrame, whose: str, what: str) -> int:
    """For each value of the column `whose`, count the distinct values of the column `what` beyond
    the first. Return the sum."""
    found = rows.group_by(whose).agg(more=pl.col(what).n_unique() - 1)
    return int(found.select(pl.col("more").sum()).collect().item() or 0)


def _timed_out(rows: pl.LazyFrame) -> int:
    """Count the transactions that timed out: their commit was requested later after the beginning
    than the transaction timeout allows, and did not succeed."""
    timeout_ms = pl.col("settings").str.json_path_match("$['transaction.timeout.ms']")
    timeouts = (
        rows.filter(_is(F.INIT_PRODUCER) & pl.col("settings").is_not_null())
        .group_by("transactional_id")
        .agg(timeout_ns=timeout_ms.cast(pl.Int64).min() * 1_000_000)
    )
    begun = rows.filter(_is(F.BEGIN) & _OK).select(
        "txn", "transactional_id", begun_ns="t_complete_ns"
    )
    late = pl.col("t_invoke_ns") > pl.col("begun_ns") + pl.col("timeout_ns")
    ends = rows.filter(_is(F.COMMIT) & ~_OK).select("txn", "t_invoke_ns")
    joined = begun.join(timeouts, on="transactional_id").join(ends, on="txn")
    return _count(joined.filter(late).unique("txn"))


def _cleaned(rows: pl.LazyFrame) -> int:
    """Count the offsets between log start and high watermark that hold no record in the leaders'
    final logs."""
    final = rows.filter(FINAL_LEADER)
    last = final.filter(_is(F.READ_ALL)).group_by("topic", "partition").last()
    span = last.select((pl.col("high_watermark") - pl.col("log_start")).sum()).collect().item()
    records = final.filter(_is(F.POLL) & pl.col("offset").is_not_null())
    found = _count(records.select("topic", "partition", "offset").unique())
    return max(0, int(span or 0) - found)


def _wrapped(rows: pl.LazyFrame) -> int:
    """Count, over all partitions and producers' epochs, those whose sequences wrapped to 0."""
    numbered = rows.filter(FINAL_LEADER & (pl.col("sequence") >= 0))
    ends = numbered.group_by("topic", "partition", "producer_id", "producer_epoch").agg(
        low=pl.col("sequence").min(), high=pl.col("sequence").max()
    )
    return _count(ends.filter((pl.col("low") < WRAPPED_BELOW) & (pl.col("high") >= WRAPPED_BELOW)))


def _under_fault(rows: pl.LazyFrame, which: pl.Expr) -> pl.LazyFrame:
    """Return the operations that have rows which meet `which` and were in progress at some moment
    between a fault that took effect and the next heal, or the end of the run without one."""
    is_heal = pl.col("detail").str.contains('"fault": "Heal"', literal=True)
    events = (
        rows.filter(_is(F.NEMESIS))
        .select("t_invoke_ns", "t_complete_ns", heal=is_heal, struck=_OK)
        .sort("t_invoke_ns")
        .collect()
    )
    spans, since = [], None
    for invoked, completed, heal, struck in events.iter_rows():
        if heal and since is not None:
            spans.append((since, completed or invoked))
            since = None
        elif not heal and struck and since is None:
            since = invoked
    if since is not None:
        spans.append((since, FOR_EVER_NS))
    met = pl.any_horizontal(
        pl.lit(False),
        *(
            (pl.col("t_invoke_ns") < end) & (pl.col("t_complete_ns") > start)
            for start, end in spans
        ),
    )
    return rows.filter(which & met).select("op_id").unique()
