"""Within one assignment a consumer goes forward only."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.ingest import HAS_RECORD, KEY

READER = [*KEY, "process", "session", "replica", "isolation"]
"""One reader with one run of positions. Seeks, rebalances, resets and the process's own failed
operations begin a new session (history.COLUMNS, `session`)."""


def steps(events: pl.LazyFrame) -> pl.LazyFrame:
    """Each record read with the one that the same reader was given before: before, before_op.

    The rows of a history stand in the order of operations (`checkers.base`)."""
    return (
        events.filter(HAS_RECORD)
        .select(*READER, "op_id", "record_index", "offset", "value")
        .with_columns(
            before=pl.col("offset").shift(1).over(READER),
            before_op=pl.col("op_id").shift(1).over(READER),
        )
        .filter(pl.col("before").is_not_null())
    )


class PollOrder(Checker):
    """A reader is given an offset at or below the one it was given before, in one session.

    Source: docs, design#theconsumer (position); KafkaConsumer, "Offsets and Consumer Position".
    Jepsen: nonmonotonic-poll and its internal twin. Counted: records read after another.
    """

    name: ClassVar[str] = "poll_order"
    title: ClassVar[str] = "a consumer does not go back or repeat"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.READS})

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        found = steps(events).filter(pl.col("offset") <= pl.col("before"))
        repeats = pl.col("offset") == pl.col("before")
        kind = pl.when(repeats).then(pl.lit("poll-repeats")).otherwise(pl.lit("poll-goes-back"))
        message = pl.format(
            "process {}, session {} was given offset {} after {}",
            "process",
            pl.col("session").cast(pl.String).fill_null("-"),
            "offset",
            "before",
        )
        return describe(found, KEY, kind, ["before_op", "op_id"], message)

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(steps(events))
