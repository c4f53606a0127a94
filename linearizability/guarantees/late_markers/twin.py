"""Judge `late_markers` again, in plain loops over plain rows."""

from linearizability.twins.facts import Found, Row
from linearizability.twins.logs import of_producers, raw_reads


def late_markers(rows: list[Row]) -> Found:
    found: Found = set()
    for read in raw_reads(rows):
        for own in of_producers(read):
            transactions: dict[int, list[tuple[int, int]]] = {}
            for n, row in enumerate(own):
                sends = [
                    r
                    for r in rows
                    if r["f"] == "send"
                    and r["value"] == row["value"] is not None
                    and r["place"] == row["place"]
                ]
                if row["control"] is None and len(sends) == 1 and sends[0]["txn"] is not None:
                    before = sum(r["control"] is not None for r in own[:n])
                    place = (before, sends[0]["op_id"])
                    transactions.setdefault(sends[0]["txn"], []).append(place)
            for places in transactions.values():
                if len({before for before, _ in places}) > 1:
                    numbers = {op for _, op in places} | {own[0]["op_id"]}
                    found.add(("late-marker", tuple(sorted(numbers)), own[0]["place"]))
    return found
