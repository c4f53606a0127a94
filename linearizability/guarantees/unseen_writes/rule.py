"""By the end of the final read every acknowledged record was delivered."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.ingest import COMMITTED, IS_DECIDED, IS_OK, IS_SEND, KEY, PLAIN
from linearizability.reads.final_reads import expected, unseen

ACKS_ALL = IS_SEND & IS_OK & (pl.col("acks") == -1) & pl.col("value").is_not_null()
VOUCHED = ACKS_ALL & (
    (pl.col("outcome") == COMMITTED)
    | ((pl.col("outcome") == PLAIN) & pl.col("offset").is_not_null())
)
"""The condition on sends that must be delivered: plain ones with an offset, and those of a
transaction whose commit proves them, even without a known offset."""
TOLD = VOUCHED & ~IS_DECIDED
"""The condition on such sends, without those of transactions that only another record shows to be
committed (`torn_transactions` reports these)."""


class UnseenWrites(Checker):
    """A record was acknowledged under acks=all before a complete read began, and lies within what
    that read covered, but no successful poll delivered it. The record is plain and has an offset,
    or its transaction committed. (If only another record shows that it committed, see
    `torn_transactions`.)

    A complete read covers [log start, high watermark), under read_committed up to the last stable
    offset (`final_reads.whole_reads`). A read without a high watermark covers everything (imported
    Jepsen histories mark their complete reads in this way). If a consumer did the read, deliveries
    to raw readers do not count: a record that only they saw is late, any other is lost. Source:
    docs, design#replication. Jepsen: unseen. Counted: records acknowledged before a complete read
    that covers them.
    """

    name: ClassVar[str] = "unseen_writes"
    title: ClassVar[str] = "an acknowledged record is delivered by the end of the final read"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.SENDS, Needs.WHOLE_READS})
    whole: ClassVar[str] = "how far the final reads went"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        message = pl.format(
            "record {} was acknowledged{}, but no poll had delivered it when the final read "
            "ended{}",
            "value",
            pl.format(" at offset {}", "offset").fill_null(""),
            pl.when("late").then(pl.lit(", although the log contains it")).otherwise(pl.lit("")),
        )
        return describe(unseen(events, TOLD), KEY, "unseen-write", ["op_id"], message)

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(expected(events, TOLD).select(*KEY, "op_id", "value").unique())
