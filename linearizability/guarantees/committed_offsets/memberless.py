"""Commits in the name of no member that were accepted while the group had a member."""

from __future__ import annotations

import polars as pl

from linearizability.bounds import NEVER
from linearizability.guarantees.committed_offsets.generations import COMMITTED, OF_GENERATION
from linearizability.guarantees.committed_offsets.latest import OF_GROUP
from linearizability.history import NO_GENERATION
from linearizability.ingest import IS_DELETION, IS_OK

WITHOUT_MEMBER = (
    COMMITTED
    & IS_OK
    & ~IS_DELETION
    & pl.col("txn").is_null()
    & (pl.col("generation") == NO_GENERATION).fill_null(False)
    & pl.col("t_complete_ns").is_not_null()
)


def beside_a_member(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the accepted commits without a member for which the member commits next to them, the
    last one before (before_op) and the first one after (after_op), are of one member and
    generation: the group had this member all the time. A deletion in between excuses a commit: a
    deleted group had no member, and its epochs begin with 1 again."""
    commits = events.filter(WITHOUT_MEMBER).select(
        *OF_GROUP, "op_id", "t_invoke_ns", "t_complete_ns"
    )
    member = ("member_id", "generation")
    by_members = events.filter(OF_GENERATION & pl.col("member_id").is_not_null())
    before = by_members.select(
        *OF_GROUP, *member, before_op="op_id", before_ns="t_complete_ns"
    ).sort("before_ns", "before_op")
    after = by_members.select(
        *OF_GROUP,
        *(pl.col(column).alias(f"next_{column}") for column in member),
        after_op="op_id",
        after_ns="t_invoke_ns",
        over_ns="t_complete_ns",
    ).sort("after_ns", "after_op", descending=[False, True])
    found = (
        commits.sort("t_invoke_ns")
        .join_asof(
            before,
            left_on="t_invoke_ns",
            right_on="before_ns",
            by=OF_GROUP,
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .sort("t_complete_ns")
        .join_asof(
            after,
            left_on="t_complete_ns",
            right_on="after_ns",
            by=OF_GROUP,
            strategy="forward",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .filter(pl.all_horizontal(pl.col(column) == pl.col(f"next_{column}") for column in member))
    )
    return found.join(_across_deletions(found, events), on=[*OF_GROUP, "op_id"], how="anti")


def _across_deletions(found: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    deletions = events.filter(COMMITTED & IS_DELETION).select(
        *OF_GROUP, deleted_ns="t_invoke_ns", until_ns=pl.col("t_complete_ns").fill_null(NEVER)
    )
    return found.join(deletions, on=OF_GROUP).filter(
        (pl.col("until_ns") >= pl.col("before_ns")) & (pl.col("deleted_ns") < pl.col("over_ns"))
    )
