"""Judge `timestamp_types` again, in plain loops over plain rows."""

from itertools import combinations
from typing import Any

from linearizability.twins.facts import Found, Row, is_data, is_proof
from linearizability.twins.logs import settings_told

SLACK_MS = 100


def timestamp_types(rows: list[Row]) -> Found:
    return _of_other_types(rows) | _gone_back(rows)


def _of_other_types(rows: list[Row]) -> Found:
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


def _gone_back(rows: list[Row]) -> Found:
    first: dict[tuple[Any, int, int], Row] = {}
    for row in sorted(rows, key=lambda r: (r["op_id"], r["record_index"])):
        is_read = is_data(row) and is_proof(row) and row["timestamp_type"] == "append"
        is_led = row["leader_epoch"] is not None and row["leader_epoch"] >= 0
        if is_read and is_led and row["timestamp_ms"] is not None:
            first.setdefault((row["place"], row["leader_epoch"], row["offset"]), row)
    steps: dict[tuple[Any, int], list[tuple[int, int, int, tuple[int, ...]]]] = {}
    for earlier, later in combinations(sorted(first), 2):
        pair = first[earlier], first[later]
        sends = [_sends_of(rows, row) for row in pair]
        back_ms = pair[0]["timestamp_ms"] - pair[1]["timestamp_ms"]
        if earlier[:2] == later[:2] and all(sends) and back_ms > SLACK_MS:
            numbers = {pair[0]["op_id"], pair[1]["op_id"], *map(min, sends)}
            step = (-back_ms, later[2], earlier[2], tuple(sorted(numbers)))
            steps.setdefault(later[:2], []).append(step)
    return {("append-time-goes-back", min(found)[3], place) for (place, _), found in steps.items()}


def _sends_of(rows: list[Row], read: Row) -> list[int]:
    """Return the operations that sent the record's value to its partition."""
    return [
        row["op_id"]
        for row in rows
        if row["f"] == "send"
        and row["value"] is not None
        and (row["place"], row["value"]) == (read["place"], read["value"])
    ]
