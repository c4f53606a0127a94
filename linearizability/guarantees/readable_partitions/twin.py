"""Judge `readable_partitions` again, in plain loops over plain rows."""

from typing import Any

from linearizability.twins.facts import Found, Row, is_compacted

UNSAID = {
    "KAFKA_STORAGE_ERROR",
    "CORRUPT_MESSAGE",
    "_CORRUPT",
    "_NOT_IN_METADATA",
    "_NO_LIVE_REPLICA",
    "OFFSET_NOT_AVAILABLE",
}


def readable_partitions(rows: list[Row]) -> Found:
    found: Found = set()
    for place in {row["place"] for row in rows if row["f"] == "try_read"}:
        failed = _failed_since(rows, place)
        proofs = [row for row in failed if row["asked"] == "answered"]
        errors = {row["error"] for row in failed}
        is_open = bool(errors & UNSAID)
        is_open |= "_NO_RECORDS" in errors and is_compacted(rows, place)
        if is_open or len(proofs) < 5 or len(proofs) * 2 < len(failed):
            continue
        began_ns = min(row["t_invoke_ns"] for row in proofs)
        if max(row["t_complete_ns"] for row in proofs) - began_ns >= 45 * 10**9:
            numbers = {proofs[0]["op_id"], proofs[-1]["op_id"]}
            found.add(("unreadable-partition", tuple(sorted(numbers)), place))
    return found


def _failed_since(rows: list[Row], place: Any) -> list[Row]:
    """Return the tries of the partition that failed at the offset of the last one, none that came
    before a success or a failure elsewhere."""
    tried = [
        row
        for row in rows
        if (row["f"], row["place"]) == ("try_read", place)
        and row["final"]
        and row["t_complete_ns"] is not None
    ]
    failed: list[Row] = []
    for row in sorted(tried, key=lambda r: (r["t_invoke_ns"], r["op_id"]), reverse=True):
        is_elsewhere = failed and row["asked_offset"] != failed[0]["asked_offset"]
        if row["type"] == "ok" or is_elsewhere:
            break
        failed.append(row)
    return failed[::-1]
