"""A group skips no record: each record below a committed position was delivered to one of its
members."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.evidence.removals import still_there
from linearizability.history import F, Type
from linearizability.ingest import COMMITTED, IS_DATA, IS_OK, KEY
from linearizability.reads.inferred_log import VISIBLE_COMMITTED, inferred_log

GROUP = [*KEY, "group"]
IN_ONE_SESSION = [*GROUP, "process", "session", "own_era"]
MEMBERS_READ = IS_DATA & pl.col("group").is_not_null() & pl.col("member_id").is_not_null()
COUNTED = MEMBERS_READ & IS_OK
"""The condition on records in successful polls of subscribed members. After such a record the group
must continue without a gap."""
IS_SEEK = (
    IS_OK
    & (pl.col("f") == F.POSITION.value)
    & pl.col("group").is_not_null()
    & pl.col("asked").is_in(["offset", "timestamp"])
    & pl.col("offset").is_not_null()
)
"""The condition on a row in which a member set its position itself, by a seek."""
IS_RESET = (
    (pl.col("f") == F.COMMIT_OFFSETS.value)
    & (pl.col("type") != Type.FAIL.value)
    & pl.col("txn").is_null()
    & pl.col("group").is_not_null()
    & pl.col("member_id").is_null()
    & pl.col("offset").is_not_null()
)
"""The condition on a row in which someone outside of the group, an operator, set its position."""
BY_MEMBER = IS_OK & pl.col("group").is_not_null() & pl.col("member_id").is_not_null()
IS_START = BY_MEMBER & (pl.col("f") == F.POSITION.value) & pl.col("offset").is_not_null()
IS_AT_END = IS_START & (pl.col("asked") == "latest").fill_null(False)
"""The condition on a row in which a member of a group without a position went to the log's end
(auto.offset.reset)."""
PASSES_OVER = IS_SEEK | IS_RESET | IS_AT_END
"""The condition on a row that lets the group leave out the records below its new position."""
BEGINS = IS_START & pl.col("asked").is_in(["earliest", "committed"]).fill_null(False)
"""The condition on a row by which the group must receive every record from the row's offset on."""
IS_PASSED = BY_MEMBER & (
    ((pl.col("f") == F.COMMIT_OFFSETS.value) & pl.col("txn").is_null())
    | ((pl.col("f") == F.SEND_OFFSETS.value) & (pl.col("txn_outcome") == COMMITTED))
).fill_null(False)
"""The condition on a row that commits a position of the group."""


class GroupDelivery(Checker):
    """A visible record was skipped: the group was known to stand before it, and later behind it,
    but no poll of any member, successful or not, delivered it. The group stands before it if a
    successful poll of a subscribed member delivered a lower offset, or if a member began at or
    below it, at the log start or at the committed offset. It stands behind it if a poll delivered a
    higher offset, or if the group's committed offset is higher: one that a member committed, by
    itself or in a transaction that committed, or at which one began.

    Between two committed positions a group goes forward through the log, whatever its members are;
    a final read outside of the group proves nothing about it. A record is visible if it is plain,
    committed, or was received by some read_committed reader. A poll of unknown result explains
    records that are missing between those before and after it (`lost_polls`), and no others.
    Records that a member skips by a seek, or because it began at the log's end, or an operator by a
    commit for the group, need not be delivered. Source: docs, design#theconsumer
    (position, committed offsets). Counted: records in successful polls of members.
    """

    name: ClassVar[str] = "group_delivery"
    title: ClassVar[str] = "a consumer group skips no visible record"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.GROUP_READS})
    counted_under: ClassVar[frozenset[Needs]] = needs
    whole: ClassVar[str] = "how far a group went, and the log below"
    excuse: ClassVar[str] = "received around the end of a poll of unknown result"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        reach = reaches(events)
        log = still_there(inferred_log(events), events).filter(
            VISIBLE_COMMITTED & pl.col("control").is_null() & pl.col("value").is_not_null()
        )
        given = events.filter(MEMBERS_READ).select(*GROUP, "offset").unique()
        found = (
            log.join(reach, on=KEY)
            .filter((pl.col("low") < pl.col("offset")) & (pl.col("offset") < pl.col("high")))
            .join(given, on=[*GROUP, "offset"], how="anti")
        )
        found = (
            not_lost_before(found, events)
            .sort("low_op", "high_op")
            .unique([*GROUP, "offset", "value"], keep="first", maintain_order=True)
        )
        found = not_sought_over(found, events)
        message = pl.format(
            "group {} went from {} to offset {}, but no member ever received record {} "
            "at offset {}",
            "group",
            pl.when(pl.col("low") < 0)
            .then(pl.lit("the start of the log"))
            .otherwise(pl.format("offset {}", "low")),
            "high",
            "value",
            "offset",
        )
        operations = ["low_op", "high_op", "op_id"]
        return describe(found, KEY, "group-skip", operations, message)

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(events.filter(COUNTED & pl.col("era").is_not_null()))

    def excused(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(events.filter(COUNTED & pl.col("era").is_null()))


def not_sought_over(records: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records without those that the group may leave out: the ones between its position
    before a move (PASSES_OVER) and the one after it. The position before is the highest offset that
    the group had received since the former move, or where that move had led."""
    moves = events.filter(PASSES_OVER).select(
        *GROUP, "op_id", reached=pl.col("offset") - 1, sought="offset"
    )
    given = events.filter(COUNTED).join(moves.select(GROUP).unique(), on=GROUP, how="semi")
    in_order = (
        # Records of the same operation come first.
        pl.concat([given.select(*GROUP, "op_id", reached="offset"), moves], how="diagonal")
        .sort("op_id", pl.col("sought").is_not_null(), "sought", maintain_order=True)
        .with_columns(moved=pl.col("sought").is_not_null().cum_sum().over(GROUP))
        .with_columns(reached=pl.col("reached").cum_max().over(*GROUP, "moved"))
        .with_columns(before=pl.col("reached").shift(1).over(GROUP).fill_null(-1))
    )
    sought_over = (
        records.join(in_order.select(*GROUP, "sought", "before").drop_nulls("sought"), on=GROUP)
        .filter((pl.col("before") < pl.col("offset")) & (pl.col("offset") < pl.col("sought")))
        .select(*GROUP, "offset")
        .unique()
    )
    return records.join(sought_over, on=[*GROUP, "offset"], how="anti")


def not_lost_before(records: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records without those that a lost poll may have delivered before a member went
    back. Only records compared over an era (over_an_era) are removed: the ones between the highest
    offset that the group had received up to an era and the first higher one that it received later.
    A member that goes back receives lower records again, so that the lowest offset of the group in
    the later era is below what was lost."""
    given = events.filter(COUNTED & pl.col("era").is_not_null())
    of_eras = (
        given.group_by(*GROUP, "era")
        .agg(pl.col("offset").max().alias("until"))
        .sort(*GROUP, "era")
        .with_columns(pl.col("until").cum_max().over(GROUP))
    )
    lost = (
        of_eras.join(given.select(*GROUP, "op_id", "offset", later="era"), on=GROUP)
        .filter((pl.col("later") > pl.col("era")) & (pl.col("offset") > pl.col("until")))
        .sort("op_id", "offset")
        .group_by(*GROUP, "until")
        .agg(after=pl.col("offset").first())
    )
    delivered = (
        records.join(lost, on=GROUP)
        .filter(pl.col("offset").is_between("until", "after", closed="none"))
        .select(*GROUP, "offset", over_an_era=pl.lit(True))
        .unique()
    )
    return records.join(delivered, on=[*GROUP, "offset", "over_an_era"], how="anti")


def reaches(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the lowest offset behind which each group must have received everything, and the
    highest to which it went, with their operations: low, low_op, high, high_op. One row for each
    time between lost polls (over_an_era) or, where rows overlap a lost poll, for each session.
    Groups that received nothing of a partition are left out: they may only keep a position
    there."""
    started_at = pl.when(BEGINS & (pl.col("asked") == "committed")).then("asked_offset")
    readers = events.filter(COUNTED).select(GROUP).unique()
    told = (
        events.filter(COUNTED | BEGINS | IS_PASSED)
        .join(readers, on=GROUP, how="semi")
        .select(
            *IN_ONE_SESSION,
            "era",
            "op_id",
            low=pl.when(COUNTED).then("offset").when(BEGINS).then(pl.col("offset") - 1),
            high=pl.when(COUNTED | IS_PASSED).then("offset").otherwise(started_at),
        )
    )
    # Rows that overlap a lost poll have no era. They are compared with their own session only.
    apart = told.filter(pl.col("era").is_null()).select(IN_ONE_SESSION).unique()
    together = told.join(apart, on=IN_ONE_SESSION, how="semi", nulls_equal=True)
    return pl.concat(
        [
            _ends(told.filter(pl.col("era").is_not_null()), [*GROUP, "era"], over_an_era=True),
            _ends(
                together.filter(pl.col("own_era").is_not_null()), IN_ONE_SESSION, over_an_era=False
            ),
        ]
    )


def _ends(told: pl.LazyFrame, of: list[str], *, over_an_era: bool) -> pl.LazyFrame:
    is_low, is_high = pl.col("low") == pl.col("low").min(), pl.col("high") == pl.col("high").max()
    return (
        told.group_by(of)
        .agg(
            pl.col("low").min(),
            pl.col("high").max(),
            low_op=pl.col("op_id").filter(is_low).min(),
            high_op=pl.col("op_id").filter(is_high).max(),
        )
        .drop_nulls(["low", "high"])
        .select(*GROUP, "low", "low_op", "high", "high_op", over_an_era=pl.lit(over_an_era))
    )
