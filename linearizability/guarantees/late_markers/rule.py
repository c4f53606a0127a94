"""A marker ends the transaction that it was written for, and no other."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.ingest import IS_SEND, KEY
from linearizability.reads.raw_reads import OF_PRODUCER, raw_records


class LateMarkers(Checker):
    """A raw read shows two records of one transaction with a marker of their producer id between.

    The first was ended before the second was written: by the marker of an older transaction, which
    arrived late; or by its own marker, if the second record itself arrived late and now belongs to
    no transaction. Source: KIP-890, "Motivation" (hanging transactions and late messages;
    transaction version 2 prevents both). With clients that do not use that version, this may happen
    on Apache Kafka too: it is a known hazard, and a true anomaly. Values sent twice are not judged.
    Counted: transactions with records in raw reads, by partition and read.
    """

    name: ClassVar[str] = "late_markers"
    title: ClassVar[str] = (
        "no COMMIT or ABORT marker lies between the records of another transaction of its producer"
    )
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.TRANSACTIONS, Needs.BATCH_HEADERS})
    counted_under: ClassVar[frozenset[Needs]] = frozenset({Needs.TRANSACTIONS})
    whole: ClassVar[str] = "the sender of each record, and the markers between"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        found = transactions(events).filter(pl.col("markers_first") < pl.col("markers_last"))
        message = pl.format(
            "transaction {} has records from offset {} to {}, but a marker of its producer {} "
            "lies between them",
            "txn",
            "first",
            "last",
            "producer_id",
        )
        return describe(found, KEY, "late-marker", ["op_id", "sends"], message)

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(transactions(events))


def transactions(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the position of each transaction's records in each raw read: the first and last
    offset, the number of markers of the producer id in the read before each of the two, and the
    operations that sent the records. Values sent twice are left out."""
    sent = (
        events.filter(IS_SEND & pl.col("value").is_not_null())
        .select(*KEY, "value", "txn", send_op="op_id")
        .filter(pl.len().over(*KEY, "value") == 1)
        .filter(pl.col("txn").is_not_null())
    )
    return (
        raw_records(events)
        .filter(pl.col("producer_id") >= 0)
        .with_columns(markers=pl.col("control").is_not_null().cum_sum().over(OF_PRODUCER))
        .filter(pl.col("control").is_null())
        .join(sent, on=[*KEY, "value"])
        .group_by(*OF_PRODUCER, "txn")
        .agg(
            first=pl.col("offset").min(),
            last=pl.col("offset").max(),
            markers_first=pl.col("markers").min(),
            markers_last=pl.col("markers").max(),
            sends=pl.col("send_op").unique(),
        )
    )
