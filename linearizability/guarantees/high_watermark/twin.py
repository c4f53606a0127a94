"""Judge `high_watermark` again, in plain loops over plain rows."""

from typing import Any

from linearizability.twins.facts import Found, Row, is_leader_answer
from linearizability.twins.logs import raw_reads


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
