"""Judge registers: a read must return what was written last.

A workload that reads the last record of a partition (rows f = "read_latest") uses the partition as
a register: each record writes it. Porcupine searches for an order of writes and reads that respects
real time (model `register`; if the executable is not built, its counterpart in Python searches).

A write of unknown outcome may happen at any time after its call, or never; a write that no read
shows is left out, since it may never have happened. A partition without a write reads as 0, which
is never a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from linearizability import history
from linearizability.history import PARTITION, F, Type
from linearizability.porcupy import (
    OK,
    REGISTER,
    UNKNOWN,
    OperationsBuilder,
    PartitionResult,
    RegisterKind,
    check,
    find_executable,
)
from linearizability.verdict import Anomaly, CheckerVerdict, Validity

NAME = "register (porcupine)"
NOTHING = 0
IS_READ = (pl.col("f") == F.READ_LATEST.value) & (pl.col("type") == Type.OK.value)
IS_WRITE = (pl.col("f") == F.SEND.value) & (pl.col("type") != Type.FAIL.value)
MOST_NAMED = 20


def judge_registers(
    path: Path | str, *, timeout_s: float = 60, memory_mib: int = 1024
) -> CheckerVerdict | None:
    """Return the opinion on all registers of a history, or None if it has none. A search beyond
    timeout_s or memory_mib is UNKNOWN. Counted: operations. Raise HistoryError if there is no valid
    history."""
    events = registers_of(history.scan(Path(path)))
    if events.is_empty():
        return None
    builder, op_ids = OperationsBuilder(), list[int]()
    for key, (_, rows) in enumerate(events.group_by(PARTITION, maintain_order=True)):
        op_ids += _add(builder, key, rows)
    result = check(
        "register" if find_executable() is not None else REGISTER,
        builder.build(),
        timeout_s=timeout_s,
        memory_mib=memory_mib,
    )
    places = events.select(PARTITION).unique(maintain_order=True).rows(named=True)
    anomalies = tuple(
        _anomaly(part, places[part.key], op_ids)
        for part in result.partitions
        if part.verdict is Validity.INVALID
    )
    searched = sum(part.operations for part in result.partitions)
    return CheckerVerdict(NAME, result.verdict, searched, anomalies, len(anomalies), result.reason)


def registers_of(events: pl.LazyFrame) -> pl.DataFrame:
    """Return the reads and writes of every partition that is used as a register, sorted by
    partition and op_id. Failed ones, and writes of unknown outcome that no read shows, are left
    out."""
    reads = events.filter(IS_READ)
    shown = reads.select(*PARTITION, "value").filter(pl.col("value").is_not_null()).unique()
    writes = events.filter(IS_WRITE).join(
        reads.select(PARTITION).unique(), on=PARTITION, how="semi", nulls_equal=True
    )
    unknown = pl.col("type") == Type.INFO.value
    seen = writes.filter(unknown).join(
        shown, on=[*PARTITION, "value"], how="semi", nulls_equal=True
    )
    columns = (*PARTITION, "op_id", "process", "f", "type", "value", "t_invoke_ns", "t_complete_ns")
    found = [each.select(columns) for each in (reads, writes.filter(~unknown), seen)]
    return pl.concat(found).sort(*PARTITION, "op_id").collect()


def _add(builder: OperationsBuilder, key: int, rows: pl.DataFrame) -> Iterator[int]:
    """Add a register's operations; yield their op_ids in the order in which they were added."""
    for row in rows.iter_rows(named=True):
        known = row["type"] == Type.OK.value
        value = NOTHING if row["value"] is None else row["value"]
        is_read = row["f"] == F.READ_LATEST.value
        builder.add(
            row["t_invoke_ns"],
            row["t_complete_ns"] if known else None,
            RegisterKind.READ if is_read else RegisterKind.WRITE,
            key=key,
            client=row["process"],
            status=OK if known else UNKNOWN,
            a=0 if is_read else value,
            c=value if is_read else 0,
        )
        yield row["op_id"]


def _anomaly(part: PartitionResult, place: dict[str, object], op_ids: list[int]) -> Anomaly:
    blocked = tuple(op_ids[index] for index in part.blocked[:MOST_NAMED])
    message = (
        f"no order of the writes and reads of {place['topic']}-{place['partition']} explains what"
        " was read"
    )
    return Anomaly("not-linearizable", blocked, message, place, "broker")
