"""After the heal the replicas of a partition hold the same log."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.history import F
from linearizability.inferred_log import BELOW_HIGH_WATERMARK
from linearizability.ingest import ABORTED, COMMITTED, HAS_RECORD, IS_OK, KEY, PLAIN
from linearizability.removals import compactable

LACKS, HAS_MORE, DIFFERS = "replica-lacks-records", "replica-has-more-records", "replica-differs"
READ = [*KEY, "op_id"]
CONTENT = (
    "value",
    "control",
    "key",
    "tombstone",
    "checksum",
    "timestamp_ms",
    "timestamp_type",
    "producer_id",
    "producer_epoch",
    "sequence",
    "leader_epoch",
    "batch_base_offset",
)
"""The columns in which a replica must agree with its leader."""


class ReplicaAgreement(Checker):
    """In the final phase, one reading of all replicas finds a follower that lacks a record which
    its leader has, has one which its leader has not, or has another: content, sequence, leader
    epoch, batch.

    Compared are logs that were read to their ends, from the higher log start to the lower high
    watermark: what lies above may still be cut off, what lies below may be deleted here first.
    Replicas compact by themselves; where records have keys, none but the last committed record of a
    key must be on all of them, unless it is a tombstone, and batches may begin elsewhere. What a
    row leaves out agrees with anything. Source: docs, design#replicatedlog; KIP-101 (a follower
    truncates to where its log and the leader's part). Counted: records compared.
    """

    name: ClassVar[str] = "replica_agreement"
    title: ClassVar[str] = "the replicas of a partition hold the same log"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.REPLICA_READS})
    counted_under: ClassVar[frozenset[Needs]] = needs
    whole: ClassVar[str] = "the last record of each key"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        both = compared(events)
        wanted = pl.col("here") & ~pl.col("there") & pl.col("must_be_there")
        unwanted = ~pl.col("here") & pl.col("there") & pl.col("must_be_there")
        differs = (
            pl.col("here")
            & pl.col("there")
            & pl.any_horizontal(
                [(pl.col(c) != pl.col(f"{c}_there")).fill_null(False) for c in CONTENT]
            )
        )
        kind = pl.when(wanted).then(pl.lit(LACKS)).when(unwanted).then(pl.lit(HAS_MORE))
        found = (
            both.with_columns(kind=kind.when(differs).then(pl.lit(DIFFERS)))
            .filter(pl.col("kind").is_not_null())
            .group_by(*READ, "replica", "kind")
            .agg(first=pl.col("offset").min(), records=pl.len())
        )
        message = pl.format(
            "node {} and the leader first differ at offset {} ({} offsets in all: {})",
            "replica",
            "first",
            "records",
            "kind",
        )
        return describe(found, KEY, pl.col("kind"), ["op_id"], message, "broker")

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(compared(events).filter(pl.col("here") | pl.col("must_be_there")))


def compared(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row per reading, follower and offset that it or the leader has, in the range that
    both were read in. here, there: whether leader and follower have it; must_be_there: on both."""
    records = last_of_keys(
        events.filter(HAS_RECORD & BELOW_HIGH_WATERMARK & pl.col("final")), events
    )
    pairs = pairs_read(events)
    inside = (pl.col("start") <= pl.col("offset")) & (pl.col("offset") < pl.col("end"))
    columns = [*READ, "replica", "offset", "last_of_key", *CONTENT]
    of_leader = (
        records.filter(pl.col("replica").is_null())
        .drop("replica")
        .join(pairs, on=READ)
        .filter(inside)
        .select(*columns, "may_be_compacted", here=pl.lit(True))
    )
    of_follower = (
        records.join(pairs, on=[*READ, "replica"])
        .filter(inside)
        .select(*columns, "may_be_compacted", there=pl.lit(True))
    )
    same = [*READ, "replica", "offset", "may_be_compacted"]
    must = ~pl.col("may_be_compacted") | pl.col("last_of_key") | pl.col("last_of_key_there")
    base = "batch_base_offset"
    return (
        of_leader.join(of_follower, on=same, how="full", suffix="_there", coalesce=True)
        .with_columns(pl.col("here", "there", "last_of_key", "last_of_key_there").fill_null(False))
        .with_columns(
            pl.when(~pl.col("may_be_compacted")).then(pl.col(base)).alias(base), must_be_there=must
        )
    )


def pairs_read(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the complete reads of a leader and one follower, with the range to compare."""
    ends = events.filter(
        (pl.col("f") == F.READ_ALL.value)
        & IS_OK
        & pl.col("final")
        & pl.col("high_watermark").is_not_null()
    ).select(*READ, "replica", "high_watermark", start=pl.col("log_start").fill_null(0))
    leaders = ends.filter(pl.col("replica").is_null()).drop("replica")
    followers = ends.filter(pl.col("replica").is_not_null())
    compacted = compactable(events).with_columns(may_be_compacted=pl.lit(True))
    return (
        followers.join(leaders, on=READ, suffix="_leader")
        .join(compacted, on=KEY, how="left")
        .group_by(*READ, "replica")
        .agg(
            start=pl.max_horizontal(pl.col("start").max(), pl.col("start_leader").max()),
            end=pl.min_horizontal(
                pl.col("high_watermark").min(), pl.col("high_watermark_leader").min()
            ),
            may_be_compacted=pl.col("may_be_compacted").fill_null(False).any(),
        )
    )


def last_of_keys(records: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    """Add `last_of_key`: a committed value above which no replica's log has anything of its key:
    one that knows of more may have compacted it already."""
    last = (
        records.filter(pl.col("key").is_not_null() & (pl.col("outcome") != ABORTED).fill_null(True))
        .group_by(*READ, "key")
        .agg(offset=pl.col("offset").max(), last_of_key=pl.lit(True))
    )
    is_value = pl.col("outcome").is_in([PLAIN, COMMITTED]) & ~pl.col("tombstone").fill_null(False)
    return records.join(last, on=[*READ, "key", "offset"], how="left").with_columns(
        last_of_key=(pl.col("last_of_key") & is_value).fill_null(False)
    )
