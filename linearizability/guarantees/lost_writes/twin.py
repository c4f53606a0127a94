"""Judge `lost_writes` again, in plain loops over plain rows."""

from typing import Any

from linearizability.twins.facts import (
    Found,
    Row,
    is_acked,
    is_data,
    is_proof,
    is_read,
    may_be_gone,
    operations,
)


def lost_writes(rows: list[Row]) -> Found:
    found: Found = set()
    for send in rows:
        durable = is_acked(send) and send["outcome"] in ("plain", "committed")
        if not durable or send["value"] is None:
            continue
        place, offset = send["place"], send["offset"]
        here = [r for r in rows if r["place"] == place]
        if may_be_gone(rows, place, offset):
            continue
        if any(is_data(r) and r["value"] == send["value"] for r in here):
            continue
        proofs = _passes(here, offset) + _ends(here, send)
        if proofs:
            _, operation = min(proofs, key=lambda proof: (-proof[0], proof[1]))
            proof = {"op_id": operation}
            found.add(("lost-write", operations(send, proof), place))
    return found | _vanished(rows)


def _vanished(rows: list[Row]) -> Found:
    found: dict[tuple[Any, int, int], tuple[int, ...]] = {}
    wholes = [
        r
        for r in rows
        if r["f"] == "read_all"
        and r["type"] == "ok"
        and r["final"]
        and r["client"] == "raw"
        and r["replica"] is None
        and r["isolation"] not in (None, "read_committed")
        and r["high_watermark"] is not None
        and (
            r["high_watermark"] <= (r["log_start"] or 0)
            or any(
                is_read(s)
                and s["replica"] is None
                and (s["op_id"], s["place"]) == (r["op_id"], r["place"])
                for s in rows
            )
        )
    ]
    data = [r for r in rows if is_data(r) and is_proof(r) and r["value"] is not None]
    read = {(r["place"], r["value"]) for r in rows if is_data(r)}
    acked = [r for r in rows if is_acked(r) and (r["place"], r["value"]) in read]
    acked = [r for r in acked if r["value"] is not None]
    for known in (acked, data):
        for place, offset, value in {(r["place"], r["offset"], r["value"]) for r in known}:
            same = [
                r
                for r in known
                if (r["place"], r["offset"], r["value"]) == (place, offset, value)
                and r["t_complete_ns"] is not None
            ]
            lacking = [w["op_id"] for w in wholes if _lacks(rows, w, place, offset, same)]
            if lacking and not may_be_gone(rows, place, offset):
                numbers = tuple(sorted({min(r["op_id"] for r in same), min(lacking)}))
                found[place, offset, value] = numbers
    return {("vanished-record", numbers, place) for (place, _, _), numbers in found.items()}


def _lacks(rows: list[Row], whole: Row, place: Any, offset: int, same: list[Row]) -> bool:
    """Return whether a whole read of the leader lacks the record at this offset, although its log
    begins no higher and one of `same`, the rows that prove the record, completed before it
    began."""
    return (
        whole["place"] == place
        and (whole["log_start"] or 0) <= offset
        and any(r["t_complete_ns"] < whole["t_invoke_ns"] for r in same)
        and not any(
            is_read(r)
            and r["replica"] is None
            and r["op_id"] == whole["op_id"]
            and (r["place"], r["offset"]) == (place, offset)
            for r in rows
        )
    )


def _passes(here: list[Row], offset: int) -> list[tuple[int, int]]:
    """Return (the highest offset reached, plus 1; operation) of each reader and each complete read
    that went past this offset. All consumers without a group count as one reader from offset 0."""
    counted = [r for r in here if is_data(r) and r["outcome"] != "aborted"]
    readers: dict[Any, list[Row]] = {}
    for row in counted:
        alone = row["group"] is None
        key = None if alone else (row["process"], row["session"], row["group"])
        readers.setdefault(key, []).append(row)
    intervals = []
    for key, reads in readers.items():
        end = max(r["offset"] for r in reads)
        operation = min(r["op_id"] for r in reads if r["offset"] == end)
        start = 0 if key is None else min(r["offset"] for r in reads)
        intervals.append((start, end + 1, operation))
    transactional = any(r["f"] == "send" and r["txn"] is not None for r in here)
    for read in here:
        if read["f"] != "read_all" or read["type"] != "ok" or read["high_watermark"] is None:
            continue
        end = read["high_watermark"]
        if read["isolation"] == "read_committed" and transactional:
            if read["last_stable_offset"] is None:
                continue
            end = min(end, read["last_stable_offset"])
        intervals.append((read["log_start"] or 0, end, read["op_id"]))
    return [(end, operation) for start, end, operation in intervals if start <= offset < end]


def _ends(here: list[Row], send: Row) -> list[tuple[int, int]]:
    return [
        (r["high_watermark"], r["op_id"])
        for r in here
        if r["f"] == "read_all"
        and r["type"] == "ok"
        and r["final"]
        and r["isolation"] != "read_committed"
        and r["high_watermark"] is not None
        and send["offset"] >= r["high_watermark"]
        and send["t_complete_ns"] is not None
        and send["t_complete_ns"] < r["t_invoke_ns"]
    ]
