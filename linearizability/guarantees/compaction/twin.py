"""Judge `compaction` again, in plain loops over plain rows."""

from itertools import product
from typing import Any

from linearizability.twins.facts import (
    Found,
    Row,
    is_acked,
    is_compacted,
    is_data,
    is_proof,
    keyed,
    log_start,
    lost_of_key,
    operations,
)
from linearizability.twins.logs import HOUR_MS, is_marker, settings_told


def compaction(rows: list[Row]) -> Found:
    found: Found = set()
    for read, send in product(rows, rows):
        end = _end_of(read)
        keys = [r for r in rows if r["f"] == "send" and r["key"] is not None]
        known = any(r["place"] == read["place"] for r in keys)
        if end is None or not known or send["place"] != read["place"] or not is_acked(send):
            continue
        shown = [
            r
            for r in rows
            if is_data(r)
            and is_proof(r)
            and all(r[c] == read[c] for c in ("place", "op_id", "replica"))
        ]
        stands = {r["offset"] for r in shown if r["value"] == send["value"] is not None}
        same = [
            r
            for r in rows
            if r["f"] == "send" and (r["place"], r["value"]) == (send["place"], send["value"])
        ]
        if send["idempotent"] and len(same) == 1 and stands - {send["offset"]}:
            found.add(("record-moved", operations(send, read), read["place"]))
        inside = (read["log_start"] or 0) <= send["offset"] < end
        if not stands and inside and _is_resurrected(rows, send, read, shown):
            found.add(("key-resurrected", operations(send, read), read["place"]))
        is_above = _is_above_stable(rows, send, read)
        if not stands and inside and is_above:
            found.add(("removed-above-stable", operations(send, read), read["place"]))
        if not stands and inside and not is_above and _is_due(rows, send, read):
            early = _is_tombstone(rows, send)
            far = early and _left_ms(rows, send, read) >= HOUR_MS
            kind = f"tombstone-lost-{'hours-' * far}early" if early else "last-value-lost"
            found.add((kind, operations(send, read), read["place"]))
    return found


def _end_of(read: Row) -> int | None:
    """Return the offset up to which a complete read shows everything. Return None if it is unknown,
    or if the row ends no complete read."""
    ends = [read["high_watermark"]]
    if read["isolation"] == "read_committed":
        ends.append(read["last_stable_offset"])
    return None if not is_marker(read) or None in ends else min(ends)


def _is_above_stable(rows: list[Row], send: Row, read: Row) -> bool:
    """Return whether this is the leader's raw read of a partition that may be compacted, was
    requested after the record's acknowledgement, and names a last stable offset at or below the
    record, so that no cleaning can have removed it."""
    done_ns, stable = send["t_complete_ns"], read["last_stable_offset"]
    if None in (done_ns, stable, send["value"]) or done_ns >= read["t_invoke_ns"]:
        return False
    is_raw = read["client"] == "raw" and read["isolation"] != "read_committed"
    is_kept = send["offset"] >= max(stable, log_start(rows, send["place"]))
    may_clean = is_compacted(rows, send["place"])
    return is_raw and read["replica"] is None and is_kept and may_clean


def _is_resurrected(rows: list[Row], send: Row, read: Row, shown: list[Row]) -> bool:
    """Return whether `send` is the last record of its key, a tombstone, and the read shows a value
    that it had deleted. Return False if the read took as long as delete.retention.ms, or if the
    topic's settings or the end of the read are unknown."""
    if not _is_last_of_key(rows, send, read) or not _is_tombstone(rows, send):
        return False
    if not settings_told(rows, send["place"]) or read["t_complete_ns"] is None:
        return False
    lasted_ms = (read["t_complete_ns"] - read["t_invoke_ns"]) // 1_000_000
    return lasted_ms < _kept_ms(rows, send["place"]) and any(
        r["key"] == send["key"]
        and r["offset"] < send["offset"]
        and r["value"] is not None
        and r["outcome"] != "aborted"
        and not r["tombstone"]
        for r in shown
    )


def _is_due(rows: list[Row], send: Row, read: Row) -> bool:
    if not _is_last_of_key(rows, send, read):
        return False
    if not _is_tombstone(rows, send):
        return True
    if not settings_told(rows, send["place"]) or read["t_complete_ns"] is None:
        return False
    return _left_ms(rows, send, read) > 0


def _is_last_of_key(rows: list[Row], send: Row, read: Row) -> bool:
    """Return whether the record, plain or committed, was acknowledged before the read as the last
    of its key, and no record of the key whose place is unknown may change that: no tombstone, and
    outside the final phase none at all."""
    place, key = send["place"], send["key"]
    if key is None or send["value"] is None or send["outcome"] not in ("plain", "committed"):
        return False
    if send["t_complete_ns"] is None or send["t_complete_ns"] >= read["t_invoke_ns"]:
        return False
    newest = max(r["offset"] for r in keyed(rows, place, key) if is_proof(r))
    lost = lost_of_key(rows, place, key)
    if send["offset"] != newest or send["offset"] < log_start(rows, place):
        return False
    return not any(r["tombstone"] for r in lost) and (not lost or bool(read["final"]))


def _left_ms(rows: list[Row], tombstone: Row, read: Row) -> int:
    """Return for how many milliseconds the tombstone still had to be kept when the read ended
    (negative if none)."""
    age_ms: int = (read["t_complete_ns"] - tombstone["t_invoke_ns"]) // 1_000_000
    return _kept_ms(rows, tombstone["place"]) - age_ms


def _kept_ms(rows: list[Row], place: Any) -> int:
    """Return the shortest delete.retention.ms, in milliseconds, that the partition's settings ever
    had, a day where they named none. Raise ValueError if no settings are known."""
    return min(int(s.get("delete.retention.ms", 86_400_000)) for s, _ in settings_told(rows, place))


def _is_tombstone(rows: list[Row], send: Row) -> bool:
    """Return whether any row at the send's offset says that the record is a tombstone."""
    here = keyed(rows, send["place"], send["key"])
    return any(r["tombstone"] for r in here if r["offset"] == send["offset"] and is_proof(r))
