"""Conclude facts from the records of transactions, in plain loops, for several twins."""

from __future__ import annotations

from linearizability.twins.facts import (
    Row,
    compacted_away,
    is_acked,
    is_data,
    log_start,
    markers_behind,
    may_be_gone,
)
from linearizability.twins.readings import first_steps, steps


def counts(rows: list[Row], row: Row) -> bool:
    """Return whether the row is an acknowledged record, sent once and not below the log start."""
    if not is_acked(row) or row["value"] is None or row["offset"] < log_start(rows, row["place"]):
        return False
    same = [
        r
        for r in rows
        if r["f"] == "send" and (r["place"], r["value"]) == (row["place"], row["value"])
    ]
    return len(same) == 1


def evidence(rows: list[Row], send: Row) -> list[tuple[str, list[int]]]:
    here, offset, value = send["place"], send["offset"], send["value"]
    found: list[tuple[str, list[int]]] = []
    for marker, op_id in markers_behind(rows, (here, offset, value)):
        found.append(("commit" if marker == "commit" else "abort", [op_id]))
    committed = [r for r in rows if r["isolation"] == "read_committed" and r["place"] == here]
    given = [r["op_id"] for r in committed if is_data(r) and r["value"] == value]
    if given:
        found.append(("delivered", [min(given)]))
    jumps: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for before, after in steps(rows) + first_steps(rows):
        inside = before["offset"] < offset < after["offset"]
        if after in committed and inside and not compacted_away(rows, here, offset):
            jump = (before["offset"], after["offset"])
            jumps.setdefault(jump, []).append((before["op_id"], after["op_id"]))
    if jumps:
        pairs = [pair for some in jumps.values() for pair in some]
        found.append(("passed", [min(b for b, _ in pairs), min(a for _, a in pairs)]))
    return found


def is_unseen(rows: list[Row], send: Row) -> bool:
    """Return whether a whole read should have found the record, and no successful poll delivered
    it. If a consumer made the whole read, polls by raw clients do not count."""
    if send["value"] is None or send["t_complete_ns"] is None:
        return False
    here = [r for r in rows if r["place"] == send["place"]]
    given = [r for r in here if is_data(r) and r["type"] == "ok" and r["value"] == send["value"]]
    return any(
        not [r for r in given if r["client"] != "raw" or read["client"] == "raw"]
        for read in here
        if read["f"] == "read_all"
        and send["t_complete_ns"] < read["t_invoke_ns"]
        and is_covered(here, read, send)
    )


def is_covered(here: list[Row], read: Row, send: Row) -> bool:
    """Return whether this complete read should have found the record."""
    if read["type"] != "ok":
        return False
    if read["high_watermark"] is None:
        return True
    if send["offset"] is None or may_be_gone(here, send["place"], send["offset"]):
        return False
    end = read["high_watermark"]
    transactional = any(r["f"] == "send" and r["txn"] is not None for r in here)
    if read["isolation"] == "read_committed" and transactional:
        if read["last_stable_offset"] is None:
            return False
        end = min(end, read["last_stable_offset"])
    return bool((read["log_start"] or 0) <= send["offset"] < end)
