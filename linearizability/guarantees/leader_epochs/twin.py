"""Judge `leader_epochs` again, in plain loops over plain rows."""

from itertools import pairwise
from typing import Any

from linearizability.twins.facts import Found, Row, is_proof, is_read


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
