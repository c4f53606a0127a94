"""More dumb twins (see `oracles`): of what whole transactions are promised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise, permutations
from typing import Any

from linearizability.checkers.tests.oracle_facts import (
    Found,
    Row,
    compacted_away,
    is_acked,
    is_data,
    is_decided,
    log_start,
    markers_behind,
)
from linearizability.checkers.tests.oracles import steps
from linearizability.checkers.tests.oracles_of_writers import is_unseen

Evidence = tuple[tuple[Any, ...], str, list[int]]
"""The record (topic, topic_id, partition, offset, value), the kind, operations."""


def torn_transactions(rows: list[Row]) -> Found:
    found: Found = set()
    for txn in {row["txn"] for row in rows if row["f"] == "send"} - {None}:
        there: list[Evidence] = []
        gone: list[Evidence] = []
        records = [row for row in rows if row["txn"] == txn and row["f"] == "send"]
        for send in records:
            record = (*send["place"], send["offset"], send["value"])
            shown = evidence(rows, send) if counts(rows, send) else []
            if is_decided(send) and send["value"] is not None:
                shown += of_decided(rows, send)
            for kind, ops in shown:
                if kind == "passed" and any(other == "delivered" for other, _ in shown):
                    continue
                (there if kind in ("commit", "delivered") else gone).append(
                    (record, kind, [*ops, send["op_id"]])
                )
        outcome = records[0]["txn_outcome"] if records else None
        pairs = [
            (one, other)
            for one in there
            for other in gone
            if one[0] != other[0] and (outcome != "aborted" or one[1] == "commit")
        ]
        if pairs:
            one, other = min(pairs, key=lambda pair: (*map(_order, pair), pair[0][1:], pair[1][1:]))
            numbers = tuple(sorted({*one[2], *other[2]}))
            found.add(("torn-transaction", numbers, (*one[0][:3], txn)))
    return found


def _order(found: Evidence) -> list[tuple[bool, Any]]:
    """Return what sorts a record behind those of which less is known."""
    return [(value is not None, value) for value in found[0]]


def counts(rows: list[Row], row: Row) -> bool:
    """Return whether the row is an acknowledged record, sent once and not deleted."""
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
    for before, after in steps(rows):
        inside = before["offset"] < offset < after["offset"]
        if after in committed and inside and not compacted_away(rows, here, offset):
            jump = (before["offset"], after["offset"])
            jumps.setdefault(jump, []).append((before["op_id"], after["op_id"]))
    if jumps:
        pairs = [pair for some in jumps.values() for pair in some]
        found.append(("passed", [min(b for b, _ in pairs), min(a for _, a in pairs)]))
    return found


def of_decided(rows: list[Row], send: Row) -> list[tuple[str, list[int]]]:
    if is_unseen(rows, send):
        return [("lacking", [])]
    given = [
        r["op_id"]
        for r in rows
        if r["isolation"] == "read_committed" and r["place"] == send["place"]
        if is_data(r) and r["value"] == send["value"]
    ]
    return [("delivered", [min(given)])] if given and send["offset"] is None else []


def write_cycles(rows: list[Row]) -> Found:
    """Find cycles by trying every order of every set of transactions: of two or three there are
    few."""
    reads = _reads_between(rows)
    behind = _commits_behind(rows)
    txns = sorted({txn for pair in reads for txn in pair})
    found: Found = set()
    seen: set[int] = set()
    for kind, edges in (("read-cycle", set(reads)), ("read-cycle-realtime", {*reads, *behind})):
        circles = [
            circle
            for length in range(2, len(txns) + 1)
            for circle in permutations(txns, length)
            if all((a, b) in edges for a, b in pairwise([*circle, circle[0]]))
        ]
        while circles:
            circle = min(circles, key=lambda one: (len(one), one))
            reached = set(circle)
            for other in [*circles] * len(txns):
                if reached & set(other):
                    reached |= set(other)
            circles = [other for other in circles if not reached & set(other)]
            if reached & seen:
                continue
            seen |= reached
            steps = list(pairwise([*circle, circle[0]]))
            proofs = [reads[step][0] if step in reads else behind[step] for step in steps]
            numbers = {number for proof in proofs for number in proof}
            place = next(reads[step][1] for step in steps if step in reads)
            found.add((kind, tuple(sorted(numbers)), place))
    return found


def _reads_between(rows: list[Row]) -> dict[tuple[int, int], tuple[tuple[int, int], Any]]:
    """Return (writer, reader) -> (send, poll), place: of the first record that the reader
    received."""
    found: dict[tuple[int, int], list[Any]] = {}
    for poll in rows:
        if not is_data(poll) or poll["isolation"] != "read_committed" or poll["txn"] is None:
            continue
        asked = [r["t_invoke_ns"] for r in _commits(rows, poll["txn"])]
        if asked and poll["t_invoke_ns"] > min(asked):
            continue
        sends = [
            r
            for r in rows
            if r["f"] == "send" and (r["place"], r["value"]) == (poll["place"], poll["value"])
        ]
        if len(sends) == 1 and sends[0]["txn"] not in (None, poll["txn"]):
            record = (poll["place"], poll["offset"], poll["value"])
            pair = (sends[0]["txn"], poll["txn"])
            found.setdefault(pair, []).append((*record, sends[0]["op_id"], poll["op_id"]))
    first = {pair: min(records) for pair, records in found.items()}
    return {pair: (record[3:], record[0]) for pair, record in first.items()}


def _commits(rows: list[Row], txn: int) -> list[Row]:
    return [r for r in rows if r["f"] == "commit" and r["txn"] == txn]


def _commits_behind(rows: list[Row]) -> dict[tuple[int, int], tuple[int, int]]:
    """Return (earlier, later) -> the acknowledged commit, and the commit asked for after that."""
    found = {}
    txns = {r["txn"] for r in rows if r["f"] == "commit"}
    for earlier, later in permutations(txns, 2):
        done = [
            (r["t_complete_ns"], r["op_id"]) for r in _commits(rows, earlier) if r["type"] == "ok"
        ]
        asked = min((r["t_invoke_ns"], r["op_id"]) for r in _commits(rows, later))
        if done and min(done)[0] < asked[0]:
            found[earlier, later] = (min(done)[1], asked[1])
    return found


ORACLES_OF_TRANSACTIONS: Mapping[str, Callable[[list[Row]], Found]] = {
    "torn_transactions": torn_transactions,
    "write_cycles": write_cycles,
}
