"""What an idempotent producer sends to a partition stands there in the order of sending."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.history import Type
from linearizability.inferred_log import ACKNOWLEDGED, PROVEN_POLL
from linearizability.ingest import IS_DATA, IS_SEND, KEY

SESSION = [*KEY, "producer_id", "producer_epoch"]
WRAPPED = 2**30
"""Sequences wrap from 2^31 - 1 to 0 (DefaultRecordBatch, incrementSequence): so far back is on."""


class ProducerOrder(Checker):
    """Two records of one send operation of an idempotent producer stand in the wrong order; or raw
    reads show a sequence below the one before it, of one producer id and epoch.

    (Operations one after the other are `append_order`'s.) Values that were sent twice, and records
    whose place is unknown, are not judged. Source: KIP-98, Idempotent Producer Guarantees.
    Jepsen: nonmonotonic-send and its internal twin. Counted: records after another one.
    """

    name: ClassVar[str] = "producer_order"
    title: ClassVar[str] = "an idempotent producer's records stand in the order of sending"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.IDEMPOTENT_SENDS})

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        sends = within_operations(events).filter(pl.col("offset") < pl.col("before"))
        sent = pl.format(
            "{} was sent after {} by one operation, but stands at offset {} before {}",
            "value", "value_before", "offset", "before",
        )  # fmt: skip
        batches = within_sessions(events).filter(
            (pl.col("sequence") < pl.col("before"))
            & (pl.col("before") - pl.col("sequence") < WRAPPED)
        )
        stored = pl.format(
            "offset {} holds sequence {} of producer {}, epoch {}, after sequence {}",
            "offset", "sequence", "producer_id", "producer_epoch", "before",
        )  # fmt: skip
        return pl.concat(
            [
                describe(sends, KEY, "sends-reordered", ["op_id"], sent, "broker"),
                describe(
                    batches, KEY, "sequence-goes-back", ["op_before", "op_id"], stored, "broker"
                ),
            ]
        )

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        pairs = [within_operations(events), within_sessions(events)]
        return count(pl.concat([p.select("op_id") for p in pairs]))


def within_operations(events: pl.LazyFrame) -> pl.LazyFrame:
    """Records sent, with the one that the same operation sent to the same partition before."""
    acked_at = pl.when(ACKNOWLEDGED).then(pl.col("offset"))
    sends = (
        events.filter(IS_SEND & (pl.col("type") != Type.FAIL.value))
        .with_columns(acked_at=acked_at)
        .filter(pl.len().over(*KEY, "value") == 1)
        .filter(pl.col("idempotent").fill_null(False) & pl.col("value").is_not_null())
        .filter(pl.len().over(*KEY, "op_id") > 1)
    )
    places = (
        events.filter(PROVEN_POLL & IS_DATA)
        .join(sends, on=[*KEY, "value"], how="semi")
        .group_by(*KEY, "value")
        .agg(seen_at=pl.col("offset").min(), places=pl.col("offset").n_unique())
        .filter(pl.col("places") == 1)
    )
    return (
        sends.join(places, on=[*KEY, "value"], how="left")
        .with_columns(offset=pl.coalesce("acked_at", "seen_at"))
        .filter(pl.col("offset").is_not_null())
        .sort(*KEY, "op_id", "record_index")
        .with_columns(
            before=pl.col("offset").shift(1).over(*KEY, "op_id"),
            value_before=pl.col("value").shift(1).over(*KEY, "op_id"),
        )
        .filter(pl.col("before").is_not_null())
    )


def within_sessions(events: pl.LazyFrame) -> pl.LazyFrame:
    """Records read raw, with the sequence of the one before of the same producer and epoch."""
    numbered = (pl.col("producer_id") >= 0) & (pl.col("sequence") >= 0)
    return (
        events.filter(PROVEN_POLL & IS_DATA & numbered)
        .group_by(*SESSION, "offset", "sequence")
        .agg(pl.col("op_id").min())
        .sort(*SESSION, "offset", "sequence")
        .with_columns(
            before=pl.col("sequence").shift(1).over(SESSION),
            op_before=pl.col("op_id").shift(1).over(SESSION),
        )
        .filter(pl.col("before").is_not_null())
    )
