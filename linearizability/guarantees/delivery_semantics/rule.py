"""A complete read contains each record as often as its producer's settings promise."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import IS_LEADER_ANSWER, Checker, Needs, Scope, count, describe
from linearizability.evidence.removals import still_there
from linearizability.guarantees.unseen_writes.rule import VOUCHED
from linearizability.ingest import (
    IS_DATA,
    IS_FINAL,
    IS_IDEMPOTENT,
    IS_OK,
    IS_SEND,
    KEY,
    PLAIN,
    WHOLE_READ,
)
from linearizability.reads.final_reads import whole_reads

FIRST_EPOCH = 0
"""The leader epoch of a topic created in this run (ReplicationControlManager)."""
AT_LEAST_ONCE = VOUCHED & pl.col("offset").is_not_null()
BY_FIRST_LEADER = (
    IS_SEND
    & IS_OK
    & (pl.col("acks") == 1)
    & (pl.col("outcome") == PLAIN)
    & pl.col("offset").is_not_null()
)
"""The condition on a send that acks=1 promises to keep as long as the leader does not change
(design#replication; ProducerConfig, acks=1)."""
AT_MOST_ONCE = (IS_IDEMPOTENT | (pl.col("acks") == 0)).fill_null(False)


class DeliverySemantics(Checker):
    """A complete read, from beginning to end, contains a record less or more often than the
    settings of its producer promise (docs, design#semantics; ProducerConfig: acks, retries,
    enable.idempotence), sent once by the workload:

    - at least once: the record was acknowledged under acks=all, plain or in a transaction that
      committed, before the read began, at an offset within it, and was neither deleted nor
      compacted away;
    - at most once: it was sent by an idempotent producer, whatever the outcome; or with acks=0,
      which turns retries off;
    - exactly once: both.

    acks=all alone promises no upper bound. Under acks=1, an acknowledgement only binds the first
    leader of a partition that never had another one.

    This is an end-to-end check of single reads: `unseen_writes` looks at all readers together,
    `duplicates` at everything known about the log. Raw reads of followers do not count. Counted:
    records that a read must contain, and records in reads that may occur only once.
    """

    name: ClassVar[str] = "delivery_semantics"
    title: ClassVar[str] = (
        "a complete read contains each record as often as its producer's settings promise"
    )
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.SENDS, Needs.WHOLE_READS})
    whole: ClassVar[str] = "how far each reading went"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        given = copies(events)
        missed = owed(events).join(
            given, left_on=[*KEY, "value", "proof"], right_on=[*KEY, "value", "read_op"], how="anti"
        )
        too_few = pl.format(
            "record {} must be delivered {} once and is stored at offset {}, but a complete read "
            "of offsets {} to {} does not contain it",
            "value",
            _promise(),
            "offset",
            "start",
            pl.col("end") - 1,
        )
        repeated = at_most_once(events, given).filter(pl.col("copies") > 1)
        too_often = pl.format(
            "record {} must be delivered {} once, but one complete read contains it {} times",
            "value",
            _promise(),
            "copies",
        )
        return pl.concat(
            [
                describe(missed, KEY, "not-delivered", ["op_id", "proof"], too_few),
                describe(repeated, KEY, "delivered-twice", ["op_id", "read_op"], too_often),
            ]
        )

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        judged = [owed(events), at_most_once(events, copies(events))]
        return count(pl.concat([rows.select(*KEY, "op_id", "value") for rows in judged]))


def _promise() -> pl.Expr:
    return (
        pl.when(pl.col("at_least") & pl.col("at_most"))
        .then(pl.lit("exactly"))
        .when("at_least")
        .then(pl.lit("at least"))
        .otherwise(pl.lit("at most"))
    )


def promised(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the sends of values that were sent once, with the promise of their settings:
    `at_least` once, `at_most` once, or both; `by_leader`: at least once if the leader never changes
    (acks=1). Sends without any promise are left out."""
    return (
        events.filter(IS_SEND & pl.col("value").is_not_null())
        .filter(pl.len().over(*KEY, "value") == 1)
        .select(
            *KEY,
            "value",
            "offset",
            "op_id",
            sent_ns="t_complete_ns",
            at_least=AT_LEAST_ONCE.fill_null(False),
            at_most=AT_MOST_ONCE,
            by_leader=BY_FIRST_LEADER.fill_null(False),
        )
        .filter(pl.col("at_least") | pl.col("at_most") | pl.col("by_leader"))
    )


def never_led_by_another(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the partitions whose leader reports in the final phase that its epoch is the first
    (0), and for which no other epoch was ever seen."""
    epoch = pl.col("leader_epoch")
    said = (IS_LEADER_ANSWER & IS_FINAL & (epoch == FIRST_EPOCH)).any()
    return (
        events.filter(epoch.is_not_null())
        .group_by(KEY)
        .agg(said=said, newest=epoch.max())
        .filter(pl.col("said") & (pl.col("newest") == FIRST_EPOCH))
        .select(KEY)
    )


def readings(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return place, start, end, proof (the operation) and read_ns (when it was invoked) of each
    complete read of a leader, which covers the offsets from start up to, not including, end."""
    of_leader = events.filter(pl.col("replica").is_null())
    began = of_leader.filter(WHOLE_READ).select(*KEY, proof="op_id", read_ns="t_invoke_ns").unique()
    return whole_reads(of_leader).join(began, on=[*KEY, "proof"])


def owed(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records that each complete read of the leader must contain, one row for each read:
    acknowledged before it was invoked, within its offsets, and not removable. Records sent with
    acks=1 count only in partitions that never had a second leader."""
    within = (pl.col("start") <= pl.col("offset")) & (pl.col("offset") < pl.col("end"))
    led_once = never_led_by_another(events).with_columns(led_once=pl.lit(True))
    found = (
        promised(events)
        .filter(pl.col("at_least") | pl.col("by_leader"))
        .join(readings(events), on=KEY)
        .join(led_once, on=KEY, how="left")
        .filter(pl.col("at_least") | pl.col("led_once").fill_null(False))
        .with_columns(at_least=pl.lit(True))
    )
    return still_there(found.filter(within & (pl.col("sent_ns") < pl.col("read_ns"))), events)


def copies(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return place, value, read_op and copies: how often each complete read of a leader contains
    each record; no row for a record that it does not contain."""
    given = events.filter(IS_DATA & pl.col("replica").is_null() & pl.col("value").is_not_null())
    whole = readings(events).select(*KEY, op_id="proof").unique()
    return (
        given.join(whole, on=[*KEY, "op_id"], how="semi")
        .group_by(*KEY, "value", read_op="op_id")
        .agg(copies=pl.len())
    )


def at_most_once(events: pl.LazyFrame, given: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records that may occur only once in a read, one row for each read that has them,
    with their number of copies in it. given: the result of `copies`."""
    return given.join(promised(events).filter("at_most"), on=[*KEY, "value"])
