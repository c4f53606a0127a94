"""Judge `torn_transactions` again, in plain loops over plain rows."""

from typing import Any

from linearizability.twins.facts import Found, Row, is_data, is_decided
from linearizability.twins.transactions import counts, evidence, is_unseen

Evidence = tuple[tuple[Any, ...], str, list[int]]
"""(the record as (topic, topic_id, partition, offset, value), the kind of evidence, the
operations)."""


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
    """Return a sort key that puts evidence with nulls first."""
    return [(value is not None, value) for value in found[0]]


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
