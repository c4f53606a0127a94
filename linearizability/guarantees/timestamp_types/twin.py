"""Judge `timestamp_types` again, in plain loops over plain rows."""

from typing import Any

from linearizability.twins.facts import Found, Row, is_data, is_proof
from linearizability.twins.logs import settings_told


def timestamp_types(rows: list[Row]) -> Found:
    wrong: dict[Any, list[tuple[int, int]]] = {}
    for row in rows:
        told = settings_told(rows, row["place"])
        named = {settings.get("message.timestamp.type") for settings, _ in told}
        is_read = is_data(row) and is_proof(row) and row["timestamp_type"] is not None
        other = {"CreateTime": "append", "LogAppendTime": "create"}.get(
            str(max(named, key=str, default=None))
        )
        if is_read and len(named) == 1 and row["timestamp_type"] == other:
            wrong.setdefault(row["place"], []).append((row["offset"], row["op_id"]))
    return {
        (
            "wrong-timestamp-type",
            tuple(sorted({min(r["op_id"] for _, r in settings_told(rows, place)), min(found)[1]})),
            place,
        )
        for place, found in wrong.items()
    }
