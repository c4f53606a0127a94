"""Within one assignment a consumer skips no record that exists."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.inferred_log import VISIBLE_COMMITTED, inferred_log
from linearizability.ingest import IS_DATA, KEY
from linearizability.readers import steps
from linearizability.removals import still_there

READ_UNCOMMITTED = "read_uncommitted"


class PollSkips(Checker):
    """A reader goes from one offset to a later one over a record which it should have been given.

    Which records exist is known from the inferred log. For read_committed (and where the isolation
    is not recorded): plain and committed records, and what another read_committed reader was given.
    For read_uncommitted: every record that somebody was given, or that was acknowledged.
    Control records, aborted records and everything below the log start may be passed over.
    Source: KafkaConsumer, "Offsets and Consumer Position"; KIP-98. Jepsen: poll-skip and its
    internal twin. Counted: records read after another.
    """

    name: ClassVar[str] = "poll_skips"
    title: ClassVar[str] = "a consumer passes over no visible record"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.READS})
    whole: ClassVar[str] = "the log between two polls"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        log = still_there(inferred_log(events), events).filter(
            pl.col("control").is_null() & pl.col("value").is_not_null()
        )
        uncommitted = (pl.col("isolation") == READ_UNCOMMITTED).fill_null(False)
        jumps = steps(events).filter(pl.col("offset") > pl.col("before") + 1)
        found = pl.concat(
            [
                passed_over(jumps.filter(uncommitted), log),
                passed_over(jumps.filter(~uncommitted), log.filter(VISIBLE_COMMITTED)),
            ]
        )
        message = pl.format(
            "process {}, session {} was given offset {} after {}, but not {} at offset {}",
            "process",
            pl.col("session").cast(pl.String).fill_null("-"),
            "offset",
            "before",
            "skipped_value",
            "skipped_offset",
        )
        operations = ["before_op", "op_id", "skipped_op"]
        return describe(found, KEY, "poll-skip", operations, message)

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(steps(events.filter(IS_DATA)))


def passed_over(jumps: pl.LazyFrame, log: pl.LazyFrame) -> pl.LazyFrame:
    """The jumps with an entry of the log strictly inside, with the first such entry."""
    entries = (
        log.sort("offset", "value")
        .unique([*KEY, "offset"], keep="first", maintain_order=True)
        .select(
            *KEY,
            next_offset="offset",
            skipped_offset="offset",
            skipped_value="value",
            skipped_op="op_id",
        )
        .sort("next_offset")
    )
    jump = [*KEY, "before", "offset"]
    over = (
        jumps.select(jump)
        .unique()  # readers make the same jumps: over a marker, over an aborted transaction
        .with_columns(wanted=pl.col("before") + 1)
        .sort("wanted")
        .join_asof(
            entries, left_on="wanted", right_on="next_offset", by=KEY, strategy="forward",
            check_sortedness=False,
        )
        .filter(pl.col("skipped_offset") < pl.col("offset"))
        .select(*jump, "skipped_offset", "skipped_value", "skipped_op")
    )  # fmt: skip
    return jumps.join(over, on=jump)
