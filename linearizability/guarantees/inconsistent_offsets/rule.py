"""An offset of a partition has one record: every read of it, at any time, shows the same."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Cut, Needs, Scope, count, describe
from linearizability.ingest import KEY
from linearizability.reads.contents import STORED_FIELDS, occurring
from linearizability.reads.inferred_log import ACKNOWLEDGED, PROVEN_POLL

PROOF = ACKNOWLEDGED | PROVEN_POLL


class InconsistentOffsets(Checker):
    """Two values (or a value and a control record, or an unreadable payload) at one offset, among
    polls, acknowledgements under acks=all, and replicas' logs below the high watermark. Or one
    value whose other fields are not always the same (`contents`): key, headers, timestamp, …

    Source: docs, design#replication (a committed record neither disappears nor changes). Counted:
    offsets.
    """

    name: ClassVar[str] = "inconsistent_offsets"
    title: ClassVar[str] = "an offset has one record: every read of it, at any time, shows the same"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.READS})
    cut: ClassVar[Cut | None] = Cut.OFFSET

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        proofs = events.filter(PROOF)
        value, control = pl.col("value"), pl.col("control")
        fields = occurring(proofs, STORED_FIELDS)
        differ = _differ(value) | (value.has_nulls() & value.is_not_null().any())
        if occurring(proofs, {"control": control}):
            differ |= _differ(control) | (control.has_nulls() & control.is_not_null().any())
        clash = (
            proofs.group_by(*KEY, "offset")
            .agg(
                differ=differ,
                change=pl.any_horizontal(map(_differ, fields.values())) if fields else False,
            )
            .filter(pl.col("differ") | pl.col("change"))
        )
        suspects = proofs.join(clash, on=[*KEY, "offset"])
        content = pl.coalesce(control + " marker", value.cast(pl.String), pl.lit("unreadable"))
        found = (
            suspects.filter("differ")
            .with_columns(content=content)
            .group_by(*KEY, "offset", "content")
            .agg(op=pl.col("op_id").min())
            .group_by(*KEY, "offset")
            .agg(ops="op", contents=pl.col("content").sort().str.join(", "))
        )
        message = pl.format("different records were seen at offset {}: {}", "offset", "contents")
        changed = pl.concat(
            [_changed(suspects.filter("change"), *field) for field in STORED_FIELDS.items()]
        )
        other = pl.format(
            "reads of {} at offset {} differ in {}: {}", "value", "offset", "field", "contents"
        )
        return pl.concat(
            [
                describe(found, KEY, "inconsistent-offset", ["ops"], message, "broker"),
                describe(changed, KEY, "record-changed", ["ops"], other, "broker"),
            ]
        )

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(events.filter(PROOF).select(*KEY, "offset").unique())


def _differ(field: pl.Expr) -> pl.Expr:
    return (field.min() != field.max()).fill_null(False)


def _changed(proofs: pl.LazyFrame, name: str, field: pl.Expr) -> pl.LazyFrame:
    """Return the records for which reads or acknowledgements differ in this field (name: its name,
    field: its expression), with the values that it had and the first operation that showed each."""
    return (
        proofs.with_columns(content=field.cast(pl.String))
        .filter(pl.col("value").is_not_null() & pl.col("content").is_not_null())
        .group_by(*KEY, "offset", "value", "content")
        .agg(op=pl.col("op_id").min())
        .group_by(*KEY, "offset", "value")
        .agg(ops="op", contents=pl.col("content").sort().str.join(", "), told=pl.len())
        .filter(pl.col("told") > 1)
        .with_columns(field=pl.lit(name))
    )
