"""Judge `idempotence` again, in plain loops over plain rows."""

from itertools import pairwise

from linearizability.twins.facts import Found, Row
from linearizability.twins.logs import raw_reads


def idempotence(rows: list[Row]) -> Found:
    found: Found = set()
    for read in raw_reads(rows):
        last: dict[int, Row] = {}
        for before, row in pairwise([{"offset": None}, *read]):
            if before["offset"] is None or row["offset"] != before["offset"] + 1:
                last = {}
            if row["control"] is not None or row["producer_id"] < 0:
                continue
            if row["sequence"] is None or row["sequence"] < 0:
                continue
            earlier = last.get(row["producer_id"])
            last[row["producer_id"]] = row
            if earlier is None or None in (earlier["producer_epoch"], row["producer_epoch"]):
                continue
            same = row["producer_epoch"] == earlier["producer_epoch"]
            expected = (earlier["sequence"] + 1) % 2**31 if same else 0
            newer = row["producer_epoch"] >= earlier["producer_epoch"]
            if newer and row["sequence"] != expected:
                found.add(("sequence-does-not-follow", (row["op_id"],), row["place"]))
    refused = [
        r
        for r in rows
        if r["f"] == "send"
        and r["client"] == "raw"
        and r["txn"] is None
        and r["idempotent"]
        and r["sequence"] is None
        and r["error"] == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    ]
    return found | {("in-order-refused", (r["op_id"],), r["place"]) for r in refused}
