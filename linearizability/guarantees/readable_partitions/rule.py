"""Every partition can be read to its end after the faults are healed."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.bounds import NANOSECONDS
from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.evidence.removals import compactable
from linearizability.history import F, Type
from linearizability.ingest import KEY

TRIES_MIN = 5
LONG_NS = 45 * NANOSECONDS
"""The nanoseconds for which tries must have failed, from the first to the last. A run tries when it
has waited for the recovery of the cluster and a final read has failed for a minute. So there was
more time than the longest that the usual settings allow: 9 s until a silent broker is fenced
(broker.session.timeout.ms), 30 s until a follower leaves the ISR (replica.lag.time.max.ms), and
elections."""
STORAGE = ("KAFKA_STORAGE_ERROR", "CORRUPT_MESSAGE", "_CORRUPT")
"""The errors of a node whose disk may have failed, or of batches that a disk may have changed."""
NOT_KNOWN = ("_NOT_IN_METADATA", "_NO_LIVE_REPLICA", "OFFSET_NOT_AVAILABLE")
"""The topic may not exist, no replica that may lead may be there, or the high watermark may not be
known: it does not rise while fewer replicas are in sync than min.insync.replicas (KIP-966)."""
NO_RECORDS = "_NO_RECORDS"
ANSWERED = "answered"


class ReadablePartitions(Checker):
    """After the last fault was healed, tries to read a partition on failed at the same offset
    TRIES_MIN times or more, over LONG_NS or more, and no later try succeeded. Each of them, and of
    all tries since then at least half, failed although the node that was asked answered another
    request then (`asked` is "answered"; without a leader, the node that named none although a live
    replica is in sync).

    Not judged: partitions where one of these tries met an error in STORAGE or NOT_KNOWN, or, if the
    partition may be compacted, a fetch without records (the last records may be gone). Source:
    docs, design (consumers read up to the high watermark); KIP-74 (the first partition of a fetch
    that has records gets a batch, however large); ReplicaManager.fetchMessages. Counted: tries of
    the final phase; those of a partition that is not judged, or failed too few times, are excused.
    """

    name: ClassVar[str] = "readable_partitions"
    title: ClassVar[str] = "every partition can be read to its end after the faults are healed"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset()
    whole: ClassVar[str] = "all tries of a partition"
    excuse: ClassVar[str] = (
        "the tries were too few or too short, or the node or its storage may be to blame"
    )

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        message = pl.format(
            "no reader could read on {} for {} s at the end of the run: {} failed {} times, the "
            "last time with {}, while it answered other requests",
            pl.when(pl.col("asked_offset").is_null())
            .then(pl.lit("from the log start"))
            .otherwise(pl.format("from offset {}", "asked_offset")),
            pl.col("lasting_ns") // NANOSECONDS,
            pl.when(pl.col("node").is_null())
            .then(pl.lit("the cluster, which names no leader,"))
            .otherwise(pl.format("node {}", "node")),
            "proofs",
            "error",
        )
        operations = ["first_op", "last_op"]
        found = _failing(events).filter("is_proven")
        return describe(found, KEY, "unreadable-partition", operations, message, "broker")

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(tries(events).join(_given_up(events), on=KEY, how="anti"))

    def excused(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(tries(events).join(_given_up(events), on=KEY, how="semi"))


def tries(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the tries of the final phase that ended, with whether one proves that its partition
    cannot be read (is_proof), or that nothing can be said (is_open)."""
    is_try = (pl.col("f") == F.TRY_READ.value) & pl.col("final").fill_null(False)
    is_empty = (pl.col("error") == NO_RECORDS).fill_null(False)
    error = pl.col("error").fill_null("no answer")
    return (
        events.filter(is_try & pl.col("t_complete_ns").is_not_null())
        .select(
            *KEY,
            "op_id",
            "type",
            "node",
            "asked_offset",
            "error",
            "asked",
            "t_invoke_ns",
            "t_complete_ns",
        )
        .join(compactable(events).with_columns(may_be_gone=True), on=KEY, how="left")
        .with_columns(
            is_ok=pl.col("type") == Type.OK.value,
            is_open=error.is_in([*STORAGE, *NOT_KNOWN])
            | (is_empty & pl.col("may_be_gone").fill_null(False)),
            is_proof=(pl.col("asked") == ANSWERED).fill_null(False),
            error=error,
        )
        .sort("t_invoke_ns", "op_id")
    )


def _given_up(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the partitions whose last try failed, and of which nothing is proven."""
    return _failing(events).filter(~pl.col("is_proven")).select(KEY)


def _failing(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the partitions whose last try failed, each with the tries that failed at its offset
    since then: the first and the last that are proofs, their number and time, and whether they
    suffice (is_proven)."""
    last = pl.col("asked_offset").last().over(KEY)
    is_elsewhere = pl.col("is_ok") | pl.col("asked_offset").ne_missing(last)
    number = pl.int_range(pl.len()).over(KEY)
    proof = pl.col("is_proof")
    streak = (
        tries(events)
        .with_columns(number=number, is_elsewhere=is_elsewhere)
        .with_columns(since=pl.col("number").filter("is_elsewhere").max().over(KEY).fill_null(-1))
        .filter(pl.col("number") > pl.col("since"))
    )
    began = pl.col("t_invoke_ns").filter(proof).min()
    return (
        streak.group_by(KEY, maintain_order=True)
        .agg(
            pl.col("asked_offset").last(),
            pl.col("node", "error").filter(proof).last(),
            first_op=pl.col("op_id").filter(proof).first(),
            last_op=pl.col("op_id").filter(proof).last(),
            lasting_ns=(pl.col("t_complete_ns").filter(proof).max() - began).fill_null(0),
            proofs=proof.sum(),
            tried=pl.len(),
            is_open=pl.col("is_open").any(),
        )
        .with_columns(
            is_proven=~pl.col("is_open")
            & (pl.col("proofs") >= TRIES_MIN)
            & (pl.col("lasting_ns") >= LONG_NS)
            & (pl.col("proofs") * 2 >= pl.col("tried"))
        )
    )
