"""Judge `duplicates` again, in plain loops over plain rows."""

from linearizability.twins.facts import Found, Row, is_proof, operations


def duplicates(rows: list[Row]) -> Found:
    found: Found = set()
    for send in rows:
        if send["f"] != "send" or send["type"] == "fail" or send["value"] is None:
            continue
        same = [r for r in rows if (r["place"], r["value"]) == (send["place"], send["value"])]
        sends = [r for r in same if r["f"] == "send" and r["type"] != "fail"]
        if len(sends) != 1 or not send["idempotent"]:
            continue
        first: dict[int, Row] = {}
        for row in filter(is_proof, same):
            best = first.get(row["offset"], row)
            first[row["offset"]] = min(best, row, key=lambda r: r["op_id"])
        if len(first) > 1:
            found.add(("duplicate", operations(send, *first.values()), send["place"]))
    return found
