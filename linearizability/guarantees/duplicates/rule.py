"""A record sent by idempotent producers is in the log no more often than it was sent."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Cut, Needs, Scope, count, describe
from linearizability.history import Type
from linearizability.ingest import IS_IDEMPOTENT, IS_SEND, KEY
from linearizability.reads.inferred_log import ACKNOWLEDGED, PROVEN_POLL
from linearizability.reads.raw_reads import IS_NUMBERED, NUMBERS


class Duplicates(Checker):
    """One value at two offsets of a partition, sent once, with idempotence on; or at more offsets
    than it was sent.

    If a raw read shows producer id, epoch and sequence, and all three are equal at both offsets,
    the broker is at fault (KIP-98, "Idempotent Producer Guarantees"). If they differ, the client is
    (it sent the record again as a new one; excused where a node was stopped while the client
    waited, because the node then knows only the last batch of each producer: `resent.py`). Without
    them, neither is blamed. Producers without idempotence are not judged. Counted: values sent by
    idempotent producers alone.
    """

    name: ClassVar[str] = "duplicates"
    title: ClassVar[str] = "a record that an idempotent producer sends once is stored once"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.IDEMPOTENT_SENDS, Needs.READS})
    cut: ClassVar[Cut | None] = Cut.VALUE

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        copies = (
            events.filter((ACKNOWLEDGED | PROVEN_POLL) & pl.col("value").is_not_null())
            .group_by(*KEY, "value", "offset")
            .agg(pl.col("op_id").min(), *(pl.col(name).min() for name in NUMBERS))
            .filter(pl.len().over(*KEY, "value") > 1)
        )
        twice = copies.group_by(*KEY, "value").agg(
            offsets=pl.col("offset").sort(),
            ops=pl.col("op_id"),
            numbers=IS_NUMBERED.sum(),
            sequences=pl.struct(NUMBERS).filter(IS_NUMBERED).n_unique(),
        )
        found = twice.join(self._judged(events), on=[*KEY, "value"]).filter(
            pl.col("offsets").list.len() > pl.col("sends")
        )
        blame = (
            pl.when(pl.col("sequences") < pl.col("numbers"))
            .then(pl.lit("broker"))
            .when(pl.col("numbers") == pl.col("offsets").list.len())
            .then(pl.lit("client"))
            .otherwise(None)
        )
        message = pl.format(
            "{} was sent {} by an idempotent producer, but is stored at offsets {}",
            "value",
            pl.when(pl.col("sends") == 1)
            .then(pl.lit("once"))
            .otherwise(pl.format("{} times", "sends")),
            pl.col("offsets").cast(pl.List(pl.String)).list.join(", "),
        )
        return describe(found, KEY, "duplicate", ["send_ops", "ops"], message, blame)

    def _judged(self, events: pl.LazyFrame) -> pl.LazyFrame:
        """Return the values that only idempotent producers sent, how often (sends), and by which
        operations; sends that certainly failed do not count."""
        return (
            events.filter(IS_SEND & (pl.col("type") != Type.FAIL.value))
            .group_by(*KEY, "value")
            .agg(sends=pl.len(), idempotent=IS_IDEMPOTENT.all(), send_ops=pl.col("op_id"))
            .filter("idempotent")
            .select(*KEY, "value", "sends", "send_ops")
        )

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(self._judged(events))
