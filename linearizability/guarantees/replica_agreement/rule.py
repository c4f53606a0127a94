"""After the heal, the replicas of a partition have the same log."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.evidence.removals import compactable
from linearizability.ingest import (
    ABORTED,
    BY_RAW_CLIENT,
    COMMITTED,
    HAS_RECORD,
    KEY,
    LOG_START,
    PLAIN,
    READ_COMMITTED,
    WHOLE_READ,
)
from linearizability.reads.inferred_log import BELOW_HIGH_WATERMARK

LACKS, HAS_MORE, DIFFERS = "replica-lacks-records", "replica-has-more-records", "replica-differs"
READ = [*KEY, "op_id"]
PAIR = [*READ, "replica", "other_op", "other"]
"""The columns that identify a pair: a read of a follower, and the read of its leader, or of another
replica, that it must equal."""
IS_RAW_READ = BY_RAW_CLIENT & (pl.col("isolation") != READ_COMMITTED).fill_null(True)
LEADER = -1
"""The number that stands for the leader in the column `replica`, so that joins need no special case
for null."""
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
    """In the final phase, one reading of all replicas finds a follower that lacks a record that its
    leader has, has one that its leader lacks, or has a different one at the same offset: content,
    sequence, leader epoch, batch. A replica whose leader was not read by the same operation is
    compared with the first raw read of the leader or, if there is none, of another replica (but not
    in compacted logs, which may change between two operations).

    Logs that were read to their ends are compared, from the higher log start to the lower high
    watermark: records above may still be truncated, records below may be deleted on one replica
    first. Replicas compact independently. So where records have keys, only the last committed
    record of a key must be on all replicas, unless it is a tombstone, and batches may begin at
    different offsets. A null in a row agrees with anything. Source: docs, design#replicatedlog;
    KIP-101 (a follower truncates to the offset where its log and the leader's diverge). Counted:
    records compared.
    """

    name: ClassVar[str] = "replica_agreement"
    title: ClassVar[str] = "the replicas of a partition have the same log"
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
            .group_by(*PAIR, "kind")
            .agg(first=pl.col("offset").min(), records=pl.len())
        )
        who = pl.when(pl.col("other") == LEADER).then(pl.lit("the leader"))
        message = pl.format(
            "node {} and {} first differ at offset {} ({} offsets in all: {})",
            "replica",
            who.otherwise(pl.format("node {}", "other")),
            "first",
            "records",
            "kind",
        )
        return describe(found, KEY, pl.col("kind"), ["op_id", "other_op"], message, "broker")

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(compared(events).filter(pl.col("here") | pl.col("must_be_there")))


def compared(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row per PAIR and offset that either of the two logs has, in the range that was
    read of both. here: the log of `other`, usually the leader, has it; there: the follower
    (`replica`) has it; must_be_there: both must have it, since the log is not compacted or the
    record is the last one of its key."""
    read = events.filter(HAS_RECORD & BELOW_HIGH_WATERMARK & pl.col("final"))
    records = last_of_keys(read).with_columns(pl.col("replica").fill_null(LEADER))
    pairs = pairs_read(events)
    inside = (pl.col("start") <= pl.col("offset")) & (pl.col("offset") < pl.col("end"))
    columns = [*PAIR, "offset", "last_of_key", *CONTENT]
    of_leader = (
        records.rename({"op_id": "other_op", "replica": "other"})
        .join(pairs, on=[*KEY, "other_op", "other"])
        .filter(inside)
        .select(*columns, "may_be_compacted", here=pl.lit(True))
    )
    of_follower = (
        records.join(pairs, on=[*READ, "replica"])
        .filter(inside)
        .select(*columns, "may_be_compacted", there=pl.lit(True))
    )
    same = [*PAIR, "offset", "may_be_compacted"]
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
    """Return each PAIR of complete reads of the final phase, with the range to compare: start to
    end (exclusive), the higher log start to the lower high watermark; and may_be_compacted."""
    reads = (
        events.filter(WHOLE_READ & pl.col("final") & pl.col("high_watermark").is_not_null())
        .group_by(*READ, pl.col("replica").fill_null(LEADER))
        .agg(start=LOG_START.max(), end=pl.col("high_watermark").min(), raw=IS_RAW_READ.all())
    )
    followers = reads.filter(pl.col("replica") != LEADER)
    others = reads.select(
        *KEY, "start", "end", "raw", other_op=pl.col("op_id"), other=pl.col("replica")
    )
    together = followers.join(
        others.filter(pl.col("other") == LEADER).with_columns(op_id="other_op"),
        on=READ,
        suffix="_other",
    )
    compacted = compactable(events).with_columns(may_be_compacted=pl.lit(True))
    # Readers that are not raw skip control records and aborted records.
    first = (
        others.filter("raw")
        .sort(pl.col("other") != LEADER, "other_op", "other")
        .unique(KEY, keep="first", maintain_order=True)
    )
    apart = (
        followers.join(together, on=READ, how="anti")
        .join(first, on=KEY, suffix="_other")
        .filter(pl.col("replica") != pl.col("other"))
        .join(compacted, on=KEY, how="anti")
    )
    columns = [*PAIR, "start", "end", "start_other", "end_other"]
    return (
        pl.concat([together.select(columns), apart.select(columns)])
        .join(compacted, on=KEY, how="left")
        .select(
            *PAIR,
            start=pl.max_horizontal("start", "start_other"),
            end=pl.min_horizontal("end", "end_other"),
            may_be_compacted=pl.col("may_be_compacted").fill_null(False),
        )
    )


def last_of_keys(records: pl.LazyFrame) -> pl.LazyFrame:
    """Add `last_of_key`: whether the row is a plain or committed value (no tombstone) and no
    replica's log has, in the same operation, a later record of its key. A replica that has one may
    already have compacted this record away."""
    last = (
        records.filter(pl.col("key").is_not_null() & (pl.col("outcome") != ABORTED).fill_null(True))
        .group_by(*READ, "key")
        .agg(offset=pl.col("offset").max(), last_of_key=pl.lit(True))
    )
    is_value = pl.col("outcome").is_in([PLAIN, COMMITTED]) & ~pl.col("tombstone").fill_null(False)
    return records.join(last, on=[*READ, "key", "offset"], how="left").with_columns(
        last_of_key=(pl.col("last_of_key") & is_value).fill_null(False)
    )
