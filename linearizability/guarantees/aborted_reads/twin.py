"""Judge `aborted_reads` again, in plain loops over plain rows."""

from typing import Any

from linearizability.twins.facts import Found, Row, is_data, operations


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
