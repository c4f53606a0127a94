"""Dumb twins of the kernels: the same rules in plain loops over plain rows, written to be read.

Each gives the set of (kind, operations, place) that the kernel must give too. `append_order` has
its twin, and porcupine itself, in `porcupy/tests`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from linearizability.checkers.tests.oracle_facts import (
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
    for known, since in ((acked, [w for w in wholes if w["final"]]), (data, wholes)):
        for place, offset, value in {(r["place"], r["offset"], r["value"]) for r in known}:
            same = [
                r
                for r in known
                if (r["place"], r["offset"], r["value"]) == (place, offset, value)
                and r["t_complete_ns"] is not None
            ]
            lacking = [w["op_id"] for w in since if _lacks(rows, w, place, offset, same)]
            if lacking and not may_be_gone(rows, place, offset):
                numbers = tuple(sorted({min(r["op_id"] for r in same), min(lacking)}))
                found[place, offset, value] = numbers
    return {("vanished-record", numbers, place) for (place, _, _), numbers in found.items()}


def _lacks(rows: list[Row], whole: Row, place: Any, offset: int, same: list[Row]) -> bool:
    """Return whether a whole read that began after one of these shows nothing at the offset."""
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
    """Return (reach, operation) of each reader who went past this offset."""
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
        and r["isolation"] != "read_committed"
        and r["high_watermark"] is not None
        and send["offset"] >= r["high_watermark"]
        and send["t_complete_ns"] is not None
        and send["t_complete_ns"] < r["t_invoke_ns"]
    ]


def duplicates(rows: list[Row]) -> Found:
    found: Found = set()
    for send in rows:
        if send["f"] != "send" or send["type"] == "fail" or send["value"] is None:
            continue
        same = [r for r in rows if (r["place"], r["value"]) == (send["place"], send["value"])]
        sends = [r for r in same if r["f"] == "send" and r["type"] != "fail"]
        if len(sends) != 1 or not send["idempotent"]:
            continue
        first: dict[int, Row] = {}
        for row in filter(is_proof, same):
            best = first.get(row["offset"], row)
            first[row["offset"]] = min(best, row, key=lambda r: r["op_id"])
        if len(first) > 1:
            found.add(("duplicate", operations(send, *first.values()), send["place"]))
    return found


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
    """Return one value at one offset, of which something else was told differently."""
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
    """Return all that a record must keep from its send to every read, besides its value."""
    by_client = row["f"] == "send" or row["timestamp_type"] == "create"
    timestamp = row["timestamp_ms"] if by_client else None
    return row["checksum"], row["key"], row["tombstone"], timestamp


def _agree(sent: tuple[Any, ...], read: tuple[Any, ...]) -> bool:
    return all(a is None or b is None or a == b for a, b in zip(sent, read, strict=True))


def _may_be(sent: tuple[Any, ...], read: tuple[Any, ...]) -> bool:
    same_id = sent[1] == read[1] or "" in (sent[1], read[1])
    return sent[0] == read[0] and sent[2] == read[2] and same_id


def steps(rows: list[Row]) -> list[tuple[Row, Row]]:
    """Return each read with the one before it, of the same reader; failed ones count within
    themselves."""
    last: dict[Any, Row] = {}
    within: dict[Any, Row] = {}
    pairs = []
    for row in sorted(rows, key=lambda r: (r["op_id"], r["record_index"])):
        if is_read(row):
            reader = tuple(row[c] for c in ("place", "process", "session", "replica", "isolation"))
            before = within.get((*reader, row["op_id"])) or last.get(reader)
            if before is not None:
                pairs.append((before, row))
            within[*reader, row["op_id"]] = row
            if row["type"] != "fail":
                last[reader] = row
    return pairs


def poll_order(rows: list[Row]) -> Found:
    return {
        (
            "poll-repeats" if row["offset"] == before["offset"] else "poll-goes-back",
            operations(before, row),
            row["place"],
        )
        for before, row in steps(rows)
        if row["offset"] <= before["offset"]
    }


def poll_skips(rows: list[Row]) -> Found:
    log: dict[Any, list[Row]] = {}
    for row in filter(is_proof, rows):
        if row["control"] is None and row["value"] is not None:
            log.setdefault((row["place"], row["offset"], row["value"]), []).append(row)
    found = _early_starts(rows) | _wrong_look_ups(rows)
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


def first_steps(rows: list[Row]) -> list[tuple[Row, Row]]:
    """Return the first record of each session with a stand-in for what came before its recorded
    start."""
    sessions: dict[Any, Row] = {}
    for row in sorted(rows, key=lambda r: (r["op_id"], r["record_index"])):
        if is_read(row) and row["replica"] is None:
            sessions.setdefault((row["place"], row["process"], row["session"]), row)
    pairs = []
    for session, first in sessions.items():
        begun = [
            r
            for r in rows
            if r["f"] == "position"
            and r["type"] == "ok"
            and start(r) is not None
            and (r["place"], r["process"], r["session"]) == session
        ]
        if begun:
            last = max(begun, key=lambda r: (r["op_id"], r["record_index"]))
            if last["op_id"] <= first["op_id"]:
                pairs.append((last | {"offset": start(last) - 1}, first))
    return pairs


def start(position: Row) -> Any:
    asked = position["asked"]
    if position["offset"] is None:
        return position["asked_offset"] if asked in ("offset", "committed") else None
    if asked == "earliest" and position["log_start"] is not None:
        return min(position["log_start"], position["offset"])
    return position["offset"]


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
        timed = [
            r
            for r in rows
            if r["f"] == "poll"
            and r["offset"] is not None
            and r["control"] is None
            and r["place"] == asked["place"]
            and (r["timestamp_ms"] or 0) >= 0
            and r["timestamp_ms"] is not None
        ]
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


def visible(proofs: list[Row]) -> bool:
    outcomes = {r["outcome"] for r in proofs} - {None}
    outcome = outcomes.pop() if len(outcomes) == 1 else None
    given = any(r["f"] == "poll" and r["isolation"] == "read_committed" for r in proofs)
    return outcome in ("plain", "committed") or (given and outcome != "aborted")


def aborted_reads(rows: list[Row]) -> Found:
    reads: dict[Any, list[Row]] = {}
    for row in rows:
        if is_data(row) and row["isolation"] == "read_committed" and row["outcome"] == "aborted":
            reads.setdefault((row["place"], row["offset"], row["value"]), []).append(row)
    found: Found = set()
    for (place, _, value), readers in reads.items():
        sends = [r for r in rows if r["f"] == "send" and (r["place"], r["value"]) == (place, value)]
        first = sorted(sends, key=lambda r: r["op_id"])[:1]
        found.add(("aborted-read", operations(*readers, *first), place))
    return found


ORACLES: Mapping[str, Callable[[list[Row]], Found]] = {
    "lost_writes": lost_writes,
    "duplicates": duplicates,
    "inconsistent_offsets": inconsistent_offsets,
    "phantom_records": phantom_records,
    "poll_order": poll_order,
    "poll_skips": poll_skips,
    "aborted_reads": aborted_reads,
}
