"""Judge `duplicates` again, in plain loops over plain rows."""

from linearizability.twins.facts import Found, Row, is_proof, operations


def duplicates(rows: list[Row]) -> Found:
    found: Found = set()
    for send in rows:
        if send["f"] != "send" or send["type"] == "fail" or send["value"] is None:
            continue
        same = [r for r in rows if (r["place"], r["value"]) == (send["place"], send["value"])]
        sends = [r for r in same if r["f"] == "send" and r["type"] != "fail"]
        if not all(each["idempotent"] for each in sends):
            continue
        first: dict[int, Row] = {}
        for row in filter(is_proof, same):
            best = first.get(row["offset"], row)
            first[row["offset"]] = min(best, row, key=lambda r: r["op_id"])
        if len(first) > len(sends):
            found.add(("duplicate", operations(*sends, *first.values()), send["place"]))
    return found
