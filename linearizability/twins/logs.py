"""Conclude facts from raw reads and settings, in plain loops, for several twins."""

from __future__ import annotations

import json
from typing import Any

from linearizability.twins.facts import Row, is_proof, is_read

HOUR_MS = 3_600_000


def is_marker(row: Row) -> bool:
    return bool(row["f"] == "read_all" and row["type"] == "ok")


def settings_told(rows: list[Row], place: Any) -> list[tuple[dict[str, str], Row]]:
    return [
        (json.loads(r["settings"]), r)
        for r in rows
        if r["f"] == "topic" and r["place"] == place and r["settings"] is not None
    ]


def raw_reads(rows: list[Row]) -> list[list[Row]]:
    """Return the records and markers of each raw read of a partition of one replica, in the order
    of reading."""
    reads: dict[Any, list[Row]] = {}
    for row in rows:
        if is_read(row) and is_proof(row) and row["producer_id"] is not None:
            reads.setdefault((row["place"], row["op_id"], row["replica"]), []).append(row)
    return list(reads.values())


def of_producers(read: list[Row]) -> list[list[Row]]:
    producers: dict[int, list[Row]] = {}
    for row in read:
        if row["producer_id"] >= 0:
            producers.setdefault(row["producer_id"], []).append(row)
    return list(producers.values())
