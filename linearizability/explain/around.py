"""Find the evidence that a drawing shows beside the operations of a shrunk history.

That is: the evidence that an operation of unknown outcome took effect; the record that was found at
the offset of a lost one, and its writer; the dependencies between transactions that form a cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from linearizability.checkers.base import COLUMNS_READ
from linearizability.explain.drawing import NOTHING, Around, Arrow
from linearizability.explain.words import Row, decider, operations_of
from linearizability.guarantees import abouts
from linearizability.history import F, Type
from linearizability.stories.scene import VALUE, Record, Scene

WITH_ARROWS = frozenset(name for name, about in abouts().items() if about.arrows)
"""Checkers whose anomalies are about which transaction received records of which other one."""
ARROWS_MAX = 24


@dataclass(frozen=True)
class Beside:
    """The rows of further operations to draw, and why: op_id -> the reason, in words."""

    rows: pl.DataFrame
    why: dict[int, str]


def with_around(
    history: pl.LazyFrame, checker: str, rows: pl.DataFrame, records: Sequence[Record], scene: Scene
) -> tuple[list[list[Row]], Around]:
    """Return the operations to draw, in order, and the facts to draw beside them.

    rows: the shrunk history. records: those that the anomaly names.
    """
    wide = history.select(COLUMNS_READ)
    found = [*deciding(wide, rows), *_in_their_place(wide, records)]
    why = {op: word for each in reversed(found) for op, word in each.why.items()}
    every = pl.concat([rows, *(each.rows for each in found)])
    operations = operations_of(every.unique(["op_id", "record_index"]))
    arrows = tuple(arrows_of(operations))[:ARROWS_MAX] if checker in WITH_ARROWS else ()
    faults = [fault for episode in scene.episodes for fault in episode]
    return operations, Around(scene.start_ns, faults, why, arrows, dict(_now(records, scene)))


def deciding(history: pl.LazyFrame, rows: pl.DataFrame) -> Iterator[Beside]:
    """Yield the operations that show whether operations of unknown outcome among these rows took
    effect: for each the first that received one of its records, and those that an importer
    names."""
    is_unknown = pl.col("type") == Type.INFO.value
    is_end = pl.col("f").is_in([F.COMMIT.value, F.ABORT.value])
    unknown = rows.filter(is_unknown & ((pl.col("f") == F.SEND.value) | is_end))
    txns = unknown.filter(is_end)["txn"].drop_nulls().unique()
    of_txns = (pl.col("f") == F.SEND.value) & pl.col("txn").is_in(txns.implode())
    sent = pl.concat(
        [
            unknown.filter(pl.col("value").is_not_null()).select(*VALUE, of="op_id"),
            history.filter(of_txns & pl.col("value").is_not_null())
            .select(*VALUE, "txn")
            .collect()
            .join(unknown.filter(is_end).select("txn", of="op_id"), on="txn")
            .select(*VALUE, "of"),
        ]
    )
    if not sent.is_empty():
        polls = history.filter(
            (pl.col("f") == F.POLL.value) & pl.col("value").is_in(sent["value"].implode())
        )
        first = (
            polls.collect()
            .join(sent, on=VALUE)
            .sort("t_complete_ns", "op_id", "record_index")
            .unique("of", keep="first", maintain_order=True)
        )
        pairs = first.select("op_id", "of").iter_rows()
        why = {op: f"shows that operation {of} took effect" for op, of in pairs}
        yield Beside(first.drop("of"), why)
    yield from _told_by_importer(history, rows)


def _told_by_importer(history: pl.LazyFrame, rows: pl.DataFrame) -> Iterator[Beside]:
    told = rows.filter(pl.col("detail").is_not_null()).select("op_id", "txn", "detail").unique()
    for op_id, txn, detail in told.iter_rows():
        by = decider({"detail": detail})
        if by is None:
            continue
        sent = history.filter((pl.col("txn") == txn) & (pl.col("f") == F.SEND.value))
        polled = history.filter((pl.col("op_id") == by) & (pl.col("f") == F.POLL.value))
        given = polled.join(sent.select(VALUE), on=VALUE, how="semi").collect()
        yield Beside(given, {by: f"shows that operation {op_id} took effect"})


def _in_their_place(history: pl.LazyFrame, records: Sequence[Record]) -> Iterator[Beside]:
    """Yield the operations that received another record at the offset of one of these records, and
    the operations that sent that one."""
    for record in records:
        if record.instead is None or record.offset in record.stands_at:
            continue
        place = (pl.col("topic") == record.topic) & (pl.col("partition") == record.partition)
        value = pl.col("value") == record.instead["value"]
        read = record.instead["op_id"]
        at = (pl.col("op_id") == read) & (pl.col("offset") == record.offset)
        is_send = pl.lit(False)
        why = {read: f"found this at offset {record.offset} instead"}
        if record.instead_send is not None:
            sent = record.instead_send["op_id"]
            is_send = (pl.col("op_id") == sent) & (pl.col("f") == F.SEND.value)
            why[sent] = "wrote the record that stands there instead"
        yield Beside(history.filter(place & value & (at | is_send)).collect(), why)


def _now(records: Sequence[Record], scene: Scene) -> Iterator[tuple[tuple[str, int, int], str]]:
    """Yield ((topic, partition, offset), content) for each record whose offset holds something
    else, or is known to hold nothing, at the end of the run."""
    for record in records:
        if record.offset is None or record.offset in record.stands_at:
            continue
        at = (record.topic, record.partition, record.offset)
        if record.instead is not None:
            yield at, "?" if record.instead["value"] is None else str(record.instead["value"])
        elif record.place in scene.ends:
            yield at, NOTHING


def arrows_of(operations: Iterable[list[Row]]) -> Iterator[Arrow]:
    """Yield an arrow for each dependency of one transaction on another: it was given a record of
    the other; or else its commit was asked for after the other's had been answered."""
    rows = [row for operation in operations for row in operation]
    sent = {
        (row["topic"], row["partition"], row["value"]): row
        for row in rows
        if row["f"] == F.SEND.value
    }
    joined = set()
    for row in rows:
        writer = sent.get((row["topic"], row["partition"], row["value"]))
        if row["f"] == F.POLL.value and writer is not None and writer["op_id"] != row["op_id"]:
            joined.add((writer["txn"], row["txn"]))
            words = f"operation {row['op_id']} read record {row['value']}"
            yield Arrow(writer["op_id"], row["op_id"], words)
    ends = [row for row in rows if row["f"] == F.COMMIT.value and row["t_complete_ns"] is not None]
    for first in ends:
        for second in ends:
            apart = (first["txn"], second["txn"])
            if first["t_complete_ns"] < second["t_invoke_ns"] and apart not in joined:
                words = f"operation {first['op_id']} was acknowledged before the other began"
                yield Arrow(first["op_id"], second["op_id"], words)
