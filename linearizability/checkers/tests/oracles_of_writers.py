"""More dumb twins (see `oracles`): of what is promised to writers, and of what they wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from linearizability.checkers.tests.oracle_facts import (
    Found,
    Row,
    is_acked,
    is_data,
    is_decided,
    is_proof,
    is_read,
    may_be_gone,
    operations,
)


def own_uncommitted_reads(rows: list[Row]) -> Found:
    reads: dict[Any, list[Row]] = {}
    for row in rows:
        if is_data(row) and row["isolation"] == "read_committed" and row["txn"] is not None:
            key = (row["place"], row["offset"], row["value"], row["txn"])
            reads.setdefault(key, []).append(row)
    found: Found = set()
    for (place, _, value, txn), readers in reads.items():
        own = [
            r
            for r in rows
            if r["f"] == "send"
            and r["place"] == place
            and r["txn"] == txn
            and r["value"] == value is not None
        ]
        if own:
            first = min(own, key=lambda r: r["op_id"])
            found.add(("own-uncommitted-read", operations(*readers, first), place))
    return found


def unseen_writes(rows: list[Row]) -> Found:
    found: Found = set()
    for send in rows:
        acked = send["f"] == "send" and send["type"] == "ok" and send["acks"] == -1
        placed = send["offset"] is not None
        durable = send["outcome"] == "committed" or (send["outcome"] == "plain" and placed)
        if acked and durable and not is_decided(send) and is_unseen(rows, send):
            found.add(("unseen-write", operations(send), send["place"]))
    return found


def is_unseen(rows: list[Row], send: Row) -> bool:
    """Return whether a whole read should have found the record, and no successful poll did."""
    if send["value"] is None or send["t_complete_ns"] is None:
        return False
    here = [r for r in rows if r["place"] == send["place"]]
    given = [r for r in here if is_data(r) and r["type"] == "ok" and r["value"] == send["value"]]
    return any(
        not [r for r in given if r["client"] != "raw" or read["client"] == "raw"]
        for read in here
        if read["f"] == "read_all"
        and send["t_complete_ns"] < read["t_invoke_ns"]
        and _covers(here, read, send)
    )


def _covers(here: list[Row], read: Row, send: Row) -> bool:
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


def leader_knew(rows: list[Row], send: Row, other: Row, offset: int) -> bool:
    """Return whether the log held, below `offset`, the lower one of two records, another of their
    sender."""
    if send["client"] == "jepsen":
        return True
    shown = [
        r
        for r in rows
        if r["f"] == "poll"
        and r["place"] == send["place"]
        and is_proof(r)
        and r["producer_id"] is not None
        and r["producer_id"] >= 0
    ]
    mine, theirs = (
        [r for r in shown if is_data(r) and r["value"] == sent["value"]] for sent in (send, other)
    )
    if all(one_place(rows, sent) for sent in (send, other)) and mine and theirs:
        known = min(r["producer_id"] for r in mine)
        below = any(r["producer_id"] == known and r["offset"] < offset for r in shown)
        return below and known == min(r["producer_id"] for r in theirs)
    earlier = [
        r
        for r in rows
        if r["f"] == "send"
        and r["op_id"] < send["op_id"]
        and all(r[c] == send[c] for c in ("place", "process", "session"))
    ]
    return any(map(is_acked, earlier)) and all(r["type"] == "ok" for r in earlier)


def one_place(rows: list[Row], send: Row) -> bool:
    return len({r["offset"] for r in rows if _shows(r, send)}) == 1


def _shows(row: Row, send: Row) -> bool:
    same = (row["place"], row["value"]) == (send["place"], send["value"])
    return same and is_data(row) and is_proof(row)


def producer_order(rows: list[Row]) -> Found:
    found: Found = set()
    last: dict[Any, tuple[int, Row]] = {}
    for send in rows:
        if send["f"] != "send" or send["type"] == "fail" or send["value"] is None:
            continue
        same = [r for r in rows if (r["place"], r["value"]) == (send["place"], send["value"])]
        if sum(r["f"] == "send" and r["type"] != "fail" for r in same) != 1:
            continue
        seen = {r["offset"] for r in same if _shows(r, send)}
        offset = send["offset"] if is_acked(send) else seen.pop() if len(seen) == 1 else None
        if offset is None or not send["idempotent"]:
            continue
        key = (send["place"], send["op_id"])
        before, other = last.get(key, (offset, send))
        if offset < before and leader_knew(rows, send, other, offset):
            found.add(("sends-reordered", operations(send), send["place"]))
        last[key] = offset, send
    return found | _sequences_going_back(rows)


def _sequences_going_back(rows: list[Row]) -> Found:
    sessions: dict[Any, dict[tuple[int, int], int]] = {}
    for row in rows:
        numbered = (row["producer_id"] or -1) >= 0 and (row["sequence"] or 0) >= 0
        if numbered and row["sequence"] is not None and is_data(row) and is_proof(row):
            key = (row["place"], row["producer_id"], row["producer_epoch"])
            entries = sessions.setdefault(key, {})
            at = (row["offset"], row["sequence"])
            entries[at] = min(entries.get(at, row["op_id"]), row["op_id"])
    return {
        ("sequence-goes-back", tuple(sorted({entries[a], entries[b]})), key[0])
        for key, entries in sessions.items()
        for a, b in pairwise(sorted(entries))
        if b[1] < a[1]
    }


def leader_epochs(rows: list[Row]) -> Found:
    logs: dict[Any, dict[tuple[int, int], int]] = {}
    for row in rows:
        header = row["producer_id"] is not None and (row["leader_epoch"] or 0) >= 0
        if header and row["leader_epoch"] is not None and is_read(row) and is_proof(row):
            log = logs.setdefault(row["place"], {})
            at = (row["offset"], row["leader_epoch"])
            log[at] = min(log.get(at, row["op_id"]), row["op_id"])
    return {
        ("epoch-goes-back", tuple(sorted({log[a], log[b]})), place)
        for place, log in logs.items()
        for a, b in pairwise(sorted(log))
        if b[1] < a[1]
    }


ORACLES_OF_WRITERS: Mapping[str, Callable[[list[Row]], Found]] = {
    "unseen_writes": unseen_writes,
    "producer_order": producer_order,
    "own_uncommitted_reads": own_uncommitted_reads,
    "leader_epochs": leader_epochs,
}
