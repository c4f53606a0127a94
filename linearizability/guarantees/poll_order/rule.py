"""Within one assignment a consumer receives increasing offsets."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Cut, Needs, Scope, describe
from linearizability.ingest import KEY
from linearizability.plans import once
from linearizability.reads.readers import walked


class PollOrder(Checker):
    """A reader receives an offset at or below the one that it received before, in one session.

    Source: docs, design#theconsumer (position); KafkaConsumer, "Offsets and Consumer Position".
    Jepsen: nonmonotonic-poll and its internal twin. Counted: records that a reader received after
    another one.
    """

    name: ClassVar[str] = "poll_order"
    title: ClassVar[str] = "a consumer receives offsets in increasing order, none twice"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.READS})
    cut: ClassVar[Cut | None] = Cut.PROCESS

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        found = once(walked, events).back.lazy()
        repeats = pl.col("offset") == pl.col("before")
        kind = pl.when(repeats).then(pl.lit("poll-repeats")).otherwise(pl.lit("poll-goes-back"))
        message = pl.format(
            "process {}, session {} received offset {} after offset {}",
            "process",
            pl.col("session").cast(pl.String).fill_null("-"),
            "offset",
            "before",
        )
        return describe(found, KEY, kind, ["before_op", "op_id"], message)

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return pl.LazyFrame({"checked": [once(walked, events).total]}, {"checked": pl.Int64})
