"""Describe operations in words, and records as a drawing of a log shows them."""

from __future__ import annotations

import json
import re
from itertools import groupby
from typing import Any

import polars as pl

from linearizability.history import NO_GENERATION, F, Type
from linearizability.ingest import DECIDED_BY

RECORDS_MAX = 4
"""The most records of one operation to list; the number of the others is given."""
POSITIONS: dict[str, str] = {
    F.COMMIT_OFFSETS.value: "next",
    F.FETCH_OFFSETS.value: "next",
    F.SEND_OFFSETS.value: "next",
    F.DELETE_RECORDS.value: "below",
    F.POSITION.value: "from",
}
"""Operations whose offset is not a record's -> a word for it: the group's next offset, the one
below which records are deleted, or the one from which a reader reads."""
BOUNDS = {
    "high_watermark": "high watermark",
    "last_stable_offset": "last stable offset",
    "log_start": "log start",
}
DECIDED = re.compile(DECIDED_BY.replace("{}", r"(\d+)"))
END_OF_HISTORY = -1
"""The process number of rows that an importer adds after the last event."""
Row = dict[str, Any]


def operations_of(rows: pl.DataFrame) -> list[list[Row]]:
    """Return the rows by operation, in the order of invocation; those of one operation in the order
    of record_index."""
    found: dict[int, list[Row]] = {}
    for row in rows.sort("t_invoke_ns", "op_id", "record_index").iter_rows(named=True):
        found.setdefault(row["op_id"], []).append(row)
    return list(found.values())


def in_words(operation: list[Row]) -> str:
    """Return one line that describes an operation: process, action, place, RECORDS_MAX of its
    records at most, and outcome. operation: its rows, at least one."""
    first = operation[0]
    if first["f"] == F.NEMESIS.value:
        return f"{first['op_id']}: fault {_fault(first['detail'])}"
    if first["f"] == F.READ_ALL.value and first["process"] == END_OF_HISTORY:
        return f"the end of the history: {first['topic']}-{first['partition']} counts as read whole"
    told = groupby(operation[:RECORDS_MAX], key=_where)
    what = "; ".join(f"{where} {', '.join(map(_what, rows))}".rstrip() for where, rows in told)
    if len(operation) > RECORDS_MAX:
        what += f" and {len(operation) - RECORDS_MAX} more"
    group = f" in group {first['group']}" if first["group"] is not None else ""
    if first["generation"] == NO_GENERATION:
        group += ", in the name of no member"
    elif first["generation"] is not None:
        group += f", generation {first['generation']}"
    inside = f" in transaction {first['txn']}" if first["txn"] is not None else ""
    who = f"{first['op_id']}: process {first['process']}"
    decided = f", {first['detail']}" if decider(first) is not None else ""
    return f"{who} {what}{group}{inside}: {outcome(first)}{decided}"


def decider(row: Row) -> int | None:
    """Return the number of the operation from which an imported operation of unknown outcome got
    its outcome, or None for any other operation."""
    found = DECIDED.search(row["detail"] or "")
    return None if found is None else int(found[1])


def outcome(row: Row) -> str:
    """Return the operation's outcome as its client knew it: ok, fail or info. It is info for an
    operation whose outcome an importer took from another operation."""
    return str(row["type"]) if decider(row) is None else Type.INFO.value


def _fault(detail: str | None) -> str:
    try:
        return str(json.loads(detail or "")["fault"])
    except (ValueError, TypeError, KeyError):
        return detail or ""


def _where(row: Row) -> str:
    place = f" {row['topic']}-{row['partition']}" if row["topic"] is not None else ""
    replica = f" replica {row['replica']}" if row["replica"] is not None else ""
    return f"{row['f']}{place}{replica}"


def _what(row: Row) -> str:
    """Return a description of the row's record, or of the answer if it has no record. Return "" if
    there is nothing to describe."""
    if row["settings"] is not None:
        return str(row["settings"])
    if row["f"] in POSITIONS:
        offset = "nothing" if row["offset"] is None else f"{POSITIONS[row['f']]} {row['offset']}"
        return offset + _asked(row)
    if row["f"] == F.INIT_PRODUCER.value and row["producer_id"] is not None:
        return f"producer {row['producer_id']}, epoch {row['producer_epoch']}"
    if row["offset"] is not None:
        return f"{held(row)} at {row['offset']}"
    if row["f"] == F.SEND.value:
        return held(row)
    bounds = ", ".join(f"{word} {row[c]}" for c, word in BOUNDS.items() if row[c] is not None)
    is_empty = row["f"] == F.POLL.value or (row["f"] == F.OWNED.value and row["topic"] is None)
    return bounds or ("nothing" if is_empty else "")


def _asked(row: Row) -> str:
    """Return the position that a reader requested, in words, or ""."""
    if row["asked"] is None:
        return ""
    number = "" if row["asked_offset"] is None else f" {row['asked_offset']}"
    return f" (asked for {row['asked']}{number})"


def held(row: Row) -> str:
    """Return what a drawing shows at the row's offset: the value (? if it is unreadable), the kind
    of a control record, or for rows that name a position the word of POSITIONS."""
    if row["control"] is not None:
        return str(row["control"]).upper()
    if row["f"] in POSITIONS:
        return POSITIONS[row["f"]]
    value = "?" if row["value"] is None else str(row["value"])
    return f"{value} (null)" if row["tombstone"] else value
