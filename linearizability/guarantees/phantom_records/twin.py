"""Judge `phantom_records` again, in plain loops over plain rows."""

from typing import Any

from linearizability.twins.facts import Found, Row, is_data, operations


def phantom_records(rows: list[Row]) -> Found:
    found: Found = set()
    reads: dict[Any, list[Row]] = {}
    for row in filter(is_data, rows):
        reads.setdefault((row["place"], row["offset"], row["value"], _fields(row)), []).append(row)
    for (place, _, value, fields), readers in reads.items():
        sends = [r for r in rows if r["f"] == "send" and r["value"] == value is not None]
        here = [s for s in sends if _may_be(s["place"], place)]
        accepted = [s for s in here if s["type"] != "fail"]
        if any(_agree(_fields(s), fields) for s in accepted):
            continue
        kind = (
            "unreadable-record"
            if value is None
            else "phantom-record"
            if not sends
            else "wrong-partition"
            if not here
            else "altered-record"
            if accepted
            else "refused-record"
        )
        first = min(readers, key=lambda r: r["op_id"])
        found.add((kind, operations(first, *sends), (*place, value)))
    return found


def _fields(row: Row) -> tuple[Any, ...]:
    """Return the fields that a record must keep from its send to every read, besides its value:
    checksum, key, tombstone, and timestamp. The timestamp is None in a read that shows that the
    broker set it."""
    by_client = row["f"] == "send" or row["timestamp_type"] == "create"
    timestamp = row["timestamp_ms"] if by_client else None
    return row["checksum"], row["key"], row["tombstone"], timestamp


def _agree(sent: tuple[Any, ...], read: tuple[Any, ...]) -> bool:
    return all(a is None or b is None or a == b for a, b in zip(sent, read, strict=True))


def _may_be(sent: tuple[Any, ...], read: tuple[Any, ...]) -> bool:
    same_id = sent[1] == read[1] or "" in (sent[1], read[1])
    return sent[0] == read[0] and sent[2] == read[2] and same_id
