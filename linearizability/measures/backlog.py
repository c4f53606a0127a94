"""Measure the backlog of readers over time: records not yet delivered, and the lag of each reader.

    found = backlog(Path("runs/…"))
    found.unseen   # t_s, topic, partition, records
    found.lag      # t_s, topic, partition, consumer, lag_s

A record is *unseen* while it is known to be there (`pauses.known`) and no successful poll of a
consumer has delivered it. The *real-time lag* of a consumer in a partition is the time since the
first record after its position was known to be there (Jepsen: realtime-lag). A consumer is a
process that was assigned its partitions, or a group. Nothing is judged here; `stale_reads` and
`unseen_writes` do that.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from linearizability import history
from linearizability.checkers.base import COLUMNS_READ
from linearizability.history import Type
from linearizability.ingest import IS_OK, IS_POLL, KEY, PLACE, resolved
from linearizability.reads.pauses import IS_ASSIGNED, IS_MEMBER, IS_READ, WHO, ends_of, known
from linearizability.reads.waiting import bounds

NANOSECONDS = 1_000_000_000
SAMPLES_MAX = 300
"""The most points in time to sample. Runs longer than this many seconds are sampled less often than
once a second."""
ROWS_MAX = 5_000_000
"""The most rows of a history to examine, because the history is held in memory."""
CONSUMER = [*KEY, "consumer"]
NAMED = (
    pl.when(IS_MEMBER)
    .then(pl.format("group {}", WHO["group"]))
    .otherwise(pl.format("process {}", pl.col("process")))
)
IS_GROUP = pl.col("consumer").str.starts_with("group ")


@dataclass(frozen=True)
class Backlog:
    """The backlog over time. t_s: seconds since the first invocation; a row describes the end of
    that second."""

    unseen: pl.DataFrame
    lag: pl.DataFrame


def backlog(path: Path) -> Backlog | None:
    """Return the backlog of a run directory or history file, or None if it has more than ROWS_MAX
    rows. Raise HistoryError if there is no history."""
    rows = history.scan(path)
    if rows.select(pl.len()).collect().item() > ROWS_MAX:
        return None
    events = resolved(rows.select(COLUMNS_READ)).lazy()
    start_ns, end_ns = bounds(events)
    times = _times(start_ns, end_ns)
    there = known(events, ends_of(events)).collect()
    names = events.filter(pl.col("topic").is_not_null()).select(*KEY, "topic", "partition")
    places = names.unique(PLACE).collect()
    return Backlog(
        _named(_unseen(events, there, times), places).select(
            "t_s", "topic", "partition", "records"
        ),
        _named(_lag(events, there, times), places).select(
            "t_s", "topic", "partition", "consumer", "lag_s"
        ),
    )


def _times(start_ns: int, end_ns: int) -> pl.DataFrame:
    """Return t_s and t_ns, the times at which the run is sampled: the ends of its seconds,
    SAMPLES_MAX of them at most."""
    seconds = (end_ns - start_ns) // NANOSECONDS + 1
    t_s = pl.int_range(0, seconds, -(-seconds // SAMPLES_MAX), eager=True).alias("t_s")
    second_ends_ns = start_ns + (pl.col("t_s") + 1) * NANOSECONDS
    return t_s.to_frame().with_columns(t_ns=pl.min_horizontal(second_ends_ns, pl.lit(end_ns)))


def _named(rows: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    consumer = ["consumer"] if "consumer" in rows.columns else []
    return rows.join(places, on=PLACE).sort("topic", "partition", *consumer, "t_s")


def _unseen(events: pl.LazyFrame, there: pl.DataFrame, times: pl.DataFrame) -> pl.DataFrame:
    """Return place, t_s, records: the number of committed records that no reader had received by
    then."""
    given = (
        events.filter(IS_READ & IS_OK & pl.col("t_complete_ns").is_not_null())
        .group_by(*KEY, "offset")
        .agg(given_ns=pl.col("t_complete_ns").min())
        .collect()
    )
    records = there.filter("committed").join(given, on=[*KEY, "offset"], how="left")
    looks = records.select(KEY).unique().join(times, how="cross").sort("t_ns")
    counted = looks
    for name, column in (("came", "known_ns"), ("went", "given_ns")):
        so_far = (
            records.filter(pl.col(column).is_not_null())
            .sort(column)
            .select(*KEY, pl.col(column), pl.col(column).cum_count().over(KEY).alias(name))
        )
        counted = counted.join_asof(
            so_far, left_on="t_ns", right_on=column, by=KEY, check_sortedness=False
        ).with_columns(pl.col(name).fill_null(0).cast(pl.Int64))
    return counted.with_columns(records=(pl.col("came") - pl.col("went")).clip(0))


def _lag(events: pl.LazyFrame, there: pl.DataFrame, times: pl.DataFrame) -> pl.DataFrame:
    """Return place, consumer, t_s, lag_s (0 if no record waits), from a consumer's first assignment
    or record in a partition until its last poll. Final reads are not consumers: they start from the
    beginning after the run."""
    working = events.filter(~pl.col("final") & (pl.col("type") == Type.OK.value)).with_columns(
        consumer=NAMED, at_ns=pl.coalesce("t_complete_ns", "t_invoke_ns")
    )
    positions = _positions(working)
    last = working.filter(IS_POLL).group_by("consumer").agg(last_ns=pl.col("at_ns").max()).collect()
    spans = positions.group_by(CONSUMER).agg(
        first_ns=pl.col("at_ns").min(), committed=pl.col("committed").first()
    )
    within = (pl.col("first_ns") <= pl.col("t_ns")) & (pl.col("t_ns") <= pl.col("last_ns"))
    looks = spans.join(last, on="consumer").join(times, how="cross").filter(within).sort("t_ns")
    behind = (
        _still_assigned(looks, working)
        .join_asof(
            positions.drop("committed"),
            left_on="t_ns",
            right_on="at_ns",
            by=CONSUMER,
            check_sortedness=False,
        )
        .sort("wanted")
        .join_asof(
            there.select(*KEY, "committed", "offset", "known_ns").sort("offset"),
            left_on="wanted",
            right_on="offset",
            by=[*KEY, "committed"],
            strategy="forward",
            check_sortedness=False,
        )
    )
    waited_ns = (pl.col("t_ns") - pl.col("known_ns")).clip(0).fill_null(0)
    return behind.with_columns(lag_s=waited_ns / NANOSECONDS)


def _positions(working: pl.LazyFrame) -> pl.DataFrame:
    """Return place, consumer, at_ns, wanted, committed: the offset that a consumer wanted next, and
    since when. A consumer that goes back to reread records does not fall behind by that."""
    return (
        working.filter((IS_READ | IS_ASSIGNED) & pl.col("topic").is_not_null())
        .sort("at_ns", "offset", nulls_last=False)
        .select(
            *CONSUMER,
            "at_ns",
            wanted=pl.col("offset").cum_max().forward_fill().over(CONSUMER).fill_null(-1) + 1,
            committed=(pl.col("isolation") != "read_uncommitted").fill_null(True),
        )
        .collect()
    )


def _still_assigned(looks: pl.DataFrame, working: pl.LazyFrame) -> pl.DataFrame:
    """Return the samples without those at which the process had meanwhile been assigned other
    partitions. (A group keeps its partitions, whichever member has them.)"""
    assigned = working.filter(IS_ASSIGNED & ~IS_MEMBER).sort("at_ns").collect()
    here = assigned.select(*CONSUMER, here_ns="at_ns", here="op_id")
    anywhere = assigned.select("consumer", any_ns="at_ns", anywhere="op_id")
    return (
        looks.join_asof(
            here, left_on="t_ns", right_on="here_ns", by=CONSUMER, check_sortedness=False
        )
        .join_asof(
            anywhere, left_on="t_ns", right_on="any_ns", by="consumer", check_sortedness=False
        )
        .filter(pl.col("here").eq_missing(pl.col("anywhere")) | IS_GROUP)
    )
