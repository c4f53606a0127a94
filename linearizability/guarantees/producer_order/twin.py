"""Judge `producer_order` again, in plain loops over plain rows."""

from itertools import pairwise
from typing import Any

from linearizability.bounds import is_given
from linearizability.twins.facts import Found, Row, is_acked, is_data, is_proof, operations

NUMBERS = ("producer_id", "producer_epoch", "sequence")


def leader_knew(rows: list[Row], send: Row, other: Row, offset: int) -> bool:
    """Return whether the leader knew the producer of both records. If raw reads show both, the log
    must hold another record of their one producer id below `offset`, the lower of their offsets;
    otherwise an earlier send of the process and session was acknowledged, and none failed or has an
    unknown outcome. Return True for imported Jepsen histories."""
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
        numbered = all(map(is_given, (row[name] for name in NUMBERS)))
        if numbered and is_data(row) and is_proof(row):
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
