"""A transaction that has ended, or should have, holds nobody up."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import IS_LEADER_ANSWER, Checker, Needs, Scope, count, describe
from linearizability.inferred_log import ACKNOWLEDGED
from linearizability.ingest import KEY
from linearizability.raw_reads import OF_PRODUCER, raw_records

LONGEST_NS = (15 * 60 + 10 + 60) * 1_000_000_000
"""No transaction lasts longer: transaction.max.timeout.ms is 15 minutes unless configured, the
coordinator looks every 10 s (transaction.abort.timed.out.transaction.cleanup.interval.ms), and a
minute is for the markers."""


class HangingTransactions(Checker):
    """A leader names a last stable offset below its high watermark, and the transaction which
    begins there has ended: a raw read that was over before the leader was asked shows the marker,
    and it lies below that high watermark. Or, in the final phase, a record there was acknowledged
    longer ago than any transaction lasts.

    Readers of committed records get nothing from there on, for ever. Source: KIP-98 (last stable
    offset); KIP-664 and KIP-890, "Motivation". Counted: answers that name a last stable offset.
    """

    name: ClassVar[str] = "hanging_transactions"
    title: ClassVar[str] = "a transaction that has ended holds no reader up"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.LEADER_ANSWERS, Needs.TRANSACTIONS})
    counted_under: ClassVar[frozenset[Needs]] = frozenset({Needs.LEADER_ANSWERS})
    whole: ClassVar[str] = "the marker behind each record"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        held_up = answers(events).filter(pl.col("last_stable_offset") < pl.col("high_watermark"))
        ended = (
            held_up.join(marked(events), on=[*KEY, "last_stable_offset"])
            .filter(
                (pl.col("marker_offset") < pl.col("high_watermark"))
                & (pl.col("read_ns") < pl.col("t_invoke_ns"))
            )
            .group_by(*KEY, "op_id", "last_stable_offset")
            .agg(proof=pl.col("read_op").min())
        )
        old = (
            held_up.filter(pl.col("final"))
            .join(acknowledged(events), on=[*KEY, "last_stable_offset"])
            .filter(pl.col("t_invoke_ns") - pl.col("sent_ns") > LONGEST_NS)
            .group_by(*KEY, "op_id", "last_stable_offset")
            .agg(proof=pl.col("send_op").min())
        )
        ended_message = pl.format(
            "the last stable offset is still {}, where an ended transaction begins",
            "last_stable_offset",
        )
        old_message = pl.format(
            "the last stable offset is still {}, of a record sent a quarter of an hour ago",
            "last_stable_offset",
        )
        operations = ["proof", "op_id"]
        return pl.concat(
            [
                describe(ended, KEY, "ended-but-open", operations, ended_message, "broker"),
                describe(old, KEY, "open-for-too-long", operations, old_message, "broker"),
            ]
        )

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(answers(events))


def answers(events: pl.LazyFrame) -> pl.LazyFrame:
    """What leaders said of their last stable offset."""
    named = IS_LEADER_ANSWER & pl.col("last_stable_offset").is_not_null()
    return events.filter(named).select(
        *KEY, "op_id", "final", "t_invoke_ns", "last_stable_offset", "high_watermark"
    )


def marked(events: pl.LazyFrame) -> pl.LazyFrame:
    """Records read raw with the marker behind them: where both stand, and who read it when."""
    marker = pl.when(pl.col("control").is_not_null()).then(pl.col("offset"))
    return (
        raw_records(events)
        .filter((pl.col("producer_id") >= 0) & pl.col("replica").is_null())
        .with_columns(marker_offset=marker.backward_fill().over(OF_PRODUCER))
        .filter(pl.col("control").is_null() & pl.col("marker_offset").is_not_null())
        .select(
            *KEY, "marker_offset", read_ns="t_complete_ns", read_op="op_id",
            last_stable_offset="offset",
        )
    )  # fmt: skip


def acknowledged(events: pl.LazyFrame) -> pl.LazyFrame:
    """Records of transactions: where they stand, and when they were acknowledged."""
    return events.filter(ACKNOWLEDGED & pl.col("txn").is_not_null()).select(
        *KEY, last_stable_offset="offset", send_op="op_id", sent_ns="t_complete_ns"
    )
