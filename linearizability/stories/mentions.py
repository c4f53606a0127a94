"""Find the records that an anomaly speaks of.

An anomaly names operations, which may hold thousands of records, and a sentence, which names values
and offsets. It means the records of the history of which the sentence names both value and offset.
If there are none, it means records of these operations that were sent with such a value; else those
at such an offset; else those read with such a value; else all that were sent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from linearizability.history import F, Type
from linearizability.verdict import Anomaly

OPERATIONS_MAX = 64
"""The most operations of one anomaly to look at."""
NUMBERS_MAX = 12
RECORDS_MAX = 8
"""The most records of one anomaly to take."""
OFFSETS = re.compile(r"(?:offsets? |@)((?:\d+(?:, | and | to )?)+)")
NUMBER = re.compile(r"(?<!\d)-?\d{1,19}(?!\d)")
"""A number of at most 19 digits: 64 bits need no more, and Python refuses to read 5,000."""
INT64 = range(-(2**63), 2**63)
IS_RECORD = (
    pl.col("f").is_in([F.SEND.value, F.POLL.value])
    & pl.col("control").is_null()
    & pl.col("topic").is_not_null()
    & pl.col("partition").is_not_null()
)
RECORD = ["topic", "partition", "value", "offset"]


def numbers_in(message: str) -> tuple[list[int], list[int]]:
    """Return the offsets that a sentence names, and its other numbers: each once, at most
    NUMBERS_MAX offsets and NUMBERS_MAX others, and only those of 64 bits."""
    offsets = [int(n) for found in OFFSETS.findall(message) for n in NUMBER.findall(found)]
    rest = OFFSETS.sub(" ", message)
    others = [int(number) for number in NUMBER.findall(rest)]
    return (
        [number for number in dict.fromkeys(offsets) if number in INT64][:NUMBERS_MAX],
        [number for number in dict.fromkeys(others) if number in INT64][:NUMBERS_MAX],
    )


class Mentions:
    """The operations, values and offsets that anomalies name, as tables. `i`: the position of the
    anomaly."""

    def __init__(self, anomalies: Sequence[Anomaly]) -> None:
        places: list[tuple[object, ...]] = []
        operations: list[tuple[object, ...]] = []
        values: list[tuple[object, ...]] = []
        offsets: list[tuple[object, ...]] = []
        for i, anomaly in enumerate(anomalies):
            topic, partition = anomaly.scope.get("topic"), anomaly.scope.get("partition")
            places.append((i, topic, partition if topic is not None else None))
            operations += [(i, op) for op in anomaly.operations[:OPERATIONS_MAX]]
            of_offsets, of_values = numbers_in(anomaly.message)
            value = anomaly.scope.get("value")
            values += [(i, n) for n in of_values]
            values += [(i, value)] * (isinstance(value, int) and value not in of_values)
            offsets += [(i, n) for n in of_offsets]
        self.places = _table(places, topic=pl.String, partition=pl.Int32)
        self.operations = _table(operations, op_id=pl.Int64)
        self.values = _table(values, value=pl.Int64)
        self.offsets = _table(offsets, offset=pl.Int64)

    def rows_of_interest(self) -> pl.Expr:
        """Return the filter for the rows of a history that an anomaly may mention."""
        value = pl.col("value").is_in(self.values["value"].unique().implode())
        offset = pl.col("offset").is_in(self.offsets["offset"].unique().implode())
        named = pl.col("op_id").is_in(self.operations["op_id"].unique().implode())
        is_send = pl.col("f") == F.SEND.value
        return IS_RECORD & ((named & (is_send | value | offset)) | (value & (is_send | offset)))

    def records(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return (i, topic, partition, value, offset) for up to RECORDS_MAX records that anomaly
        number i speaks of, found by the values, offsets and operations that the anomaly names.
        rows: those that pass `rows_of_interest`."""
        sends = rows.filter((pl.col("f") == F.SEND.value) & (pl.col("type") != Type.FAIL.value))
        by_op = self.operations.join(self.places, on="i").rename(
            {"topic": "own_topic", "partition": "own_partition"}
        )
        both = (
            self.places.join(self.values, on="i")
            .join(self.offsets, on="i")
            .join(rows.select(RECORD).unique(), on=RECORD)
        )
        sent = _here(by_op.join(self.values, on="i").join(sends, on=["op_id", "value"]))
        at = _here(by_op.join(self.offsets, on="i").join(rows, on=["op_id", "offset"]))
        read = _here(by_op.join(self.values, on="i").join(rows, on=["op_id", "value"]))
        any_sent = _here(by_op.join(sends, on="op_id"))
        columns = ["i", *RECORD]
        tiers = [
            found.select(columns).with_columns(tier=pl.lit(number))
            for number, found in enumerate((both, sent, at, read, any_sent))
        ]
        return (
            pl.concat(tiers)
            .filter(pl.col("tier") == pl.col("tier").min().over("i"))
            .select(columns)
            .unique()
            .sort(columns)
            .group_by("i", maintain_order=True)
            .head(RECORDS_MAX)
        )


def _here(found: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that lie in the anomaly's own partition, or all rows of an anomaly that names
    none."""
    own = pl.col("own_topic")
    is_here = (own == pl.col("topic")) & (pl.col("own_partition") == pl.col("partition"))
    return found.filter(own.is_null() | is_here.fill_null(False))


def _table(rows: Sequence[tuple[object, ...]], **columns: type[pl.DataType]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"i": pl.Int64, **columns}, orient="row")
