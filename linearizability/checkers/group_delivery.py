"""A group passes over no record: what its members commit past, one of them was given."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.history import Type
from linearizability.inferred_log import VISIBLE_COMMITTED, inferred_log
from linearizability.ingest import IS_DATA, IS_OK, IS_POLL, KEY
from linearizability.removals import still_there

GROUP = [*KEY, "group"]
MEMBERS_READ = IS_DATA & pl.col("group").is_not_null() & pl.col("member_id").is_not_null()
COUNTED = MEMBERS_READ & IS_OK & ~pl.col("lost_polls")
"""An ok poll of a subscribed member commits its positions. From the first poll on of which nobody
knows even from where it delivered, nothing is said of its group in any partition: whatever is
missing there may have been given to that poll. What was over before it began is judged."""
UNKNOWN_DELIVERY = (
    IS_POLL
    & pl.col("group").is_not_null()
    & (
        (pl.col("offset").is_null() & (pl.col("type") == Type.INFO.value))
        | (pl.col("offset").is_not_null() & pl.col("member_id").is_null())
    )
)
"""A poll that may have delivered anything; or one of a reader of the group whose positions were
not the group's (it was assigned, not subscribed): of what comes after it in this partition nothing
is said."""


class GroupDelivery(Checker):
    """A visible record between two that successful polls of subscribed members were given, which no
    poll of any member, successful or not, was given.

    Between two committed positions a group goes forward through the log, whoever its members are; a
    final read that does not belong to the group proves nothing for it. Visible: plain, committed,
    or given to some read_committed reader. Source: docs, design#theconsumer (position, committed
    offsets). Counted: records that successful polls of members were given.
    """

    name: ClassVar[str] = "group_delivery"
    title: ClassVar[str] = "a consumer group passes over no visible record"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.GROUP_READS})
    counted_under: ClassVar[frozenset[Needs]] = needs
    whole: ClassVar[str] = "how far a group went, and the log below"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        reach = (
            judged(events)
            .sort("offset", "op_id")
            .group_by(GROUP)
            .agg(
                low=pl.col("offset").first(),
                low_op=pl.col("op_id").first(),
                high=pl.col("offset").last(),
                high_op=pl.col("op_id").last(),
            )
        )
        log = still_there(inferred_log(events), events).filter(
            VISIBLE_COMMITTED & pl.col("control").is_null() & pl.col("value").is_not_null()
        )
        given = events.filter(MEMBERS_READ).select(*GROUP, "offset").unique()
        found = (
            log.join(reach, on=KEY)
            .filter((pl.col("low") < pl.col("offset")) & (pl.col("offset") < pl.col("high")))
            .join(given, on=[*GROUP, "offset"], how="anti")
        )
        message = pl.format(
            "group {} was given offsets {} and {}, but no member was ever given {} at offset {}",
            "group", "low", "high", "value", "offset",
        )  # fmt: skip
        operations = ["low_op", "high_op", "op_id"]
        return describe(found, KEY, "group-skip", operations, message)

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(judged(events))


def judged(events: pl.LazyFrame) -> pl.LazyFrame:
    """What successful polls of members were given, as long as all that the group did is known."""
    unknown = events.filter(UNKNOWN_DELIVERY).group_by(GROUP).agg(since_ns=pl.min("t_invoke_ns"))
    is_before = (pl.col("t_complete_ns") < pl.col("since_ns")).fill_null(False)
    return (
        events.filter(COUNTED)
        .join(unknown, on=GROUP, how="left")
        .filter(pl.col("since_ns").is_null() | is_before)
        .drop("since_ns")
    )
