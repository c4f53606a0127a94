"""Conclude facts from rows in plain loops: the base of the twins.

`resolve` adds the facts to the rows that `ingest` adds for the kernels. Each other function returns
a fact about a row or an offset.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from linearizability.bounds import is_given

Row = dict[str, Any]
Found = set[tuple[str, tuple[int, ...], tuple[Any, ...]]]


def resolve(rows: list[Row]) -> list[Row]:
    """Return copies of the rows with topic ids and `place` filled in, and with the facts about
    their transactions and `outcome` added, as `ingest` does."""
    ids: dict[Any, set[Any]] = {}
    for row in rows:
        if row["topic"] is not None and row["topic_id"] is not None:
            ids.setdefault(row["topic"], set()).add(row["topic_id"])
    rows = [dict(row) for row in rows]
    for row in rows:
        known = ids.get(row["topic"], set())
        if row["topic_id"] is None:
            row["topic_id"] = next(iter(known)) if len(known) == 1 else ""
        row["place"] = (row["topic"], row["topic_id"], row["partition"])
    markers = _markers(rows)
    by_txn: dict[int, set[str]] = {}
    for row in rows:
        if row["f"] == "send" and row["txn"] is not None and row["value"] is not None:
            for (place, _, value), marker in markers.items():
                if (place, value) == (row["place"], row["value"]):
                    by_txn.setdefault(row["txn"], set()).add(marker)
    for row in rows:
        row["outcome"] = _send_outcome(rows, row, markers, by_txn) if row["f"] == "send" else None
    may_last_ns = longest_ns(rows)
    for row in rows:
        row["longest_ns"] = may_last_ns
        ended = row["txn"] is not None
        row["txn_outcome"] = txn_outcome(rows, row["txn"], by_txn) if ended else None
        row |= _told(rows, row["txn"])
        if is_data(row):
            row["outcome"] = _poll_outcome(rows, row, markers)
    return rows


def longest_ns(rows: list[Row]) -> int | None:
    """Return the longest transaction time-out of any producer in nanoseconds. Return None if a
    process that began a transaction has not reported its own, or if none is reported."""
    told: dict[Any, int] = {}
    for row in rows:
        if (row["f"], row["type"]) == ("init_producer", "ok") and row["settings"]:
            known = json.loads(row["settings"]).get("transaction.timeout.ms")
            if known is not None:
                told[row["process"]] = max(int(known), told.get(row["process"], 0))
    if not told or any(r["process"] not in told for r in rows if r["f"] == "begin"):
        return None
    return max(told.values()) * 10**6


def _markers(rows: list[Row]) -> dict[tuple[Any, int, int], str]:
    """Return (place, offset, value) -> the marker after the record, if all raw reads agree."""
    words = {"commit": "committed", "abort": "aborted"}
    agreed = {key: {marker for marker, _ in shown} for key, shown in _all_markers(rows).items()}
    return {key: words[m.pop()] for key, m in agreed.items() if len(m) == 1}


def markers_behind(rows: list[Row], record: tuple[Any, int, int]) -> list[tuple[str, int]]:
    """Return (marker, first operation that shows it) of one record, or [] if no raw read shows a
    marker or they disagree."""
    shown = _all_markers(rows).get(record, [])
    if len({marker for marker, _ in shown}) != 1:
        return []
    return [(shown[0][0], min(op_id for _, op_id in shown))]


def _all_markers(rows: list[Row]) -> dict[tuple[Any, int, int], list[tuple[str, int]]]:
    """Return (place, offset, value) -> (the marker after the record, the reading operation) for
    each raw read."""
    found: dict[tuple[Any, int, int], list[tuple[str, int]]] = {}
    raw = [
        r
        for r in rows
        if r["f"] == "poll" and r["offset"] is not None and is_given(r["producer_id"])
    ]
    for row in raw:
        if row["control"] is not None or row["value"] is None:
            continue
        behind = [
            r
            for r in raw
            if (r["place"], r["op_id"], r["replica"], r["producer_id"])
            == (row["place"], row["op_id"], row["replica"], row["producer_id"])
            and r["control"] is not None
            and r["offset"] > row["offset"]
        ]
        if behind:
            marker = min(behind, key=lambda r: r["offset"])["control"]
            key = (row["place"], row["offset"], row["value"])
            found.setdefault(key, []).append((marker, row["op_id"]))
    return found


def _send_outcome(
    rows: list[Row],
    send: Row,
    markers: Mapping[tuple[Any, int, int], str],
    by_txn: Mapping[int, set[str]],
) -> str:
    if send["txn"] is None:
        return "plain"
    own = {
        marker
        for (place, _, value), marker in markers.items()
        if place == send["place"] and value == send["value"]
    }
    if len(own) == 1:
        return own.pop()
    return txn_outcome(rows, send["txn"], by_txn)


def _told(rows: list[Row], txn: int | None) -> Row:
    """Return how a transaction ended, as far as its client knows: the first acknowledgement of an
    end (end_ns, end_op); when and by which operation a commit was first requested (commit_asked_ns,
    commit_op); when it was acknowledged (commit_done_ns). `told`: "commit" if only a commit was
    acknowledged. If no commit was requested: "abort" if one was acknowledged, else "unasked".
    Otherwise "unknown"."""
    ends = [
        r for r in rows if txn is not None and r["txn"] == txn and r["f"] in ("commit", "abort")
    ]
    good = [r for r in ends if r["type"] == "ok"]
    words = {r["f"] for r in good}
    asked = any(r["f"] == "commit" for r in ends)
    told = "unknown" if asked else "unasked"
    if words == {"commit"}:
        told = "commit"
    elif words and not asked:
        told = "abort"
    commits = [r for r in ends if r["f"] == "commit"]
    done = [r["t_complete_ns"] for r in commits if r["type"] == "ok"]
    return {
        "told": told,
        "commit_op": min(((r["t_invoke_ns"], r["op_id"]) for r in commits), default=(0, None))[1],
        "commit_asked_ns": min((r["t_invoke_ns"] for r in commits), default=None),
        "commit_done_ns": min((ns for ns in done if ns is not None), default=None),
        "end_ns": min((r["t_complete_ns"] for r in good), default=None),
        "end_op": min((r["op_id"] for r in good), default=None),
    }


def txn_outcome(rows: list[Row], txn: int, by_txn: Mapping[int, set[str]]) -> str:
    ends = [(r["f"], r["type"]) for r in rows if r["txn"] == txn]
    commit_asked = any(f == "commit" for f, _ in ends)
    commit_ok, abort_ok = ("commit", "ok") in ends, ("abort", "ok") in ends
    marked = by_txn.get(txn, set())
    if marked == {"committed"}:
        return "unknown" if abort_ok and not commit_asked else "committed"
    if marked == {"aborted"}:
        return "unknown" if commit_ok else "aborted"
    if marked:
        return "unknown"
    if commit_ok:
        return "unknown" if abort_ok else "committed"
    if abort_ok:
        return "unknown" if commit_asked else "aborted"
    return "committed" if _is_delivered(rows, txn) else "unknown"


def _is_delivered(rows: list[Row], txn: int) -> bool:
    """Return whether a read_committed reader received a record of the transaction after its commit
    was requested. Only values that were sent to their partition once count."""
    asked = [r["t_invoke_ns"] for r in rows if (r["f"], r["txn"]) == ("commit", txn)]
    if not asked:
        return False
    given = {
        (r["place"], r["value"])
        for r in rows
        if is_data(r)
        and (r["type"], r["isolation"]) == ("ok", "read_committed")
        and (r["t_complete_ns"] or r["t_invoke_ns"]) > min(asked)
    }
    sends = [r for r in rows if r["f"] == "send" and r["type"] != "fail" and r["value"] is not None]
    records = [(s["place"], s["value"]) for s in sends]
    own = {record for s, record in zip(sends, records, strict=True) if s["txn"] == txn}
    return any(records.count(record) == 1 for record in own & given)


def _poll_outcome(
    rows: list[Row], poll: Row, markers: Mapping[tuple[Any, int, int], str]
) -> str | None:
    marker = markers.get((poll["place"], poll["offset"], poll["value"]))
    if marker is not None:
        return marker
    writers = {
        r["outcome"]
        for r in rows
        if r["f"] == "send"
        and r["type"] != "fail"
        and r["value"] is not None
        and (r["place"], r["value"]) == (poll["place"], poll["value"])
    }
    return writers.pop() if len(writers) == 1 else None


# --- what proves something ------------------------------------------------------------------------


def is_data(row: Row) -> bool:
    return row["f"] == "poll" and row["offset"] is not None and row["control"] is None


def is_read(row: Row) -> bool:
    return row["f"] == "poll" and row["offset"] is not None


def is_acked(row: Row) -> bool:
    return (
        row["f"] == "send"
        and row["type"] == "ok"
        and row["acks"] == -1
        and row["offset"] is not None
    )


def is_decided(send: Row) -> bool:
    """Return whether the send's outcome was unknown in the imported file, and another record of its
    transaction proves that it committed."""
    done = send["f"] == "send" and send["type"] == "ok"
    return done and (send["detail"] or "").startswith("unknown in the file, but operation ")


def is_proof(row: Row) -> bool:
    if is_acked(row):
        return True
    below = (
        row["replica"] is None
        or row["high_watermark"] is None
        or (row["offset"] is not None and row["offset"] < row["high_watermark"])
    )
    return is_read(row) and below


def is_leader_answer(row: Row) -> bool:
    asked = row["f"] in ("poll", "read_all") and row["topic"] is not None
    named = row["high_watermark"] is not None and row["leader_epoch"] is not None
    of_leader = row["offset"] is None and row["replica"] is None
    return asked and of_leader and named and row["leader_epoch"] >= 0


def log_start(rows: list[Row], place: Any) -> int:
    starts = [r["log_start"] for r in rows if r["place"] == place and r["log_start"] is not None]
    return max(starts, default=0)


def may_be_gone(rows: list[Row], place: Any, offset: int) -> bool:
    """Return whether retention, DeleteRecords or compaction may have removed the record at this
    offset."""
    return offset < log_start(rows, place) or compacted_away(rows, place, offset)


def compacted_away(rows: list[Row], place: Any, offset: int) -> bool:
    """Return whether compaction may have removed the record: the log is compacted, and the record
    is not proven to be the last value of its key."""
    if not is_compacted(rows, place):
        return False
    for key in {r["key"] for r in rows if r["place"] == place} - {None}:
        records = [r for r in keyed(rows, place, key) if is_proof(r)]
        newest = max([r["offset"] for r in records], default=None)
        tombstone = any(r["tombstone"] for r in records if r["offset"] == newest)
        if newest == offset and not tombstone and not lost_of_key(rows, place, key):
            return False
    return True


def is_compacted(rows: list[Row], place: Any) -> bool:
    here = [r for r in rows if r["place"] == place]
    settings = [r["settings"] or "" for r in here if r["f"] == "topic"]
    told = [text for text in settings if "cleanup.policy" in text]
    if told:
        return any("compact" in text for text in told)
    return any(r["key"] is not None for r in here)


def keyed(rows: list[Row], place: Any, key: str) -> list[Row]:
    """Return the records of a key that were, or may have been, sent or read, and that may be
    committed."""
    sends = [r for r in rows if r["place"] == place and r["f"] == "send" and r["value"] is not None]
    times = Counter(r["value"] for r in sends)
    never = {
        r["value"]
        for r in sends
        if times[r["value"]] == 1 and (r["outcome"], r["told"]) == ("unknown", "unasked")
    }
    return [
        r
        for r in rows
        if r["place"] == place
        and r["key"] == key
        and r["outcome"] != "aborted"
        and r["value"] not in never
        and (is_read(r) or (r["f"] == "send" and r["type"] != "fail"))
    ]


def lost_of_key(rows: list[Row], place: Any, key: str) -> list[Row]:
    """Return the sends of a key whose place, end or number of copies is unknown."""
    all_keys = {r["key"] for r in rows if r["place"] == place} - {None}
    records = [r for k in all_keys for r in keyed(rows, place, k)]
    lost = []
    for send in keyed(rows, place, key):
        if send["f"] != "send":
            continue
        same = [r for r in records if r["value"] == send["value"]]
        seen = send["value"] is not None and any(is_proof(r) for r in same)
        once = sum(r["f"] == "send" for r in same) == 1
        decided = send["idempotent"] and send["outcome"] in ("plain", "committed")
        if not (decided and (is_acked(send) or (seen and once))):
            lost.append(send)
    return lost


def operations(*rows: Row) -> tuple[int, ...]:
    return tuple(sorted({row["op_id"] for row in rows}))
