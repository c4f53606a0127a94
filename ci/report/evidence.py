"""Select the rows of the history that prove an anomaly to the reader."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from ci.report.model import Evidence, Tone
from ci.report.recorded import Recorded
from linearizability.history import F
from linearizability.verdict import Anomaly

ROWS_MAX = 8
"""The most rows of one operation to show. A final read has thousands of records, of which only a
few matter."""
OPERATIONS_MAX = 12
TONES = {"ok": Tone.GOOD, "fail": Tone.BAD, "info": Tone.UNKNOWN}
OUTCOMES = {"ok": "ok", "fail": "failed", "info": "unknown"}
NUMBER = re.compile(r"(?<![\w-])\d+")
"""The pattern of a number that is not part of a name: "t-0" names a partition, and not the number
0."""


def rows_of(run: Recorded, anomalies: Iterable[Anomaly]) -> dict[int, list[dict[str, Any]]]:
    """Return op_id -> its rows of the history, for the first OPERATIONS_MAX operations that each of
    these anomalies names."""
    wanted = sorted({op for anomaly in anomalies for op in anomaly.operations[:OPERATIONS_MAX]})
    if run.rows is None or not wanted:
        return {}
    found = run.rows.filter(pl.col("op_id").is_in(wanted)).sort("op_id", "record_index").collect()
    rows: dict[int, list[dict[str, Any]]] = {}
    for row in found.iter_rows(named=True):
        rows.setdefault(row["op_id"], []).append(row)
    return rows


def evidence_of(
    run: Recorded, anomaly: Anomaly, rows: dict[int, list[dict[str, Any]]]
) -> tuple[tuple[Evidence, ...], int]:
    """Return the rows that prove this anomaly, in order of time, and the number of further rows
    that were left out."""
    named = {int(number) for number in NUMBER.findall(anomaly.message)}
    shown: list[Evidence] = []
    left_out = 0
    operations = [op for op in anomaly.operations[:OPERATIONS_MAX] if op in rows]
    for operation in sorted(operations, key=lambda op: int(rows[op][0]["t_invoke_ns"])):
        inside = [row for row in rows[operation] if _in_scope(row, anomaly)] or rows[operation]
        kept = _that_matter(inside, named)
        left_out += len(rows[operation]) - len(kept)
        places = {id(row): index for index, row in enumerate(rows[operation])}
        shown += [_evidence(run, row, named, places[id(row)]) for row in kept]
    return tuple(shown), left_out


def _in_scope(row: dict[str, Any], anomaly: Anomaly) -> bool:
    return all(
        row.get(column) == value
        for column, value in anomaly.scope.items()
        if column in row and value is not None and row.get(column) is not None
    )


def _is_named(row: dict[str, Any], named: set[int]) -> bool:
    return row["value"] in named or row["offset"] in named


def _that_matter(rows: Sequence[dict[str, Any]], named: set[int]) -> list[dict[str, Any]]:
    """Return all rows if there are at most ROWS_MAX. Else return up to that many: those of records
    that the anomaly's sentence names, then their neighbours and the row with a final read's range;
    or the first and the last row, if there are none of these."""
    if len(rows) <= ROWS_MAX:
        return list(rows)
    hits = [i for i, row in enumerate(rows) if _is_named(row, named)]
    near = {i + step for i in hits for step in (-1, 0, 1)}
    near |= {i for i, row in enumerate(rows) if row["f"] == F.READ_ALL.value}
    near |= {0, len(rows) - 1} if not near else set()
    ranked = sorted((i for i in near if 0 <= i < len(rows)), key=lambda i: (i not in hits, i))
    return [rows[i] for i in sorted(ranked[:ROWS_MAX])]


def _evidence(run: Recorded, row: dict[str, Any], named: set[int], index: int) -> Evidence:
    start_ns = run.bounds_ns[0]
    completed = row["t_complete_ns"]
    until = " – never" if completed is None else f" – {(completed - start_ns) / 1e9:.4f}"
    place = f"{row['topic']}-{row['partition']}" if row["topic"] is not None else ""
    return Evidence(
        operation=row["op_id"],
        process=run.roles.get(row["process"], str(row["process"])),
        f=row["f"],
        place=place,
        value=_number(row["value"]),
        offset=_number(row["offset"]),
        time=f"{(row['t_invoke_ns'] - start_ns) / 1e9:.4f}{until}",
        outcome=OUTCOMES[row["type"]] + (f" {row['error']}" if row["error"] else ""),
        tone=TONES[row["type"]],
        detail=_detail(row),
        is_named=_is_named(row, named),
        index=index,
    )


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _detail(row: dict[str, Any]) -> str:
    """Return the values of the row that have no column of the table: the client and the isolation
    level, then each other one after its name, then the row's own `detail`."""
    columns = (
        "control",
        "producer_id",
        "producer_epoch",
        "sequence",
        "leader_epoch",
        "replica",
        "txn",
        "log_start",
        "high_watermark",
        "acks",
    )
    known = [str(row[column]) for column in ("client", "isolation") if row[column] is not None]
    known += [f"{column} {row[column]}" for column in columns if row[column] is not None]
    if row["idempotent"]:
        known.append("idempotent")
    return ", ".join(known + ([row["detail"]] if row["detail"] else []))
