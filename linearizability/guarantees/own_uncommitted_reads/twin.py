"""Judge `own_uncommitted_reads` again, in plain loops over plain rows."""

from typing import Any

from linearizability.twins.facts import Found, Row, is_data, operations


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
