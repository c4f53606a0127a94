"""Find the partitions that a member of a classic group certainly owned, and until when.

A member that received a partition in a generation owns it in that generation, and so does nobody
else. It reports each assignment once its client knows it (rows owned), which may be late: by then
the group may have removed the member. But if it reports the partition in the next generation, too,
under the same member id, it owned it in both. And a commit that was accepted in a generation shows
that no later one had begun when the commit was invoked. So nobody else owned the partition from the
first report until the last such commit.

Members of the protocol of KIP-848 report no generation, so nothing is known about their partitions.
"""

from __future__ import annotations

import polars as pl

from linearizability.history import F, Type
from linearizability.plans import collect

OWNERS = pl.Schema(
    {
        "f": pl.String,
        "group": pl.String,
        "process": pl.Int32,
        "member_id": pl.String,
        "generation": pl.Int32,
        "topic": pl.String,
        "partition": pl.Int32,
        "at_ns": pl.Int64,
    }
)
"""The columns of what is known about owners. at_ns: for an assignment, when it was reported; for
other rows, when the operation was invoked."""
COLUMNS_READ = (*(name for name in OWNERS if name != "at_ns"), "type", "t_invoke_ns")
MEMBER = ["group", "member_id", "process"]
PLACE = ["group", "topic", "partition"]
_OWNED = pl.col("f") == F.OWNED.value
_COMMIT = pl.col("f").is_in([F.COMMIT_OFFSETS.value, F.SEND_OFFSETS.value])
_READER = pl.col("f").is_in([F.SUBSCRIBE.value, F.ASSIGN.value])


def owners_in(history: pl.LazyFrame) -> pl.DataFrame:
    """Return the assignments and accepted commits of members among these rows, and which processes
    subscribe or assign partitions to themselves, with the columns OWNERS."""
    is_told = (
        pl.all_horizontal(pl.col(*MEMBER, "topic", "partition").is_not_null())
        & (pl.col("generation") >= 0)
        & (pl.col("type") == Type.OK.value)
    )
    at_ns = pl.when(_OWNED).then(pl.coalesce("t_complete_ns", "t_invoke_ns"))
    return collect(
        history.filter(((_OWNED | _COMMIT) & is_told) | _READER)
        .with_columns(at_ns=at_ns.otherwise("t_invoke_ns"))
        .select(pl.col(name).cast(dtype) for name, dtype in OWNERS.items())
        .unique()
    )


def owned_meanwhile(lost: pl.DataFrame, owners: pl.DataFrame) -> pl.DataFrame:
    """Return group, topic, partition, process, begun_ns of each of the lost polls (`lost_polls`)
    and each partition that another process owned from its beginning to its end. A process counts if
    it subscribes to the group, and never assigns partitions to itself."""
    assigns = owners.filter(f=F.ASSIGN.value).select("process")
    members = owners.filter(f=F.SUBSCRIBE.value).select("group", "process").unique()
    told = lost.join(members, on=["group", "process"], how="semi")
    told = told.join(assigns, on="process", how="anti")
    return (
        told.join(_stretches(owners), on="group", suffix="_owner")
        .filter(pl.col("process") != pl.col("process_owner"))
        .filter(pl.col("since_ns") < pl.col("begun_ns"), pl.col("ended_ns") <= pl.col("until_ns"))
        .select(*PLACE, "process", "begun_ns")
        .unique()
    )


def _stretches(owners: pl.DataFrame) -> pl.DataFrame:
    """Return group, topic, partition, process, since_ns, until_ns: the times in which a process
    certainly owned a partition."""
    generations = (
        owners.filter(_OWNED)
        .group_by(*MEMBER, "topic", "partition", "generation")
        .agg(since_ns=pl.col("at_ns").min())
        .sort(*MEMBER, "topic", "partition", "generation")
    )
    own = [*MEMBER, "topic", "partition"]
    is_first = (pl.col("generation") - pl.col("generation").shift(1) != 1).over(own).fill_null(True)
    commits = owners.filter(_COMMIT).group_by(*MEMBER, "generation")
    return (
        generations.with_columns(stretch=is_first.cum_sum().over(own))
        .join(commits.agg(until_ns=pl.col("at_ns").max()), on=[*MEMBER, "generation"], how="left")
        .group_by(*own, "stretch")
        .agg(pl.col("since_ns").min(), pl.col("until_ns").max())
        .filter(pl.col("until_ns").is_not_null())
        .select(*PLACE, "process", "since_ns", "until_ns")
    )
