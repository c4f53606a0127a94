"""Judge `offset_gaps` again, in plain loops over plain rows."""

from itertools import pairwise

from linearizability.twins.facts import Found, Row, is_compacted, is_read, log_start, operations
from linearizability.twins.logs import raw_reads
from linearizability.twins.readings import steps


def offset_gaps(rows: list[Row]) -> Found:
    pairs = [pair for read in raw_reads(rows) for pair in pairwise(read)]
    transactional = {r["place"] for r in rows if r["f"] == "send" and r["txn"] is not None} | {
        read[0]["place"] for read in raw_reads(rows)
    }
    ours = [r for r in rows if r["client"] != "jepsen" and r["control"] is None]
    for before, row in steps(ours):
        known = any(
            r["place"] == row["place"]
            and r["f"] in ("send", "poll")
            and r["offset"] is not None
            and before["offset"] < r["offset"] < row["offset"]
            for r in rows
        )
        if row["place"] not in transactional and not known:
            pairs.append((before, row))
    found: Found = set()
    for before, row in pairs:
        hole = row["offset"] > before["offset"] + 1
        deleted = row["offset"] - 1 < log_start(rows, row["place"])
        if hole and not deleted and not is_compacted(rows, row["place"]):
            found.add(("offset-gap", operations(before, row), row["place"]))
    return found | _begun_late(rows) | _ended_early(rows)


def _begun_late(rows: list[Row]) -> Found:
    """Return an anomaly for each complete raw read of a leader whose first record is not the one at
    the log start. Leave out reads that were given a later offset to begin at, and compacted
    logs."""
    found: Found = set()
    for end in rows:
        is_whole = end["f"] == "read_all" and end["type"] == "ok" and end["client"] == "raw"
        if not is_whole or end["isolation"] == "read_committed" or end["replica"] is not None:
            continue
        own = [r for r in rows if (r["place"], r["op_id"]) == (end["place"], end["op_id"])]
        own = [r for r in own if r["replica"] is None]
        first = min((r["offset"] for r in own if is_read(r)), default=0)
        misled = [
            r
            for r in own
            if (r["f"], r["type"], r["asked"]) == ("position", "ok", "earliest")
            and None not in (r["offset"], r["log_start"])
            and r["log_start"] < r["offset"]
        ]
        if end["log_start"] is None or misled or first - 1 < log_start(rows, end["place"]):
            continue
        if end["log_start"] < first and not is_compacted(rows, end["place"]):
            found.add(("offset-gap", operations(end), end["place"]))
    return found


def _ended_early(rows: list[Row]) -> Found:
    """Return an anomaly for each complete raw read whose last record is not the one below its high
    watermark. Leave out reads without records, and compacted logs."""
    found: Found = set()
    for end in rows:
        is_whole = end["f"] == "read_all" and end["type"] == "ok" and end["client"] == "raw"
        if not is_whole or end["isolation"] == "read_committed" or end["high_watermark"] is None:
            continue
        same = ("place", "op_id", "replica")
        shown = [r["offset"] for r in rows if is_read(r) and all(r[c] == end[c] for c in same)]
        deleted = end["high_watermark"] - 1 < log_start(rows, end["place"])
        if not shown or deleted or is_compacted(rows, end["place"]):
            continue
        if max(shown) + 1 < end["high_watermark"]:
            found.add(("offset-gap", operations(end), end["place"]))
    return found
