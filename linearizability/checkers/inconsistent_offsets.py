"""One offset of a partition holds one record, whoever looks, whenever."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Cut, Needs, Scope, count, describe
from linearizability.inferred_log import ACKNOWLEDGED, PROVEN_POLL
from linearizability.ingest import KEY

PROOF = ACKNOWLEDGED | PROVEN_POLL


class InconsistentOffsets(Checker):
    """Two values (or a value and a control record, or an unreadable payload) at one offset, among
    polls, acknowledgements under acks=all, and replicas' logs below the high watermark.

    Source: docs, design#replication (what is committed neither goes nor changes).
    Counted: offsets.
    """

    name: ClassVar[str] = "inconsistent_offsets"
    title: ClassVar[str] = "an offset holds one record, for ever and for everybody"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.READS})
    cut: ClassVar[Cut | None] = Cut.OFFSET

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        proofs = events.filter(PROOF)
        value, control = pl.col("value"), pl.col("control")
        clash = (
            proofs.group_by(*KEY, "offset")
            .agg(
                differ=(value.min() != value.max()).fill_null(False)
                | (control.min() != control.max()).fill_null(False)
                | (value.has_nulls() & value.is_not_null().any())
                | (control.has_nulls() & control.is_not_null().any())
            )
            .filter("differ")
            .select(*KEY, "offset")
        )
        content = pl.coalesce(control + " marker", value.cast(pl.String), pl.lit("unreadable"))
        found = (
            proofs.join(clash, on=[*KEY, "offset"], how="semi")
            .with_columns(content=content)
            .group_by(*KEY, "offset", "content")
            .agg(op=pl.col("op_id").min())
            .group_by(*KEY, "offset")
            .agg(ops="op", contents=pl.col("content").sort().str.join(", "))
        )
        message = pl.format("offset {} held different records: {}", "offset", "contents")
        return describe(found, KEY, "inconsistent-offset", ["ops"], message, "broker")

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(events.filter(PROOF).select(*KEY, "offset").unique())
