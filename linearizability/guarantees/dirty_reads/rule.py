"""No read_committed reader receives a record before its transaction's commit was requested."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Cut, Needs, Scope, count, describe
from linearizability.ingest import IS_DATA, IS_SEND, KEY

COMMITTED_READ = IS_DATA & Needs.COMMITTED_READS.rows


class DirtyReads(Checker):
    """A read_committed poll ended before the commit of the record's transaction was invoked.

    The outcome of the transaction does not matter. (Jepsen finds such reads only in cycles.) Values
    that several transactions sent, and transactions without a commit request, are not judged.
    Source: KIP-98, Consumer ("read_committed": up to the last stable offset). Counted: records read
    under read_committed whose transaction's commit was requested.
    """

    name: ClassVar[str] = "dirty_reads"
    title: ClassVar[str] = "read_committed readers see no record before its transaction commits"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.TRANSACTIONS, Needs.COMMITTED_READS})
    counted_under: ClassVar[frozenset[Needs]] = needs
    cut: ClassVar[Cut | None] = Cut.VALUE

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        found = (
            judged(events)
            .filter(pl.col("t_complete_ns") < pl.col("commit_ns"))
            .group_by(*KEY, "offset", "value", "txn")
            .agg(readers=pl.col("op_id").unique(), send_op=pl.col("send_op").first())
        )
        message = pl.format(
            "a read_committed reader received record {} at offset {} before its producer asked to "
            "commit transaction {}",
            "value",
            "offset",
            "txn",
        )
        return describe(found, KEY, "dirty-read", ["readers", "send_op"], message)

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(judged(events))


def judged(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records read under read_committed that were sent once, by a transaction whose
    commit was requested, with that transaction (txn, send_op) and when its commit was requested
    (commit_ns)."""
    writers = (
        events.filter(IS_SEND & pl.col("value").is_not_null())
        .group_by(*KEY, "value")
        .agg(
            txn=pl.col("txn").min(),
            commit_ns=pl.col("commit_asked_ns").min(),
            send_op=pl.col("op_id").min(),
            sends=pl.len(),
        )
        .filter((pl.col("sends") == 1) & pl.col("commit_ns").is_not_null())
    )
    return (
        events.filter(COMMITTED_READ)
        .select(*KEY, "offset", "value", "op_id", "t_complete_ns")
        .join(writers, on=[*KEY, "value"])
    )
