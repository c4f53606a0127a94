"""The commits of a group's generations, and those that came too late for theirs."""

from __future__ import annotations

import polars as pl

from linearizability.bounds import NEVER
from linearizability.evidence.removals import setting
from linearizability.guarantees.committed_offsets.latest import OF_GROUP, with_largest
from linearizability.history import F, Type
from linearizability.ingest import ABORTED, IS_DELETION, IS_OK, TOLD_COMMIT

COMMITTED = (
    pl.col("f").is_in([F.COMMIT_OFFSETS.value, F.SEND_OFFSETS.value])
    & (pl.col("type") != Type.FAIL.value)
    & (pl.col("offset").is_not_null() | IS_DELETION)
    & pl.col("group").is_not_null()
    & (pl.col("txn_outcome") != ABORTED).fill_null(True)
)
IN_FORCE = IS_OK & pl.col("txn").is_null() & pl.col("t_complete_ns").is_not_null()
"""The condition on a commit that is in force from its acknowledgement on, until a later one."""
OF_ACKNOWLEDGED_TRANSACTION = (
    COMMITTED
    & IS_OK
    & (pl.col("told") == TOLD_COMMIT).fill_null(False)
    & pl.col("t_complete_ns").is_not_null()
    & pl.col("end_ns").is_not_null()
)
"""The condition on offsets that are in force when their transaction has ended."""
OF_GENERATION = COMMITTED & IN_FORCE & (pl.col("generation") >= 0).fill_null(False)
OWNED = (
    (pl.col("f") == F.OWNED.value)
    & IS_OK
    & pl.col("topic").is_not_null()
    & pl.col("group").is_not_null()
    & pl.col("member_id").is_not_null()
    & (pl.col("generation") >= 0).fill_null(False)
    & pl.col("t_complete_ns").is_not_null()
)
UNSURE_OF_GENERATION = (
    COMMITTED & ~IS_OK & pl.col("txn").is_null() & (pl.col("generation") >= 0).fill_null(False)
)
"""The condition on a commit of unknown outcome whose generation is known."""


def of_older_generations(events: pl.LazyFrame, which: pl.Expr = OF_GENERATION) -> pl.LazyFrame:
    """Return the commits that meet `which` (by default the accepted ones) and came too late:
    after a commit of a newer generation was accepted, or after a member reported that it owned the
    partition in a newer generation (if the committing member has ever reported that, too). Return
    each once, with the newest such generation and its first operation (newest, newest_op).

    Where members are known, only rows of other members count: under KIP-848 a member may use an
    older epoch of its own if it already had the partition in it (KIP-1251). Own rows count for
    classic members. A deletion in between excuses a commit: the generations of a deleted group
    begin with 1 again."""
    columns = (*OF_GROUP, "op_id", "member_id", "generation", "t_invoke_ns", "t_complete_ns")
    commits = events.filter(which).select(columns)
    accepted = events.filter(OF_GENERATION).select(columns, by_owner=pl.lit(False))
    owned = events.filter(OWNED).select(columns, by_owner=pl.lit(True))
    first = (
        pl.concat([accepted, owned])
        .sort("t_complete_ns", "op_id")
        .group_by(*OF_GROUP, "generation", "member_id", "by_owner", maintain_order=True)
        .agg(accepted_ns=pl.col("t_complete_ns").first(), newest_op=pl.col("op_id").first())
    )
    newer = first.rename({"generation": "newest", "member_id": "other"})
    known = newer.rename({"accepted_ns": "since_ns"}).sort("since_ns")
    late = (
        with_largest(commits, "t_invoke_ns", known, "newest")
        .filter(pl.col("generation") < pl.col("newest"))
        .drop("newest")
    )
    by_other = (pl.col("other") != pl.col("member_id")).fill_null(True)
    is_classic = pl.col("is_classic").fill_null(False)
    found = (
        late.join(newer, on=OF_GROUP)
        .join(classic_members(events), on=[*OF_GROUP, "member_id"], how="left")
        .filter(
            (pl.col("newest") > pl.col("generation"))
            & (pl.col("accepted_ns") < pl.col("t_invoke_ns"))
            & (by_other | is_classic)
            & (~pl.col("by_owner") | pl.col("is_classic").is_not_null())
        )
    )
    return (
        found.join(
            _across_deletions(found, events), on=[*OF_GROUP, "op_id", "newest_op"], how="anti"
        )
        .sort("newest", "accepted_ns", "newest_op", descending=[True, False, False])
        .unique([*OF_GROUP, "op_id"], keep="first", maintain_order=True)
    )


def _across_deletions(late: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the pairs of a late commit and a newer one, rows of `late`, between which the group's
    position was, or may have been, deleted; once for each deletion. A coordinator refuses to delete
    offsets of a group with members (KIP-496, KIP-229)."""
    deletions = events.filter(COMMITTED & IS_DELETION).select(
        *OF_GROUP, begun_ns="t_invoke_ns", over_ns=pl.col("t_complete_ns").fill_null(NEVER)
    )
    return late.join(deletions, on=OF_GROUP).filter(
        (pl.col("over_ns") >= pl.col("accepted_ns"))
        & (pl.col("begun_ns") < pl.coalesce("t_complete_ns", "t_invoke_ns"))
    )


def classic_members(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return each member that reported its settings with a partition that it owned, once for each
    such partition and group. is_classic: true if all these reports name the classic protocol, false
    if one names another, null if some name none and the others the classic one."""
    told = (pl.col("f") == F.OWNED.value) & pl.col("settings").is_not_null()
    return (
        events.filter(told & pl.col("member_id").is_not_null())
        .group_by(*OF_GROUP, "member_id")
        .agg(is_classic=(setting("group.protocol") == "classic").all(ignore_nulls=False))
    )


def of_replaced_owners(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the accepted commits that a member invoked after another member of its generation had
    committed (other_op), if that commit was itself invoked after the member's first one was
    answered. Of several such commits of others, other_op is the one answered first."""
    commits = events.filter(OF_GENERATION & pl.col("member_id").is_not_null()).select(
        *OF_GROUP, "op_id", "generation", "member_id", "t_invoke_ns", "t_complete_ns"
    )
    owned = [*OF_GROUP, "generation"]
    first = commits.group_by(*owned, "member_id").agg(first_ns=pl.col("t_complete_ns").min())
    others = commits.select(
        *owned,
        other="member_id",
        other_op="op_id",
        other_ns="t_invoke_ns",
        other_over_ns="t_complete_ns",
    )
    # For each pair of members, keep the second one's earliest commit after the first one's first.
    between = (
        first.join(others, on=owned)
        .filter(
            (pl.col("member_id") != pl.col("other")) & (pl.col("first_ns") < pl.col("other_ns"))
        )
        .sort("other_over_ns", "other_op")
        .unique([*owned, "member_id"], keep="first", maintain_order=True)
    )
    return commits.join(between, on=[*owned, "member_id"]).filter(
        pl.col("other_over_ns") < pl.col("t_invoke_ns")
    )
