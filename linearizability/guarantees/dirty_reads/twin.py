"""Judge `dirty_reads` again, in plain loops over plain rows."""

from typing import Any

from linearizability.twins.facts import Found, Row, is_data, operations


def dirty_reads(rows: list[Row]) -> Found:
    reads: dict[Any, list[Row]] = {}
    writers: dict[Any, Row] = {}
    for row in rows:
        if not is_data(row) or row["isolation"] != "read_committed" or row["value"] is None:
            continue
        sends = [
            r
            for r in rows
            if r["f"] == "send" and (r["place"], r["value"]) == (row["place"], row["value"])
        ]
        if len(sends) != 1 or sends[0]["txn"] is None or row["t_complete_ns"] is None:
            continue
        commits = [
            r["t_invoke_ns"] for r in rows if r["f"] == "commit" and r["txn"] == sends[0]["txn"]
        ]
        if commits and row["t_complete_ns"] < min(commits):
            key = (row["place"], row["offset"], row["value"])
            reads.setdefault(key, []).append(row)
            writers[key] = sends[0]
    return {
        ("dirty-read", operations(*readers, writers[key]), key[0]) for key, readers in reads.items()
    }
