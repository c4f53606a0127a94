"""A group skips no record: each record below a committed position was delivered to one of its
members."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.evidence.removals import still_there
from linearizability.history import F, Type
from linearizability.ingest import IS_DATA, IS_OK, KEY
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


class GroupDelivery(Checker):
    """A visible record was skipped: successful polls of subscribed members delivered a record
    before it and one after it, but no poll of any member, successful or not, delivered it.

    Between two committed positions a group goes forward through the log, whatever its members are;
    a final read outside of the group proves nothing about it. A record is visible if it is plain,
    committed, or was received by some read_committed reader. A poll of unknown result explains
    records that are missing between those before and after it (`lost_polls`), and no others.
    Records that a member skips by a seek, or an operator by a commit for the group, need not be
    delivered. Source: docs, design#theconsumer
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
            .sort("low_op", "high_op")
            .unique([*GROUP, "offset", "value"], keep="first", maintain_order=True)
        )
        found = not_sought_over(found, events)
        message = pl.format(
            "group {} received offsets {} and {}, but no member ever received record {} at offset "
            "{}",
            "group",
            "low",
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
    """Return the records without those that a member skipped by a seek, or an operator by a commit:
    the ones between the group's last record before that and the new position."""
    seeks = events.filter(IS_SEEK | IS_RESET).select(*GROUP, sought="offset", seek_op="op_id")
    given = (
        events.filter(COUNTED)
        .join(seeks.select(GROUP).unique(), on=GROUP, how="semi")
        .sort("op_id")
        .select(*GROUP, "op_id", before=pl.col("offset").cum_max().over(GROUP))
    )
    over = seeks.sort("seek_op").join_asof(
        given,
        left_on="seek_op",
        right_on="op_id",
        by=GROUP,
        strategy="backward",
        check_sortedness=False,
    )
    before = pl.col("before").fill_null(-1)
    sought_over = (
        records.join(over.select(*GROUP, "sought", before=before), on=GROUP)
        .filter((pl.col("before") < pl.col("offset")) & (pl.col("offset") < pl.col("sought")))
        .select(*GROUP, "offset")
        .unique()
    )
    return records.join(sought_over, on=[*GROUP, "offset"], how="anti")


def reaches(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the lowest and highest offset that each group received without a lost poll between,
    with their operations: low, low_op, high, high_op."""
    given = events.filter(COUNTED)
    # Rows of no era still follow those of their own session.
    apart = given.filter(pl.col("era").is_null()).select(IN_ONE_SESSION).unique()
    together = given.join(apart, on=IN_ONE_SESSION, how="semi", nulls_equal=True)
    found = [
        _ends(given.filter(pl.col("era").is_not_null()), [*GROUP, "era"]),
        _ends(together.filter(pl.col("own_era").is_not_null()), IN_ONE_SESSION),
    ]
    return pl.concat([rows.select(*GROUP, "low", "low_op", "high", "high_op") for rows in found])


def _ends(given: pl.LazyFrame, of: list[str]) -> pl.LazyFrame:
    return (
        given.sort("offset", "op_id")
        .group_by(of)
        .agg(
            low=pl.col("offset").first(),
            low_op=pl.col("op_id").first(),
            high=pl.col("offset").last(),
            high_op=pl.col("op_id").last(),
        )
    )
