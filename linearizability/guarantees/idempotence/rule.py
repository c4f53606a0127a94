"""The sequence numbers of an idempotent producer follow each other in the log."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Cut, Needs, Scope, count, describe
from linearizability.ingest import IS_SEND, KEY
from linearizability.reads.raw_reads import OF_PRODUCER, READ, raw_records

SEQUENCES = 2**31
"""Sequences wrap from 2^31 - 1 to 0 (DefaultRecordBatch, incrementSequence)."""


IN_ORDER_REFUSED = (
    IS_SEND
    & (pl.col("client") == "raw")
    & pl.col("txn").is_null()
    & pl.col("idempotent")
    & pl.col("sequence").is_null()
    & (pl.col("error") == "OUT_OF_ORDER_SEQUENCE_NUMBER")
).fill_null(False)


class Idempotence(Checker):
    """A sequence number does not follow the one before it, or a batch is refused although its
    sequence follows. These are anomalies:

    - A raw read shows a record whose sequence does not follow the sequence of the record before it,
      of the same producer id and epoch.
    - A new epoch of a producer id does not begin with sequence 0.
    - Outside of transactions, a raw producer of Touchstone got OUT_OF_ORDER_SEQUENCE_NUMBER. It
      numbers each batch after the last acknowledged one, and begins a new epoch after an unknown
      outcome. (A send whose row names a sequence is left out: it repeats a number of the batch
      before it.)

    A leader refuses a batch that does not follow with that error, and no other. Source: KIP-98,
    "Idempotent Producer Guarantees"; KIP-360 (a new epoch begins at 0);
    ProducerAppendInfo.checkSequence. The first record of a producer id in a read is not judged,
    since the leader's state before it is not known; nor is a record after a hole, which another
    checker reports or which compaction made. `fencing` checks records of lower epochs. If a
    producer id expires on the broker while its client lives (producer.id.expiration.ms, a day),
    this rule cannot recognise that. Counted: records that follow another of their producer id, and
    batches refused in this way.
    """

    name: ClassVar[str] = "idempotence"
    title: ClassVar[str] = (
        "a producer's sequence numbers follow each other in the log without gap or repetition"
    )
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset()
    cut: ClassVar[Cut | None] = Cut.OPERATION

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        found = successors(events).filter(
            pl.col("sequence")
            != pl.when(pl.col("producer_epoch") == pl.col("epoch_before"))
            .then((pl.col("sequence_before") + 1) % SEQUENCES)
            .otherwise(0)
        )
        message = pl.format(
            "offset {} holds sequence {} of producer {}, epoch {}, directly behind its sequence {} "
            "of epoch {}",
            "offset",
            "sequence",
            "producer_id",
            "producer_epoch",
            "sequence_before",
            "epoch_before",
        )
        refused = events.filter(IN_ORDER_REFUSED).unique([*KEY, "op_id"], maintain_order=True)
        wrongly = pl.format(
            "record {} was refused as out of order, although its sequence follows that of the "
            "producer's record before it",
            "value",
        )
        return pl.concat(
            [
                describe(found, KEY, "sequence-does-not-follow", ["op_id"], message, "broker"),
                describe(refused, KEY, "in-order-refused", ["op_id"], wrongly, "broker"),
            ]
        )

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        every = (successors(events), events.filter(IN_ORDER_REFUSED))
        return count(pl.concat([rows.select("op_id") for rows in every]))


def successors(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return records with a sequence, each with the sequence before it (sequence_before) of the
    same producer id and of the same or an older epoch (epoch_before). Leave out records with a hole
    between the two."""
    numbered = (pl.col("producer_id") >= 0) & (pl.col("sequence") >= 0)
    unbroken = [*OF_PRODUCER, "holes"]
    is_hole = (pl.col("offset") != pl.col("before") + 1).fill_null(False)
    return (
        raw_records(events)
        .with_columns(holes=is_hole.cum_sum().over(READ))
        .filter(pl.col("control").is_null() & numbered)
        .with_columns(
            pl.col("sequence").cast(pl.Int64),
            sequence_before=pl.col("sequence").cast(pl.Int64).shift(1).over(unbroken),
            epoch_before=pl.col("producer_epoch").shift(1).over(unbroken),
        )
        .filter(pl.col("producer_epoch") >= pl.col("epoch_before"))
    )
