"""Judge `poll_skips` again, in plain loops over plain rows."""

from typing import Any

from linearizability.twins.facts import (
    Found,
    Row,
    is_compacted,
    is_data,
    is_proof,
    is_read,
    log_start,
    may_be_gone,
    operations,
)
from linearizability.twins.readings import first_steps, steps, visible


def poll_skips(rows: list[Row]) -> Found:
    log: dict[Any, list[Row]] = {}
    for row in filter(is_proof, rows):
        if row["control"] is None and row["value"] is not None:
            log.setdefault((row["place"], row["offset"], row["value"]), []).append(row)
    found = _early_starts(rows) | _wrong_look_ups(rows) | _missed_look_ups(rows)
    found |= {
        ("begins-late", operations(r), r["place"])
        for r in rows
        if r["f"] == "position"
        and r["type"] == "ok"
        and r["asked"] == "earliest"
        and r["offset"] is not None
        and r["log_start"] is not None
        and r["log_start"] < r["offset"]
    }
    for before, row in steps(rows) + first_steps(rows):
        everything = row["isolation"] == "read_uncommitted"
        between = [
            (offset, value, proofs)
            for (place, offset, value), proofs in log.items()
            if place == row["place"]
            and before["offset"] < offset < row["offset"]
            and not may_be_gone(rows, place, offset)
            and (everything or visible(proofs))
        ]
        if between:
            _, _, proofs = min(between, key=lambda entry: entry[:2])
            shown = min(proofs, key=lambda r: r["op_id"])
            found.add(("poll-skip", operations(before, row, shown), row["place"]))
    return found


def _early_starts(rows: list[Row]) -> Found:
    found: Found = set()
    for before, row in first_steps(rows):
        known = [
            r["offset"]
            for r in filter(is_proof, rows)
            if r["place"] == row["place"]
            and r["t_complete_ns"] is not None
            and r["t_complete_ns"] < before["t_invoke_ns"]
        ]
        if row["offset"] <= before["offset"] <= max(known, default=-1):
            found.add(("begins-early", operations(before, row), row["place"]))
    return found


def _wrong_look_ups(rows: list[Row]) -> Found:
    found: Found = set()
    for asked in rows:
        if asked["f"] != "position" or asked["type"] != "ok" or asked["asked"] != "timestamp":
            continue
        if asked["offset"] is None or asked["asked_offset"] is None:
            continue
        timed = _timed(rows, asked)
        before = [
            r
            for r in timed
            if r["offset"] < asked["offset"] and not may_be_gone(rows, r["place"], r["offset"])
        ]
        there = [r for r in timed if r["offset"] == asked["offset"]]
        for proofs, is_late in ((before, True), (there, False)):
            if proofs:
                proof = min(proofs, key=lambda r: (-r["timestamp_ms"], r["offset"], r["op_id"]))
                if (proof["timestamp_ms"] >= asked["asked_offset"]) is is_late:
                    found.add(("wrong-look-up", operations(asked, proof), asked["place"]))
    return found


def _timed(rows: list[Row], asked: Row) -> list[Row]:
    """Return the records of the look-up's partition that were read with a timestamp."""
    return [
        r
        for r in filter(is_data, rows)
        if r["place"] == asked["place"] and r["timestamp_ms"] is not None and r["timestamp_ms"] >= 0
    ]


def _missed_look_ups(rows: list[Row]) -> Found:
    found: Found = set()
    for asked in rows:
        if (asked["f"], asked["type"], asked["asked"]) != ("position", "ok", "timestamp"):
            continue
        if asked["offset"] is not None or asked["asked_offset"] is None:
            continue
        here = [r for r in rows if r["place"] == asked["place"]]
        deleted = any(r["f"] == "delete_records" and r["type"] != "fail" for r in here)
        if deleted or log_start(rows, asked["place"]) > 0 or is_compacted(rows, asked["place"]):
            continue
        end = max((_readable_end(r, here, asked) for r in here), default=0)
        matches = [r for r in _timed(rows, asked) if r["offset"] < end]
        if matches:
            proof = min(matches, key=lambda r: (-r["timestamp_ms"], r["offset"], r["op_id"]))
            if proof["timestamp_ms"] >= asked["asked_offset"]:
                found.add(("missed-look-up", operations(asked, proof), asked["place"]))
    return found


def _readable_end(row: Row, here: list[Row], asked: Row) -> int:
    """Return the offset below which this row proves that all was readable before the look-up, or 0
    if it proves nothing. `here`: the rows of its partition."""
    done = row["t_complete_ns"]
    if row["replica"] is not None or done is None or done >= asked["t_invoke_ns"]:
        return 0
    stable = row["last_stable_offset"]
    committed = asked["isolation"] != "read_uncommitted"
    in_transactions = any(r["f"] == "send" and r["txn"] is not None for r in here)
    given = is_read(row) and row["isolation"] == "read_committed"
    if is_proof(row) and (not committed or given or not in_transactions):
        return int(row["offset"]) + 1
    return int(stable) if committed and stable is not None else 0
