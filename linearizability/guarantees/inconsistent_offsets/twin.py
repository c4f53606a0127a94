"""Judge `inconsistent_offsets` again, in plain loops over plain rows."""

from typing import Any

from linearizability.twins.facts import Found, Row, is_proof


def inconsistent_offsets(rows: list[Row]) -> Found:
    contents: dict[Any, dict[Any, int]] = {}
    for row in filter(is_proof, rows):
        seen = contents.setdefault((row["place"], row["offset"]), {})
        content = (row["control"], None if row["control"] else row["value"])
        seen[content] = min(seen.get(content, row["op_id"]), row["op_id"])
    clashes = {
        ("inconsistent-offset", tuple(sorted(set(seen.values()))), place)
        for (place, _), seen in contents.items()
        if len(seen) > 1
    }
    return clashes | _changed_records(rows)


def _changed_records(rows: list[Row]) -> Found:
    """Return the anomalies in which reads of the same value at the same offset differ in another
    field."""
    told: dict[Any, dict[Any, int]] = {}
    for row in filter(is_proof, rows):
        if row["value"] is None:
            continue
        for field in ("checksum", "key", "tombstone", "timestamp_ms", "timestamp_type"):
            of_broker = field.startswith("timestamp") and row["f"] == "send"
            if row[field] is not None and not of_broker:
                where = (row["place"], row["offset"], row["value"], field)
                seen = told.setdefault(where, {})
                seen[row[field]] = min(seen.get(row[field], row["op_id"]), row["op_id"])
    return {
        ("record-changed", tuple(sorted(set(seen.values()))), where[0])
        for where, seen in told.items()
        if len(seen) > 1
    }
