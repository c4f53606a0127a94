"""A transaction is committed everywhere or nowhere."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, describe
from linearizability.evidence.transactions import ABORT, COMMIT, DELIVERED, LACKING, PASSED
from linearizability.ingest import ABORTED

RECORD = ("topic", "topic_id", "partition", "offset", "value")


class TornTransactions(Checker):
    """One record of a transaction has a COMMIT marker after it or was delivered to a read_committed
    reader. Another record of it has an ABORT marker after it; or a read_committed reader skipped it
    and none received it (otherwise `poll_skips` reports that reader); or readers read to the end
    and none received it, although later records were delivered.

    This also holds for transactions of unknown outcome (Jepsen misses these): all their records
    must have the same outcome. A delivered record of a transaction that certainly aborted is
    reported by `aborted_reads`. Records that were not acknowledged, or lie below a log start, are
    ignored. Source: KIP-98, "Transactional Guarantees" (atomic writes to several partitions).
    Counted: transactions with a record that was delivered, skipped, or read with its marker.
    """

    name: ClassVar[str] = "torn_transactions"
    title: ClassVar[str] = "a transaction is committed everywhere or nowhere"
    scope: ClassVar[Scope] = Scope.TRANSACTION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.TRANSACTIONS, Needs.READS})

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        kind = pl.col("kind")
        there = events.filter(kind.is_in([COMMIT, DELIVERED]))
        # Where one reader was given a record, another who went over it has skipped it.
        delivered = events.filter(kind == DELIVERED).select("txn", *RECORD)
        passed = events.filter(kind == PASSED).join(
            delivered, on=["txn", *RECORD], how="anti", nulls_equal=True
        )
        aborted = events.filter(kind == ABORT)
        lacking = events.filter(kind == LACKING)
        missing = pl.concat([aborted, passed, lacking]).drop("txn_outcome")
        undecided = (pl.col("txn_outcome") != ABORTED).fill_null(True)
        elsewhere = pl.any_horizontal(pl.col(c) != pl.col(f"{c}_missing") for c in RECORD)
        found = (
            there.join(missing, on="txn", suffix="_missing")
            .filter(elsewhere & (undecided | (kind == COMMIT)))
            .sort(*RECORD, *(f"{c}_missing" for c in RECORD), "kind", "kind_missing")
            .unique("txn", keep="first", maintain_order=True)
        )
        message = pl.format(
            "transaction {} is torn: record {} {} {}, but record {} {} {}",
            "txn",
            "value",
            _place(""),
            _seen("kind"),
            "value_missing",
            _place("_missing"),
            _seen("kind_missing"),
        )
        operations = ["op_ids", "op_ids_missing", "send_op", "send_op_missing"]
        where = ["topic", "topic_id", "partition", "txn"]
        return describe(found, where, "torn-transaction", operations, message, "broker")

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        kinds = [COMMIT, ABORT, DELIVERED, PASSED, LACKING]
        judged = events.filter(pl.col("kind").is_in(kinds))
        return judged.select(checked=pl.col("txn").n_unique().cast(pl.Int64))


def _place(suffix: str) -> pl.Expr:
    """Return a record's location in words; leave the offset out if it is unknown. suffix: the end
    of the names of its columns."""
    offset = pl.format("at offset {} of ", f"offset{suffix}").fill_null("of ")
    return pl.concat_str(offset, pl.format("{}-{}", f"topic{suffix}", f"partition{suffix}"))


def _seen(kind: str) -> pl.Expr:
    return pl.col(kind).replace_strict(
        {
            COMMIT: "is followed by a COMMIT marker",
            DELIVERED: "was received by a read_committed reader",
            ABORT: "is followed by an ABORT marker",
            PASSED: "was skipped by a read_committed reader",
            LACKING: "was never received by any reader",
        }
    )
