"""By the end of the final read every acknowledged record was delivered."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.checkers.lost_writes import WHOLE_READ, whole_reads
from linearizability.ingest import COMMITTED, IS_DATA, IS_OK, IS_SEND, KEY, PLAIN
from linearizability.removals import still_there

ACKS_ALL = IS_SEND & IS_OK & (pl.col("acks") == -1) & pl.col("value").is_not_null()
DURABLE = ACKS_ALL & (
    (pl.col("outcome") == COMMITTED)
    | ((pl.col("outcome") == PLAIN) & pl.col("offset").is_not_null())
)
"""The commit of a transaction vouches for all its records, also where no offset is known."""


class UnseenWrites(Checker):
    """No successful poll delivered a record that was acknowledged under acks=all (plain with an
    offset, or of a committed transaction) before a complete read began, within what that read
    covered.

    A complete read covers [log start, high watermark), under read_committed up to the last stable
    offset (`lost_writes.whole_reads`); one without a high watermark covers everything (so a history
    of Jepsen is marked as complete). Where the read is a consumer's, deliveries to raw readers do
    not count: what they alone show is late, anything else is lost.
    Source: docs, design#replication. Jepsen: unseen. Counted: records so acknowledged and covered.
    """

    name: ClassVar[str] = "unseen_writes"
    title: ClassVar[str] = "an acknowledged record is delivered by the end of the final read"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.SENDS, Needs.WHOLE_READS})
    whole: ClassVar[str] = "how far the final reads went"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        given = (
            events.filter(IS_DATA & IS_OK)
            .group_by(*KEY, "value")
            .agg(
                seen_raw=(pl.col("client") == "raw").fill_null(False).any(),
                seen=(pl.col("client") != "raw").fill_null(True).any(),
            )
        )
        unseen = (
            expected(events)
            .join(given, on=[*KEY, "value"], how="left")
            .with_columns(pl.col("seen", "seen_raw").fill_null(False))
            .filter(~pl.col("seen") & ~(pl.col("raw") & pl.col("seen_raw")))
            .group_by(*KEY, "value", "offset", "op_id")
            .agg(late=pl.col("seen_raw").any())
        )
        message = pl.format(
            "{} was acknowledged{}, but no poll had delivered it when the final read ended{}",
            "value",
            pl.format(" at offset {}", "offset").fill_null(""),
            pl.when("late").then(pl.lit(", although the log contains it")).otherwise(pl.lit("")),
        )
        return describe(unseen, KEY, "unseen-write", ["op_id"], message)

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(expected(events).select(*KEY, "op_id", "value").unique())


def expected(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return each record that a complete read should have found; raw: the read was a raw one."""
    sent = events.filter(DURABLE).select(*KEY, "value", "offset", "op_id", acked_ns="t_complete_ns")
    began = events.filter(WHOLE_READ).select(
        *KEY,
        "high_watermark",
        read_ns="t_invoke_ns",
        proof="op_id",
        raw=(pl.col("client") == "raw").fill_null(False),
    )
    everything = began.filter(pl.col("high_watermark").is_null())
    ranges = whole_reads(events).join(began, on=[*KEY, "proof"])
    within = (pl.col("start") <= pl.col("offset")) & (pl.col("offset") < pl.col("end"))
    columns = [*KEY, "value", "offset", "op_id", "acked_ns", "read_ns", "raw"]
    covered = pl.concat(
        [
            still_there(sent.join(ranges, on=KEY).filter(within), events).select(columns),
            sent.join(everything, on=KEY).select(columns),
        ]
    )
    return covered.filter(pl.col("acked_ns") < pl.col("read_ns"))
