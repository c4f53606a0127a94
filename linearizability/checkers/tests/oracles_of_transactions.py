"""More dumb twins (see `oracles`): of what whole transactions are promised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from linearizability.checkers.tests.oracles import (
    Found,
    Row,
    is_acked,
    is_data,
    log_start,
    markers_behind,
    steps,
)

Evidence = tuple[tuple[Any, ...], str, list[int]]
"""The record (topic, topic_id, partition, offset, value), the kind, operations."""


def torn_transactions(rows: list[Row]) -> Found:
    found: Found = set()
    for txn in {row["txn"] for row in rows if row["f"] == "send"} - {None}:
        there: list[Evidence] = []
        gone: list[Evidence] = []
        records = [row for row in rows if row["txn"] == txn and _counts(rows, row)]
        for send in records:
            record = (*send["place"], send["offset"], send["value"])
            for kind, ops in _evidence(rows, send):
                (there if kind in ("commit", "delivered") else gone).append(
                    (record, kind, [*ops, send["op_id"]])
                )
        outcome = records[0]["txn_outcome"] if records else None
        pairs = [
            (one, other) for one in there for other in gone
            if one[0] != other[0] and (outcome != "aborted" or one[1] == "commit")
        ]  # fmt: skip
        if pairs:
            one, other = min(
                pairs, key=lambda pair: (pair[0][0], pair[1][0], pair[0][1:], pair[1][1:])
            )
            numbers = tuple(sorted({*one[2], *other[2]}))
            found.add(("torn-transaction", numbers, (*one[0][:3], txn)))
    return found


def _counts(rows: list[Row], row: Row) -> bool:
    """An acknowledged record, sent once, not deleted."""
    if not is_acked(row) or row["value"] is None or row["offset"] < log_start(rows, row["place"]):
        return False
    same = [
        r for r in rows
        if r["f"] == "send" and (r["place"], r["value"]) == (row["place"], row["value"])
    ]  # fmt: skip
    return len(same) == 1


def _evidence(rows: list[Row], send: Row) -> list[tuple[str, list[int]]]:
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
        if after in committed and before["offset"] < offset < after["offset"]:
            jump = (before["offset"], after["offset"])
            jumps.setdefault(jump, []).append((before["op_id"], after["op_id"]))
    if jumps:
        pairs = [pair for some in jumps.values() for pair in some]
        found.append(("passed", [min(b for b, _ in pairs), min(a for _, a in pairs)]))
    return found


ORACLES_OF_TRANSACTIONS: Mapping[str, Callable[[list[Row]], Found]] = {
    "torn_transactions": torn_transactions,
}
