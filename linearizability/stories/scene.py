"""Look up the records, the operations and the faults behind anomalies in the history.

The history is read twice: for the rows that the anomalies name, then for all later rows about those
records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from linearizability.bounds import NANOSECONDS
from linearizability.excuses.fault_spans import Fault, fault_spans, overlapping
from linearizability.history import F, Type
from linearizability.ingest import IS_FINAL
from linearizability.stories.mentions import IS_RECORD, Mentions
from linearizability.verdict import Anomaly

Row = Mapping[str, Any]
Place = tuple[str, int]
VALUE = ["topic", "partition", "value"]
OFFSET = ["topic", "partition", "offset"]
COLUMNS = (
    "op_id",
    "process",
    "client",
    "f",
    "type",
    "final",
    "topic",
    "partition",
    "replica",
    "offset",
    "control",
    "value",
    "txn",
    "t_invoke_ns",
    "t_complete_ns",
)


@dataclass(frozen=True)
class Record:
    """A record that an anomaly names, and its later history.

    send: the row of its send. seen: the last time that a reader received it before the final phase.
    stands_at: the offsets at which the final reads, or else all reads, found it. instead: the last
    row that shows something else at its offset. instead_send: the send of that other record.
    """

    topic: str
    partition: int
    value: int | None
    offset: int | None
    send: Row | None
    seen: Row | None
    stands_at: tuple[int, ...]
    instead: Row | None
    instead_send: Row | None = None

    @property
    def place(self) -> Place:
        """Topic and partition."""
        return self.topic, self.partition


@dataclass(frozen=True)
class Scene:
    """The facts around the anomalies. Times of rows are nanoseconds of the history's clock.

    episodes: groups of faults that overlap. operations: op_id -> its first row. records: position
    of an anomaly -> the records that it names. ends: partition -> the last reading of its whole
    log. writers: the processes that sent records.
    """

    start_ns: int
    end_ns: int
    episodes: Sequence[Sequence[Fault]]
    operations: Mapping[int, Row]
    records: Mapping[int, tuple[Record, ...]]
    ends: Mapping[Place, Row]
    writers: frozenset[int]

    def seconds(self, ns: int) -> float:
        """Return a time as seconds since the first invocation."""
        return (ns - self.start_ns) / NANOSECONDS

    def role(self, row: Row) -> str:
        """Return the name of the process that did the operation, such as "writer 3 (confluent)". A
        negative process number stands for the end of an imported history."""
        process = row["process"]
        role = "writer" if process in self.writers else "reader"
        if row["final"] and process not in self.writers:
            role = "final reader"
        if row["f"] == F.POLL.value and process in self.writers:
            role = "process"  # it transforms: it reads here, and writes elsewhere
        if process < 0:
            return "the end of the history"
        return f"{role} {process}" + (f" ({row['client']})" if row["client"] else "")


def scene_of(history: pl.LazyFrame, anomalies: Sequence[Anomaly]) -> Scene:
    """Return the part of the history that is needed to describe these anomalies."""
    mentions = Mentions(anomalies)
    named = pl.col("op_id").is_in(mentions.operations["op_id"].unique().implode())
    small = history.select(*COLUMNS, "record_index")
    bounds, operations, rows, ends, writers = pl.collect_all(
        [
            history.select(
                start=pl.col("t_invoke_ns").min(),
                end=pl.max_horizontal("t_invoke_ns", "t_complete_ns").max(),
            ),
            small.filter(named)
            .group_by("op_id")
            .agg(
                pl.exclude("t_complete_ns").sort_by("record_index").first(),
                pl.col("t_complete_ns").max(),
            ),
            small.filter(mentions.rows_of_interest()),
            _whole_reads(history),
            history.filter(pl.col("f") == F.SEND.value).select(pl.col("process").unique()),
        ]
    )
    start_ns, end_ns = bounds.row(0)
    start_ns, end_ns = start_ns or 0, end_ns or 0
    records = mentions.records(rows)
    return Scene(
        start_ns,
        end_ns,
        overlapping(fault_spans(history, start_ns, end_ns)),
        {row["op_id"]: row for row in operations.iter_rows(named=True)},
        _with_fates(records, history, ends),
        {(row["topic"], row["partition"]): row for row in ends.iter_rows(named=True)},
        frozenset(writers["process"].to_list()),
    )


def _whole_reads(history: pl.LazyFrame) -> pl.LazyFrame:
    """Return the last complete read of each partition, out of those whose high watermark is
    known."""
    is_whole = (pl.col("f") == F.READ_ALL.value) & (pl.col("type") == Type.OK.value)
    told = is_whole & pl.col("high_watermark").is_not_null() & pl.col("topic").is_not_null()
    return (
        history.filter(told & pl.col("replica").is_null())
        .sort("t_complete_ns", "op_id", nulls_last=False)
        .unique(["topic", "partition"], keep="last", maintain_order=True)
        .select(
            "topic", "partition", "op_id", "t_invoke_ns", "high_watermark", "log_start", IS_FINAL
        )
    )


def _with_fates(
    records: pl.DataFrame, history: pl.LazyFrame, ends: pl.DataFrame
) -> dict[int, tuple[Record, ...]]:
    """Return the records of each anomaly, by its number, each with its send and what became of it:
    where it was last seen, where the final reads have it, and which record is at its offset
    instead."""
    values = records.select(VALUE).drop_nulls().unique()
    offsets = records.select(OFFSET).drop_nulls().unique()
    is_meant = pl.col("value").is_in(values["value"].unique().implode())
    is_near = pl.col("offset").is_in(offsets["offset"].unique().implode())
    rows = history.filter(IS_RECORD & (is_meant | is_near)).select(COLUMNS).collect()
    rows = rows.sort("t_invoke_ns", "op_id")
    sends = _sends(rows)
    ours = rows.join(values, on=VALUE, how="semi", maintain_order="left")
    seen, stands = _sights(ours, ends.filter("final").select("topic", "partition"))
    there: dict[tuple[Any, ...], list[Row]] = {}
    shown = rows.filter((pl.col("f") == F.POLL.value) & pl.col("replica").is_null())
    shown = shown.join(offsets, on=OFFSET, how="semi", maintain_order="left")
    for row in shown.unique([*OFFSET, "value"], keep="last", maintain_order=True).iter_rows(
        named=True
    ):
        there.setdefault((row["topic"], row["partition"], row["offset"]), []).append(row)
    found: dict[int, list[Record]] = {}
    for i, topic, partition, value, offset in records.iter_rows():
        key = (topic, partition, value)
        others = [row for row in there.get((topic, partition, offset), ()) if row["value"] != value]
        instead = others[-1] if others else None
        its_send = None if instead is None else sends.get(_value(instead))
        record = Record(
            *(topic, partition, value, offset),
            sends.get(key),
            seen.get(key),
            stands.get(key, ()),
            instead,
            its_send,
        )
        found.setdefault(i, []).append(record)
    return {i: tuple(some) for i, some in found.items()}


def _sends(rows: pl.DataFrame) -> dict[Any, Row]:
    """Return the send of each value. If there are several, return the one with the best outcome,
    and of those the first."""
    order = pl.col("type").replace_strict({"ok": 0, "info": 1, "fail": 2}, default=3)
    sent = rows.filter(pl.col("f") == F.SEND.value).sort(order, "t_invoke_ns", maintain_order=True)
    once = sent.unique(VALUE, keep="first", maintain_order=True)
    return {_value(row): row for row in once.iter_rows(named=True)}


def _sights(
    ours: pl.DataFrame, read_whole: pl.DataFrame
) -> tuple[dict[Any, Row], dict[Any, tuple[int, ...]]]:
    """Return, for each value, the last poll before the final phase that returned it, and the
    offsets at which it is in the end. A value is gone if the final phase read its whole partition
    (`read_whole`) and did not find it."""
    polls = ours.filter(pl.col("f") == F.POLL.value)
    final = IS_FINAL
    running = polls.filter(~final).unique(VALUE, keep="last", maintain_order=True)
    seen: dict[Any, Row] = {_value(row): row for row in running.iter_rows(named=True)}
    elsewhere = polls.join(read_whole, on=["topic", "partition"], how="anti")
    last = pl.concat([polls.filter(final), elsewhere.filter(~final)])
    offsets = last.group_by(VALUE).agg(offsets=pl.col("offset").unique().sort())
    stands = {_value(row): tuple(row["offsets"]) for row in offsets.iter_rows(named=True)}
    return seen, stands


def _value(row: Row) -> tuple[Any, ...]:
    return row["topic"], row["partition"], row["value"]
