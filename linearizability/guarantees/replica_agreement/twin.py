"""Judge `replica_agreement` again, in plain loops over plain rows."""

from itertools import product

from linearizability.twins.facts import Found, Row, is_compacted, is_proof, is_read, operations
from linearizability.twins.logs import is_marker

CONTENT = (
    "value",
    "control",
    "key",
    "tombstone",
    "checksum",
    "timestamp_ms",
    "timestamp_type",
    "producer_id",
    "producer_epoch",
    "sequence",
    "leader_epoch",
)


def replica_agreement(rows: list[Row]) -> Found:
    found: Found = set()
    ends = [r for r in rows if is_marker(r) and r["final"] and r["high_watermark"] is not None]
    for leader, follower in product(ends, ends):
        if follower["replica"] is None or not _must_equal(rows, ends, leader, follower):
            continue
        both = [r for r in ends if any(_is_of_one_reading(r, x) for x in (leader, follower))]
        start = max(r["log_start"] or 0 for r in both)
        end = min(r["high_watermark"] for r in both)
        for offset in range(start, end):
            kind = _disagreement(rows, leader, follower, offset)
            if kind is not None:
                found.add((kind, operations(leader, follower), leader["place"]))
    return found


def _is_of_one_reading(one: Row, other: Row) -> bool:
    return all(one[c] == other[c] for c in ("place", "op_id", "replica"))


def _is_raw(end: Row) -> bool:
    return bool(end["client"] == "raw" and end["isolation"] != "read_committed")


def _must_equal(rows: list[Row], ends: list[Row], leader: Row, follower: Row) -> bool:
    """Return whether these two logs are compared: the follower's with its leader's of the same
    operation or, if that did not read the leader and the log is not compacted, with the first raw
    read of the leader, or else of another replica."""
    place = follower["place"]
    here = [r for r in ends if r["place"] == place]
    if any(r["op_id"] == follower["op_id"] and r["replica"] is None for r in here):
        return (leader["place"], leader["op_id"], leader["replica"]) == (
            place,
            follower["op_id"],
            None,
        )
    raw = [r for r in here if all(_is_raw(x) for x in here if _is_of_one_reading(r, x))]
    raw.sort(key=lambda r: (r["replica"] is not None, r["op_id"], r["replica"] or 0))
    return (
        bool(raw)
        and _is_of_one_reading(leader, raw[0])
        and leader["replica"] != follower["replica"]
        and not is_compacted(rows, place)
    )


def _disagreement(rows: list[Row], leader: Row, follower: Row, offset: int) -> str | None:
    here = [r for r in _log(rows, leader) if r["offset"] == offset]
    there = [r for r in _log(rows, follower) if r["offset"] == offset]
    compacted = is_compacted(rows, leader["place"])
    columns = CONTENT if compacted else (*CONTENT, "batch_base_offset")
    if here and there:
        pairs = [(a[c], b[c]) for a in here for b in there for c in columns]
        return "replica-differs" if any(None not in p and p[0] != p[1] for p in pairs) else None
    which = here or there
    if not which or (compacted and not any(_is_last(rows, leader["op_id"], r) for r in which)):
        return None
    return "replica-lacks-records" if here else "replica-has-more-records"


def _log(rows: list[Row], end: Row) -> list[Row]:
    """Return the records that one final read found on one replica."""
    return [
        r
        for r in rows
        if is_read(r)
        and is_proof(r)
        and r["final"]
        and all(r[c] == end[c] for c in ("place", "op_id", "replica"))
    ]


def _is_last(rows: list[Row], reading: int, row: Row) -> bool:
    """Return whether the row is a plain or committed value (no tombstone) and the last record of
    its key in the logs that this final read (reading: its op_id) has seen."""
    same = [
        r["offset"]
        for r in rows
        if is_read(r)
        and is_proof(r)
        and r["final"]
        and (r["place"], r["op_id"]) == (row["place"], reading)
        and r["key"] == row["key"] is not None
        and r["outcome"] != "aborted"
    ]
    committed = row["outcome"] in ("plain", "committed")
    return bool(committed and not row["tombstone"] and bool(same) and max(same) == row["offset"])
