"""More dumb twins (see `oracles`): of what logs promise that somebody read raw."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from linearizability.checkers.tests.oracle_facts import (
    Found,
    Row,
    is_acked,
    is_compacted,
    is_leader_answer,
    is_proof,
    is_read,
    log_start,
    operations,
)
from linearizability.checkers.tests.oracles import steps


def raw_reads(rows: list[Row]) -> list[list[Row]]:
    """Return the records of each raw read of a partition, in the order of reading."""
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


def offset_gaps(rows: list[Row]) -> Found:
    pairs = [pair for read in raw_reads(rows) for pair in pairwise(read)]
    transactional = {r["place"] for r in rows if r["f"] == "send" and r["txn"] is not None} | {
        read[0]["place"] for read in raw_reads(rows)
    }
    ours = [r for r in rows if r["client"] not in (None, "jepsen") and r["control"] is None]
    for before, row in steps(ours):
        known = any(
            r["place"] == row["place"]
            and r["f"] in ("send", "poll")
            and r["offset"] is not None
            and before["offset"] < r["offset"] < row["offset"]
            for r in rows
        )
        if row["place"] not in transactional and not known:
            pairs.append((before, row))
    found: Found = set()
    for before, row in pairs:
        hole = row["offset"] > before["offset"] + 1
        deleted = row["offset"] - 1 < log_start(rows, row["place"])
        if hole and not deleted and not is_compacted(rows, row["place"]):
            found.add(("offset-gap", operations(before, row), row["place"]))
    return found | _ended_early(rows)


def _ended_early(rows: list[Row]) -> Found:
    """Return complete raw reads whose last record is not the one below their high watermark."""
    found: Found = set()
    for end in rows:
        is_whole = end["f"] == "read_all" and end["type"] == "ok" and end["client"] == "raw"
        if not is_whole or end["isolation"] == "read_committed" or end["high_watermark"] is None:
            continue
        same = ("place", "op_id", "replica")
        shown = [r["offset"] for r in rows if is_read(r) and all(r[c] == end[c] for c in same)]
        deleted = end["high_watermark"] - 1 < log_start(rows, end["place"])
        if not shown or deleted or is_compacted(rows, end["place"]):
            continue
        if max(shown) + 1 < end["high_watermark"]:
            found.add(("offset-gap", operations(end), end["place"]))
    return found


def idempotence(rows: list[Row]) -> Found:
    found: Found = set()
    for read in raw_reads(rows):
        last: dict[int, Row] = {}
        for before, row in pairwise([{"offset": None}, *read]):
            if before["offset"] is None or row["offset"] != before["offset"] + 1:
                last = {}
            if row["control"] is not None or row["producer_id"] < 0:
                continue
            if row["sequence"] is None or row["sequence"] < 0:
                continue
            earlier = last.get(row["producer_id"])
            last[row["producer_id"]] = row
            if earlier is None or None in (earlier["producer_epoch"], row["producer_epoch"]):
                continue
            same = row["producer_epoch"] == earlier["producer_epoch"]
            expected = (earlier["sequence"] + 1) % 2**31 if same else 0
            newer = row["producer_epoch"] >= earlier["producer_epoch"]
            if newer and row["sequence"] != expected:
                found.add(("sequence-does-not-follow", (row["op_id"],), row["place"]))
    refused = [
        r
        for r in rows
        if r["f"] == "send"
        and r["client"] == "raw"
        and r["txn"] is None
        and r["idempotent"]
        and r["error"] == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    ]
    return found | {("in-order-refused", (r["op_id"],), r["place"]) for r in refused}


def late_markers(rows: list[Row]) -> Found:
    found: Found = set()
    for read in raw_reads(rows):
        for own in of_producers(read):
            transactions: dict[int, list[tuple[int, int]]] = {}
            for n, row in enumerate(own):
                sends = [
                    r
                    for r in rows
                    if r["f"] == "send"
                    and r["value"] == row["value"] is not None
                    and r["place"] == row["place"]
                ]
                if row["control"] is None and len(sends) == 1 and sends[0]["txn"] is not None:
                    before = sum(r["control"] is not None for r in own[:n])
                    place = (before, sends[0]["op_id"])
                    transactions.setdefault(sends[0]["txn"], []).append(place)
            for places in transactions.values():
                if len({before for before, _ in places}) > 1:
                    numbers = {op for _, op in places} | {own[0]["op_id"]}
                    found.add(("late-marker", tuple(sorted(numbers)), own[0]["place"]))
    return found


def high_watermark(rows: list[Row]) -> Found:
    said: list[dict[str, Any]] = []
    for row in rows:
        if not is_leader_answer(row) or row["t_complete_ns"] is None:
            continue
        given = [
            r["offset"] + 1
            for read in raw_reads(rows)
            for r in read
            if (r["place"], r["op_id"], r["replica"]) == (row["place"], row["op_id"], None)
        ]
        given += [] if row["last_stable_offset"] is None else [row["last_stable_offset"]]
        said.append(row | {"reach": max(given, default=None)})
    kinds = {
        "high-watermark-goes-back": ("high_watermark", "high_watermark"),
        "last-stable-offset-goes-back": ("last_stable_offset", "last_stable_offset"),
        "log-start-goes-back": ("log_start", "log_start"),
        "beyond-the-high-watermark": ("reach", "high_watermark"),
    }
    found: Found = set()
    for row in said:
        for kind, (earlier, later) in kinds.items():
            before = [
                (-r[earlier], r["t_complete_ns"], r["op_id"])
                for r in said
                if (r["place"], r["leader_epoch"]) == (row["place"], row["leader_epoch"])
                and r["t_complete_ns"] < row["t_invoke_ns"]
                and r[earlier] is not None
            ]
            if before and row[later] is not None and row[later] < -min(before)[0]:
                numbers = tuple(sorted({min(before)[2], row["op_id"]}))
                found.add((kind, numbers, row["place"]))
    return found


def hanging_transactions(rows: list[Row]) -> Found:
    found: Found = set()
    for row in filter(is_leader_answer, rows):
        stable, end = row["last_stable_offset"], row["high_watermark"]
        if stable is None or stable >= end:
            continue
        ended = [
            own[0]["op_id"]
            for read in raw_reads(rows)
            for own in of_producers(read)
            if own[0]["replica"] is None
            and own[0]["place"] == row["place"]
            and own[0]["t_complete_ns"] < row["t_invoke_ns"]
            and any(r["offset"] == stable and r["control"] is None for r in own)
            and stable
            < min([r["offset"] for r in own if r["control"] and r["offset"] > stable], default=-1)
            < end
        ]
        if ended:
            numbers = tuple(sorted({min(ended), row["op_id"]}))
            found.add(("ended-but-open", numbers, row["place"]))
        final_ns = min(
            (r["t_invoke_ns"] for r in rows if r["final"] and r["place"] == row["place"]), default=0
        )
        old = [
            r["op_id"]
            for r in rows
            if is_acked(r)
            and r["txn"] is not None
            and r["place"] == row["place"]
            and r["offset"] == stable
            and _is_late(rows, r, row["t_invoke_ns"], final_ns)
        ]
        if old and row["final"]:
            numbers = tuple(sorted({min(old), row["op_id"]}))
            found.add(("open-for-too-long", numbers, row["place"]))
    return found | _committed_late(rows)


def _committed_late(rows: list[Row]) -> Found:
    """The first record of a transaction in each partition, where the commit came past its time."""
    longest_ns = _longest_ns(rows)
    first: dict[tuple[Any, int], Row] = {}
    for row in filter(is_acked, rows):
        is_late = (
            longest_ns is not None
            and row["told"] == "commit"
            and row["commit_asked_ns"] - row["t_complete_ns"] > longest_ns + 15 * 10**9
        )
        if is_late:
            earlier = first.setdefault((row["place"], row["txn"]), row)
            if (row["t_complete_ns"], row["op_id"]) < (earlier["t_complete_ns"], earlier["op_id"]):
                first[row["place"], row["txn"]] = row
    return {
        ("committed-too-late", tuple(sorted({row["op_id"], row["end_op"]})), place)
        for (place, _), row in first.items()
    }


def _longest_ns(rows: list[Row]) -> int | None:
    """Return how long a transaction may last, where every producer has told it."""
    told = {
        r["process"]: json.loads(r["settings"])["transaction.timeout.ms"]
        for r in rows
        if r["f"] == "init_producer" and r["type"] == "ok" and r["settings"]
    }
    if not told or any(r["process"] not in told for r in rows if r["f"] == "begin"):
        return None
    return max(map(int, told.values())) * 10**6


def _is_late(rows: list[Row], send: Row, asked_ns: int, final_ns: int) -> bool:
    """Return whether the transaction should have had its markers when the leader was asked."""
    second = 10**9
    if send["end_ns"] is not None and asked_ns > max(send["end_ns"], final_ns) + 60 * second:
        return True
    longest_ns = _longest_ns(rows)
    if longest_ns is not None:
        over_ns = max(send["t_complete_ns"] + longest_ns, final_ns)
        if asked_ns > over_ns + 70 * second:
            return True
    return bool(asked_ns - send["t_complete_ns"] > 970 * second)


ORACLES_OF_LOGS: Mapping[str, Callable[[list[Row]], Found]] = {
    "offset_gaps": offset_gaps,
    "idempotence": idempotence,
    "late_markers": late_markers,
    "high_watermark": high_watermark,
    "hanging_transactions": hanging_transactions,
}
