"""A transaction does not receive its own records, since they are not committed when it reads."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Cut, Needs, Scope, count, describe
from linearizability.ingest import IS_SEND, KEY

IN_TRANSACTION = Needs.READS_IN_TRANSACTIONS.rows


class OwnUncommittedReads(Checker):
    """A read_committed poll inside a transaction delivers a record which the same transaction sent.

    The outcome of the transaction does not matter, since the poll came before its end. Source:
    KIP-98, Consumer ("read_committed"). Jepsen: precommitted-read. Counted: records read inside
    transactions.
    """

    name: ClassVar[str] = "own_uncommitted_reads"
    title: ClassVar[str] = "a transaction does not read its own uncommitted records"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.TRANSACTIONS, Needs.READS_IN_TRANSACTIONS})
    cut: ClassVar[Cut | None] = Cut.VALUE

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        sent = (
            events.filter(IS_SEND & pl.col("txn").is_not_null())
            .group_by(*KEY, "value", "txn")
            .agg(send_op=pl.col("op_id").min())
        )
        found = (
            events.filter(IN_TRANSACTION)
            .join(sent, on=[*KEY, "value", "txn"])
            .group_by(*KEY, "offset", "value", "txn")
            .agg(readers=pl.col("op_id").unique(), send_op=pl.col("send_op").first())
        )
        message = pl.format(
            "{} at offset {} was read by the transaction {} that had sent it and had not ended yet",
            "value",
            "offset",
            "txn",
        )
        return describe(found, KEY, "own-uncommitted-read", ["readers", "send_op"], message)

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(events.filter(IN_TRANSACTION))
