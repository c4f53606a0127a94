"""Find lost polls, which are polls of unknown result, and the time in which each may explain a
missing record.

A poll is lost if it is a member's and ended without showing what it delivered, or if its process
read in the group's name without being a member. It may have delivered any records between those
that the group received before and those that it receives after, and its process may have committed
them. That is possible until the process invokes its next operation (it has only one at a time). If
it is never seen again, it is possible for UNSEEN_NS: then the group has removed it, and refuses its
commits.

Two columns number the times between lost polls in each row of a group. `era`: the number of the
group's lost polls that were over before the row's session began, or, for the row's own process,
before the row. It is null if a lost poll was neither over before the row nor began after it. Rows
with equal eras have no lost poll between them. `own_era`: the number of lost polls of the row's own
process that had begun before (null if one began during the row). Rows of one session with equal
`own_era` have no lost poll of their own process between them.

A lost poll of a member delivered nothing of a partition that another member owned meanwhile
(`owners`), so it does not count in the rows of that partition.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from linearizability.bounds import NEVER
from linearizability.evidence.owners import COLUMNS_READ as OWNERS_READ
from linearizability.evidence.owners import OWNERS, owned_meanwhile, owners_in
from linearizability.history import F, Type
from linearizability.plans import collect

UNSEEN_NS = 60 * 1_000_000_000
"""The nanoseconds after a lost poll in which its process may still commit, if it is not seen again.
It is longer than the default of session.timeout.ms (45 s), after which the coordinator refuses the
process."""
IN_A_GROUP = pl.col("group").is_not_null()
IS_LOST_POLL = (
    (pl.col("f") == F.POLL.value)
    & IN_A_GROUP
    & (
        (pl.col("offset").is_null() & (pl.col("type") == Type.INFO.value))
        | (pl.col("offset").is_not_null() & pl.col("member_id").is_null())
    )
)
"""The condition on a poll that may have delivered anything, or on a poll in the group's name by a
process that is no member."""
LOST = pl.Schema(
    {
        "group": pl.String,
        "process": pl.Int32,
        "begun_ns": pl.Int64,
        "over_ns": pl.Int64,
        "next_ns": pl.Int64,
        "is_untold": pl.Boolean,
    }
)
"""The columns of lost polls. next_ns: when the process next invoked an operation, as far as these
rows show. is_untold: whether the poll did not show what it delivered (else its process, which is no
member, may read any partition)."""
PLACE = ["group", "topic", "partition"]
SESSIONS = pl.Schema(
    {"group": pl.String, "process": pl.Int32, "session": pl.Int32, "first_ns": pl.Int64}
)
COLUMNS_READ = tuple(
    dict.fromkeys(
        (
            "group",
            "process",
            "session",
            "member_id",
            "f",
            "type",
            "offset",
            "t_invoke_ns",
            "t_complete_ns",
            *OWNERS_READ,
        )
    )
)
"""The columns needed to find lost polls."""


class LostPolls(NamedTuple):
    """The lost polls of a history, and the sessions of the groups that have any. spans: group,
    process, begun_ns, ended_ns, is_untold of each lost poll. sessions: when each of those sessions
    was first seen (the columns SESSIONS). elsewhere: group, topic, partition, process, begun_ns of
    each lost poll and each partition of which it delivered nothing."""

    spans: pl.DataFrame
    sessions: pl.DataFrame
    elsewhere: pl.DataFrame


def lost_in(history: pl.LazyFrame) -> pl.DataFrame:
    """Return the lost polls among these rows, which may be a part of a history, with the columns
    LOST."""
    of_groups = history.filter(IN_A_GROUP)
    asked = of_groups.select("process", next_ns="t_invoke_ns").unique().sort("next_ns")
    lost = (
        of_groups.filter(IS_LOST_POLL)
        .group_by("group", "process", begun_ns="t_invoke_ns")
        .agg(over_ns=pl.col("t_complete_ns").max(), is_untold=pl.col("offset").is_null().all())
        .sort("begun_ns")
        .join_asof(
            asked,
            left_on="begun_ns",
            right_on="next_ns",
            by="process",
            strategy="forward",
            allow_exact_matches=False,
            coalesce=False,
            check_sortedness=False,
        )
    )
    return collect(lost.select(pl.col(name).cast(dtype) for name, dtype in LOST.items()))


def sessions_in(history: pl.LazyFrame) -> pl.DataFrame:
    """Return when each session of a group's process is first seen among these rows, with the
    columns SESSIONS."""
    first = history.filter(IN_A_GROUP).group_by("group", "process", "session")
    return collect(first.agg(first_ns=pl.col("t_invoke_ns").min()).select(SESSIONS.names()))


def put_together(lost: pl.DataFrame, sessions: pl.DataFrame, owners: pl.DataFrame) -> LostPolls:
    """Return the lost polls of a whole history, merged from those of its pieces, with the sessions
    of the groups that have lost polls. owners: `owners_in` of all pieces."""
    seen = sessions.select("process", seen_ns="first_ns").sort("seen_ns")
    unseen_ns = pl.max_horizontal("begun_ns", "over_ns") + UNSEEN_NS
    spans = (
        lost.sort("begun_ns")
        .join_asof(
            seen,
            left_on="begun_ns",
            right_on="seen_ns",
            by="process",
            strategy="forward",
            allow_exact_matches=False,
            coalesce=False,
            check_sortedness=False,
        )
        .with_columns(again_ns=pl.min_horizontal("next_ns", "seen_ns"))
        .select(
            "group", "process", "begun_ns", "is_untold", ended_ns=pl.coalesce("again_ns", unseen_ns)
        )
    )
    known = sessions.join(spans.select("group").unique(), on="group", how="semi")
    merged = known.group_by("group", "process", "session").agg(pl.col("first_ns").min())
    return LostPolls(spans, merged, owned_meanwhile(spans.filter("is_untold"), owners))


def lost_polls(history: pl.LazyFrame) -> LostPolls:
    """Return the lost polls of a whole history, with the sessions of the groups that have any."""
    rows = history.select(COLUMNS_READ)
    lost = lost_in(rows)
    if lost.is_empty():
        return put_together(lost, pl.DataFrame(schema=SESSIONS), pl.DataFrame(schema=OWNERS))
    return put_together(lost, sessions_in(rows), owners_in(rows))


def with_eras(history: pl.LazyFrame, lost: LostPolls) -> pl.LazyFrame:
    """Return the rows with two more columns that number the time between lost polls: `era` counts
    those of the row's group before the row, `own_era` those of the row's own process. Both may be
    null: the row overlaps such a poll, so that it belongs to no era. Rows without a group have 0 in
    both."""
    if lost.spans.is_empty():
        return history.with_columns(era=_number(0), own_era=_number(0))
    spans, places = _spans_of_places(lost)
    operation = ["group", "process", "session", "t_invoke_ns", "t_complete_ns"]
    if places.height:
        operation += ["topic", "partition"]
    asked = history.filter(IN_A_GROUP).select(operation).unique()
    told = collect(asked).with_columns(over_ns=pl.col("t_complete_ns").fill_null(NEVER))
    told = told.join(
        lost.sessions, on=["group", "process", "session"], how="left", nulls_equal=True
    ).with_columns(pl.col("first_ns").fill_null(pl.col("t_invoke_ns")), of=_number(0))
    if places.height:
        told = told.drop("of").join(places, on=PLACE, how="left")
        told = told.with_columns(pl.col("of").fill_null(0))
    for name, by, at, until, is_strict in (
        ("begun", ["group", "of"], "begun_ns", "over_ns", False),
        ("ended", ["group", "of"], "ended_ns", "first_ns", True),
        ("own_ended", ["group", "process", "of"], "ended_ns", "t_invoke_ns", False),
        ("own_ended_before", ["group", "process", "of"], "ended_ns", "first_ns", True),
        ("own_begun", ["group", "process", "of"], "begun_ns", "t_invoke_ns", True),
        ("own_begun_by_end", ["group", "process", "of"], "begun_ns", "over_ns", False),
    ):
        told = _counted(told, spans, name, by, at, until, is_strict)
    ended = pl.col("ended") + pl.col("own_ended") - pl.col("own_ended_before")
    era = pl.when(pl.col("begun") == ended).then("begun")
    own_era = pl.when(pl.col("own_begun") == pl.col("own_begun_by_end")).then("own_begun")
    found = told.select(*operation, era=era, own_era=own_era).lazy()
    return history.join(
        found, on=operation, how="left", nulls_equal=True, maintain_order="left"
    ).with_columns(
        pl.when(IN_A_GROUP).then(name).otherwise(_number(0)).alias(name)
        for name in ("era", "own_era")
    )


def _spans_of_places(lost: LostPolls) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the lost polls with a number (of): 0 for all of them, and for each partition of which
    some delivered nothing, its own number for all the others. And return those partitions with
    their numbers."""
    every = lost.spans.with_columns(of=_number(0))
    places = lost.elsewhere.select(PLACE).unique(maintain_order=True)
    places = places.with_columns(of=pl.int_range(1, pl.len() + 1, dtype=pl.Int32))
    others = (
        lost.spans.join(places, on="group")
        .join(lost.elsewhere, on=[*PLACE, "process", "begun_ns"], how="anti")
        .select(every.columns)
    )
    return pl.concat([every, others]), places


def _number(number: int) -> pl.Expr:
    return pl.lit(number, dtype=pl.Int32)


def _counted(
    told: pl.DataFrame,
    spans: pl.DataFrame,
    name: str,
    by: list[str],
    at: str,
    until: str,
    is_strict: bool,
) -> pl.DataFrame:
    """Return the rows, sorted by `until`, with a column `name`: the number of spans with the same
    `by` whose `at` is before the row's `until` (or at it, unless is_strict)."""
    so_far = spans.sort(at).select(*by, at, pl.int_range(1, pl.len() + 1).over(by).alias(name))
    return (
        told.sort(until)
        .join_asof(
            so_far,
            left_on=until,
            right_on=at,
            by=by,
            strategy="backward",
            allow_exact_matches=not is_strict,
            coalesce=False,
            check_sortedness=False,
        )
        .drop(at)
        .with_columns(pl.col(name).fill_null(0).cast(pl.Int32))
    )
