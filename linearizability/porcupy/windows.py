"""Convert parts ("windows") of a Kafka history to operations of the model `partition_log`.

Offsets become ranks among the appends whose place is known: control records, aborted transactions
and compaction leave holes that mean nothing. Leaving appends out is sound, since a poll proves only
that its records were there (b = 0): the order of the rest still follows. So a partition of any size
can be searched window by window, and a failing one drawn small.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from linearizability.history import PARTITION, F
from linearizability.ingest import KEY
from linearizability.porcupy.append_order import appends, of_partitions, reads
from linearizability.porcupy.operations import NEVER, Operations, OperationsBuilder
from linearizability.porcupy.python_models import LogKind
from linearizability.porcupy.result import Annotation

TILE_APPENDS = 500
"""The number of appends in one window of a whole partition, since a search takes O(n²) memory."""
DRAWN_APPENDS = 60
DRAWN_POLLS = 40
DRAWN_POLLS_AT_ONCE = 6
"""The most concurrent polls to draw, since porcupine tries concurrent polls in every order to
explain a contradiction."""


@dataclass(frozen=True)
class Logs:
    """The known appends and the polls of all partitions, each partition under a number (`pid`).

    appends: pid, offset, value, op_id, process, lo, hi, acked.  polls: pid, offset, op_id, process,
    lo, hi.  start_ns: the earliest invocation, the zero of times shown to people.
    """

    partitions: pl.DataFrame
    appends: pl.DataFrame
    polls: pl.DataFrame
    start_ns: int


def logs_of(events: pl.LazyFrame) -> Logs:
    """Return the known log of every partition with an append whose place is known."""
    relevant = of_partitions(events).collect().lazy()
    placed = appends(relevant).collect()
    named = relevant.select(*KEY, *PARTITION).unique().collect()
    partitions = placed.select(KEY).unique().join(named, on=KEY).sort(KEY).with_row_index("pid")
    partitions = partitions.with_columns(pl.col("pid").cast(pl.Int64))

    def numbered(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.join(partitions.select("pid", *KEY), on=KEY).drop(KEY)

    start = events.select(pl.min("t_invoke_ns")).collect().item()
    return Logs(partitions, numbered(placed), numbered(reads(relevant).collect()), start or 0)


def tiles(logs: Logs, most_operations: int) -> tuple[Operations, list[int]]:
    """Cut whole partitions into windows of TILE_APPENDS consecutive appends, with the polls that
    received one of them. Return the operations, in which each window has its own key, and the
    partition number of each key. Beyond about `most_operations`, leave windows out evenly. Of
    several appends at one offset, keep only the first."""
    placed = (
        logs.appends.sort("pid", "offset", "op_id")
        .unique(["pid", "offset"], keep="first", maintain_order=True)
        .with_columns(rank=pl.int_range(pl.len()).over("pid"))
        .with_columns(tile=pl.col("rank") // TILE_APPENDS)
    )
    polled = (
        logs.polls.sort("offset")
        .join_asof(
            placed.sort("offset").select("pid", "offset", "rank", "tile"),
            on="offset",
            by="pid",
            strategy="backward",
            check_sortedness=False,
        )
        .drop_nulls("rank")
        .group_by("pid", "tile", "op_id", "lo", "hi")
        .agg(pl.max("rank"))
    )
    sends = placed.select(
        "pid", "tile", "rank", "lo", "hi", kind=pl.lit(LogKind.APPEND, dtype=pl.Int64)
    )
    given = polled.select(
        "pid", "tile", "rank", "lo", "hi", kind=pl.lit(LogKind.READ, dtype=pl.Int64)
    )
    rows = pl.concat([sends, given])
    keys = rows.select("pid", "tile").unique().sort("pid", "tile")
    share = max(1, -(-len(rows) // most_operations))
    keys = keys.gather_every(share).with_row_index("key")
    rows = rows.join(keys, on=["pid", "tile"]).sort("key", "lo")
    return _columns(rows), keys["pid"].to_list()


def _columns(rows: pl.DataFrame) -> Operations:
    """Return one operation for each row, an append or a read of one value. The value is the
    record's rank, so that an append and a read of the same record have the same value."""

    def column(name: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return rows[name].cast(pl.Int64).to_numpy()

    rank, kind, zero = column("rank") % TILE_APPENDS, column("kind"), np.zeros(len(rows), np.int64)
    return Operations(
        call=column("lo"),
        ret=column("hi"),
        client=zero,
        key=column("key"),
        kind=kind,
        a=np.where(kind == LogKind.READ, rank, 0),
        b=zero,
        c=np.where(kind == LogKind.APPEND, rank, 0),
        status=zero,
        vlen=zero + 1,
        vals=rank,
    )


def window(logs: Logs, pid: int, offset: int, op_ids: Sequence[int]) -> Operations:
    """Return the operations of a kernel's anomaly (its offset, its op_ids) and those nearest to it
    in time, up to DRAWN_APPENDS and DRAWN_POLLS, labelled for the drawing. pid: the partition's
    number."""
    placed = logs.appends.filter(pl.col("pid") == pid)
    polled = (
        logs.polls.filter(pl.col("pid") == pid)
        .group_by("op_id", "process", "lo", "hi")
        .agg(first=pl.min("offset"), offset=pl.max("offset"))
        .with_columns(involved=pl.col("op_id").is_in(op_ids))
    )
    involved = _contradicting(placed, offset, op_ids)
    spans = pl.concat([involved.select("lo", "hi"), polled.filter("involved").select("lo", "hi")])
    instants = [at for span in spans.iter_rows() for at in span if at < NEVER]
    distance = pl.max_horizontal(
        pl.lit(0), pl.col("lo") - max(instants), min(instants) - pl.col("hi")
    )
    nearest = [distance, (pl.col("offset") - offset).abs(), pl.col("op_id")]
    others = placed.join(involved, on="offset", how="anti").sort(nearest)
    others = others.unique("offset", keep="first", maintain_order=True)
    chosen = pl.concat([involved, others.head(max(0, DRAWN_APPENDS - len(involved)))])
    around = _not_crowded(polled.sort(~pl.col("involved"), *nearest).head(4 * DRAWN_POLLS))
    return _labelled(chosen, around.head(DRAWN_POLLS), logs.start_ns)


def _contradicting(placed: pl.DataFrame, offset: int, op_ids: Sequence[int]) -> pl.DataFrame:
    """Return the appends that contradict each other in the anomaly: those at its offset, and, of
    those above it, the one acknowledged first (an operation may have sent many records)."""
    candidates = placed.filter(pl.col("op_id").is_in(op_ids))
    at = candidates.filter(pl.col("offset") == offset)
    above = candidates.filter(pl.col("op_id").is_in(op_ids[1:]), pl.col("offset") > offset, "acked")
    return pl.concat([at, above.sort("hi", "offset").head(1)])


def _not_crowded(polled: pl.DataFrame) -> pl.DataFrame:
    """Return the polls without those that would overlap with DRAWN_POLLS_AT_ONCE kept before them;
    those that the anomaly names stay."""
    kept: list[tuple[int, int]] = []
    keep = []
    for lo, hi, involved in polled.select("lo", "hi", "involved").iter_rows():
        at_once = sum(other_lo <= hi and lo <= other_hi for other_lo, other_hi in kept)
        keep.append(involved or at_once < DRAWN_POLLS_AT_ONCE)
        if keep[-1]:
            kept.append((lo, hi))
    return polled.filter(pl.Series(keep, dtype=pl.Boolean))


def _labelled(placed: pl.DataFrame, polled: pl.DataFrame, start_ns: int) -> Operations:
    placed = placed.sort("offset", "op_id").with_columns(
        rank=pl.col("offset").rank("dense").cast(pl.Int64) - 1
    )
    ranks = placed.select("offset", "rank").unique("offset").sort("offset")
    polled = polled.sort("offset", "op_id").join_asof(ranks, on="offset", strategy="backward")
    polled = polled.drop_nulls("rank")
    intervals = [
        (process, lo, hi)
        for frame in (placed, polled)
        for process, lo, hi in frame.select("process", "lo", "hi").iter_rows()
    ]
    lanes = iter(_lanes(intervals))
    builder = OperationsBuilder()
    for number, row in enumerate(placed.iter_rows(named=True)):
        mark, outcome = ("", "") if row["acked"] else ("?", " (no acknowledgement of this offset)")
        builder.add(
            row["lo"],
            row["hi"],
            LogKind.APPEND,
            client=next(lanes),
            c=row["rank"],
            vals=[number],
            label=f"op {row['op_id']}: send → {row['offset']}{mark}\n"
            f"send {row['value']} → offset {row['offset']}{outcome}, "
            f"process {row['process']}, {_when(row, start_ns)}",
        )
    at_rank = {row["rank"]: n for n, row in enumerate(placed.iter_rows(named=True))}
    for row in polled.iter_rows(named=True):
        builder.add(
            row["lo"],
            row["hi"],
            LogKind.READ,
            client=next(lanes),
            a=row["rank"],
            vals=[at_rank[row["rank"]]],
            label=f"op {row['op_id']}: poll {row['first']}–{row['offset']}\n"
            f"poll given offsets {row['first']} to {row['offset']}, "
            f"process {row['process']}, {_when(row, start_ns)}",
        )
    return builder.build()


def _when(row: dict[str, int], start_ns: int) -> str:
    end = "?" if row["hi"] >= NEVER else f"{(row['hi'] - start_ns) / 1e9:.6f}"
    return f"{(row['lo'] - start_ns) / 1e9:.6f} to {end} s"


def _lanes(intervals: Sequence[tuple[int, int, int]]) -> list[int]:
    """Return a row of the drawing for each (process, lo, hi): a process has several rows if its
    operations overlap (a producer sends many at once)."""
    order = sorted(range(len(intervals)), key=lambda i: intervals[i])
    lanes, ends = [0] * len(intervals), dict[tuple[int, int], int]()
    for i in order:
        process, lo, hi = intervals[i]
        row = 0
        while ends.get((process, row), lo - 1) >= lo:
            row += 1
        ends[process, row] = hi
        lanes[i] = row
    pairs = sorted({(intervals[i][0], lanes[i]) for i in order})
    number = {pair: n for n, pair in enumerate(pairs)}
    return [number[intervals[i][0], lanes[i]] for i in range(len(intervals))]


def faults(events: pl.LazyFrame) -> list[Annotation]:
    """Return the faults as bands for the drawing: each from its start to the end of the next heal,
    or to NEVER."""
    rows = (
        events.filter(pl.col("f") == F.NEMESIS.value)
        .select("t_invoke_ns", "t_complete_ns", "detail")
        .sort("t_invoke_ns")
        .collect()
        .rows()
    )
    bands: list[Annotation] = []
    healed = NEVER
    for start, complete, detail in reversed(rows):
        name = _fault_name(detail)
        if name.startswith("Heal"):
            healed = complete or start
        else:
            bands.append(Annotation("nemesis", start, healed, name, detail or ""))
    return bands[::-1]


def _fault_name(detail: str | None) -> str:
    """Return {"fault": "Kill", "node": 1} in words, or the text itself if it is something else."""
    try:
        fault = json.loads(detail or "")
        rest = " ".join(f"{name}={value}" for name, value in fault.items() if name != "fault")
        return f"{fault['fault']} {rest}".strip()
    except (ValueError, KeyError, TypeError, AttributeError):
        return detail or "a fault"


def within(annotations: Sequence[Annotation], operations: Operations) -> list[Annotation]:
    """Return the annotations in the time of the operations, cut to it. There must be at least one
    operation."""
    start = int(operations.call.min())
    end = int(max(operations.call.max(), *operations.ret[operations.ret < NEVER], start))
    return [
        Annotation(a.tag, max(a.start, start), min(a.end, end), a.description, a.details, a.colour)
        for a in annotations
        if a.start <= end and a.end >= start
    ]
