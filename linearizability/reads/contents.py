"""The fields of a record besides its value, which every read must show as they were sent. A field
that a row leaves out agrees with anything: older histories know fewer of them."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from linearizability.ingest import IS_POLL, IS_SEND
from linearizability.plans import collect

FIELDS = ("checksum", "key", "tombstone", "timestamp_ms", "timestamp_type")
"""The columns with these fields."""
CREATED = "create"
_SET_BY_CLIENT = IS_SEND | (pl.col("timestamp_type") == CREATED).fill_null(False)
SENT_FIELDS: Mapping[str, pl.Expr] = {
    "checksum": pl.col("checksum"),
    "key": pl.col("key"),
    "tombstone": pl.col("tombstone"),
    "timestamp": pl.when(_SET_BY_CLIENT).then("timestamp_ms"),
}
"""The fields of a record that a send has, and every read repeats. (A broker sets the timestamp
itself where message.timestamp.type is LogAppendTime.)"""
STORED_FIELDS: Mapping[str, pl.Expr] = {
    **SENT_FIELDS,
    "timestamp": pl.when(IS_POLL).then("timestamp_ms"),
    "timestamp type": pl.when(IS_POLL).then("timestamp_type"),
}
"""The fields that every read of an offset shows."""


def columns(fields: Mapping[str, pl.Expr], prefix: str) -> list[pl.Expr]:
    """Return the fields as columns whose names begin with this prefix."""
    return [expression.alias(prefix + name) for name, expression in fields.items()]


def occurring(rows: pl.LazyFrame, fields: Mapping[str, pl.Expr]) -> dict[str, pl.Expr]:
    """Return those of the fields that some of these rows have."""
    told = collect(rows.select(field.is_not_null().any().alias(n) for n, field in fields.items()))
    return {name: field for name, field in fields.items() if told[name].item()}
