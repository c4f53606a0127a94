"""An older epoch of a producer writes no more once a newer one has."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Cut, Needs, Scope, count, describe
from linearizability.ingest import KEY
from linearizability.raw_reads import OF_PRODUCER, raw_records


class Fencing(Checker):
    """A raw read shows a record or a marker of an older epoch of a producer id behind one of a
    newer epoch.

    A leader must refuse it with INVALID_PRODUCER_EPOCH, whether it comes from a fenced client or
    from the coordinator of an older transaction. Source: KIP-98, "Transactional Guarantees" (zombie
    fencing); ProducerAppendInfo.checkProducerEpoch. What was appended to other partitions, or by a
    send that began after the newer epoch was given out and before its first record, cannot be
    judged: a history only has the epochs in logs. Counted: records and markers of a producer id
    after another.
    """

    name: ClassVar[str] = "fencing"
    title: ClassVar[str] = "after a producer's newer epoch has written, an older one writes nothing"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.BATCH_HEADERS})
    cut: ClassVar[Cut | None] = Cut.OPERATION

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        found = after_another(events).filter(pl.col("producer_epoch") < pl.col("newest"))
        message = pl.format(
            "offset {} holds a record of epoch {} of producer {}, behind one of its newer epoch {}",
            "offset", "producer_epoch", "producer_id", "newest",
        )  # fmt: skip
        return describe(found, KEY, "fenced-epoch-writes", ["op_id"], message, "broker")

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(after_another(events))


def after_another(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return records and markers with the newest epoch that stands before them in the same read."""
    newest = pl.col("producer_epoch").cum_max().shift(1).over(OF_PRODUCER)
    return (
        raw_records(events)
        .filter((pl.col("producer_id") >= 0) & (pl.col("producer_epoch") >= 0))
        .with_columns(newest=newest)
        .filter(pl.col("newest").is_not_null())
    )
