"""Leader epochs do not decrease along a log."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.ingest import KEY
from linearizability.reads.inferred_log import PROVEN_POLL

BATCH = PROVEN_POLL & pl.col("producer_id").is_not_null() & (pl.col("leader_epoch") >= 0)
"""The condition on rows that have the header of their batch; there, `leader_epoch` is that of the
leader that wrote the batch."""


class LeaderEpochs(Checker):
    """A record read raw was written under an older leader epoch than one at a lower offset.

    A leader stamps what it appends with its epoch, and a new leader's epoch is higher. Source:
    KIP-101, "Leader Epoch"; LeaderEpochFileCache. Counted: records read raw after another.
    """

    name: ClassVar[str] = "leader_epochs"
    title: ClassVar[str] = "leader epochs do not decrease along a log"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.BATCH_HEADERS})
    counted_under: ClassVar[frozenset[Needs]] = needs
    whole: ClassVar[str] = "the record before each"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        found = along_the_log(events).filter(pl.col("leader_epoch") < pl.col("before"))
        message = pl.format(
            "offset {} has leader epoch {}, but offset {} before it has the newer epoch {}",
            "offset",
            "leader_epoch",
            "offset_before",
            "before",
        )
        return describe(found, KEY, "epoch-goes-back", ["op_before", "op_id"], message, "broker")

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(along_the_log(events))


def along_the_log(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return each pair (offset, epoch) once, with the pair before it in the log."""
    return (
        events.filter(BATCH)
        .group_by(*KEY, "offset", "leader_epoch")
        .agg(pl.col("op_id").min())
        .sort(*KEY, "offset", "leader_epoch")
        .with_columns(
            before=pl.col("leader_epoch").shift(1).over(KEY),
            offset_before=pl.col("offset").shift(1).over(KEY),
            op_before=pl.col("op_id").shift(1).over(KEY),
        )
        .filter(pl.col("before").is_not_null())
    )
