"""More dumb twins (see `oracles`): of what replicas, compaction and retention must keep."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from itertools import pairwise, product
from typing import Any

from linearizability.checkers.tests.oracle_facts import (
    Found,
    Row,
    is_acked,
    is_compacted,
    is_data,
    is_leader_answer,
    is_proof,
    is_read,
    keyed,
    log_start,
    lost_of_key,
    operations,
)

HOUR_MS = 3_600_000
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
    ends = [r for r in rows if _is_end(r) and r["final"] and r["high_watermark"] is not None]
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
    """Return whether these two logs are compared: those of one reading, or, where it shows no
    leader, with the first reading of the leader, or of any replica."""
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
    """Return what one read found on one replica."""
    return [
        r
        for r in rows
        if is_read(r)
        and is_proof(r)
        and r["final"]
        and all(r[c] == end[c] for c in ("place", "op_id", "replica"))
    ]


def _is_last(rows: list[Row], reading: int, row: Row) -> bool:
    """Return whether no log of the same read has anything of its key above it."""
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


def _is_end(row: Row) -> bool:
    return bool(row["f"] == "read_all" and row["type"] == "ok")


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
        if not stands and inside and _is_due(rows, send, read):
            early = _is_tombstone(rows, send)
            far = early and _left_ms(rows, send, read) >= HOUR_MS
            kind = f"tombstone-lost-{'hours-' * far}early" if early else "last-value-lost"
            found.add((kind, operations(send, read), read["place"]))
    return found


def _end_of(read: Row) -> int | None:
    """Return up to where a complete read shows everything."""
    ends = [read["high_watermark"]]
    if read["isolation"] == "read_committed":
        ends.append(read["last_stable_offset"])
    return None if not _is_end(read) or None in ends else min(ends)


def _is_resurrected(rows: list[Row], send: Row, read: Row, shown: list[Row]) -> bool:
    """Return whether the read shows a value that this tombstone had removed."""
    if not _is_last_of_key(rows, send, read) or not _is_tombstone(rows, send):
        return False
    if not _told(rows, send["place"]) or read["t_complete_ns"] is None:
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
    if not _told(rows, send["place"]) or read["t_complete_ns"] is None:
        return False
    return _left_ms(rows, send, read) > 0


def _is_last_of_key(rows: list[Row], send: Row, read: Row) -> bool:
    """Return whether the record was acknowledged before the read as the last of its key."""
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
    """Return how long it still had to stay when it was read."""
    age_ms: int = (read["t_complete_ns"] - tombstone["t_invoke_ns"]) // 1_000_000
    return _kept_ms(rows, tombstone["place"]) - age_ms


def _kept_ms(rows: list[Row], place: Any) -> int:
    """Return the shortest delete.retention.ms that the partition's settings ever named."""
    return min(int(s.get("delete.retention.ms", 86_400_000)) for s, _ in _told(rows, place))


def _is_tombstone(rows: list[Row], send: Row) -> bool:
    """Return whether any row calls the record at this place a tombstone."""
    here = keyed(rows, send["place"], send["key"])
    return any(r["tombstone"] for r in here if r["offset"] == send["offset"] and is_proof(r))


def _told(rows: list[Row], place: Any) -> list[tuple[dict[str, str], Row]]:
    return [
        (json.loads(r["settings"]), r)
        for r in rows
        if r["f"] == "topic" and r["place"] == place and r["settings"] is not None
    ]


def retention(rows: list[Row]) -> Found:
    every = (_deleted_too_early, _went_back, _kept_too_long, _deleted_below_size)
    return {found for look in every for found in look(rows)}


def _deleted_too_early(rows: list[Row]) -> Found:
    found: Found = set()
    for send in filter(is_acked, rows):
        place, offset = send["place"], send["offset"]
        answers = [
            r
            for r in rows
            if r["place"] == place
            and r["t_complete_ns"] is not None
            and r["log_start"] is not None
            and r["log_start"] > offset
        ]
        told = _told(rows, place)
        durable = send["outcome"] in ("plain", "committed")
        if not durable or not told or not answers:
            continue
        answer = min(answers, key=lambda r: (r["log_start"], r["t_complete_ns"], r["op_id"]))
        asked = [
            r
            for r in rows
            if r["f"] == "delete_records"
            and r["place"] == place
            and r["type"] != "fail"
            and r["t_invoke_ns"] <= answer["t_complete_ns"]
            and _reach(r) > offset
        ]
        if not asked and not _may_expire(told, send, answer):
            found.add((_deletion(told, send, answer), operations(send, answer), place))
    return found


def _deletion(told: list[tuple[dict[str, str], Row]], send: Row, answer: Row) -> str:
    if not _limits(told):
        return "deleted-though-kept"
    left_ms = min(_limits(told)) - _age_ms(told, send, answer)
    return f"deleted-{'hours-' * (left_ms >= HOUR_MS)}too-early"


def _reach(deletion: Row) -> float:
    """Return the offset below which it deletes, as far as that is known."""
    if deletion["offset"] is not None:
        return float(deletion["offset"])
    told = deletion["log_start"] if deletion["type"] == "ok" else None
    return math.inf if told is None else float(told)


def _deleting(told: list[tuple[dict[str, str], Row]]) -> list[dict[str, str]]:
    return [s for s, _ in told if "delete" in s.get("cleanup.policy", "delete")]


def _limits(told: list[tuple[dict[str, str], Row]]) -> list[int]:
    limits = [int(s.get("retention.ms", 604_800_000)) for s in _deleting(told)]
    return [limit for limit in limits if limit >= 0]


def _may_expire(told: list[tuple[dict[str, str], Row]], send: Row, answer: Row) -> bool:
    if any(int(s.get("retention.bytes", -1)) >= 0 for s in _deleting(told)):
        return True
    limits = _limits(told)
    if not limits:
        return False
    if not _clocks_ms(told):
        return True
    shortest = min(limits)
    return _age_ms(told, send, answer) >= shortest - min(1000, shortest // 20)


def _clocks_ms(told: list[tuple[dict[str, str], Row]]) -> list[int]:
    """Return the wall clock at second 0, as each row tells it."""
    return [
        r["timestamp_ms"] - r["t_invoke_ns"] // 1_000_000
        for _, r in told
        if r["timestamp_ms"] is not None
    ]


def _age_ms(told: list[tuple[dict[str, str], Row]], send: Row, answer: Row) -> int:
    clocks = _clocks_ms(told)
    sent_ms: int | None = send["timestamp_ms"]
    if sent_ms is None:
        sent_ms = min(clocks) + send["t_invoke_ns"] // 1_000_000
    told_ms: int = min(clocks) + answer["t_complete_ns"] // 1_000_000
    return told_ms - sent_ms


def _went_back(rows: list[Row]) -> Found:
    found: Found = set()
    for deletion, answer in product(rows, rows):
        done = deletion["f"] == "delete_records" and deletion["type"] == "ok"
        told = None not in (deletion["log_start"], deletion["t_complete_ns"], answer["log_start"])
        if not done or not told or not is_leader_answer(answer):
            continue
        same = all(deletion[c] == answer[c] for c in ("place", "leader_epoch"))
        after = deletion["t_complete_ns"] < answer["t_invoke_ns"]
        if same and after and answer["log_start"] < deletion["log_start"]:
            found.add(("log-start-goes-back", operations(deletion, answer), answer["place"]))
    return found


def _kept_too_long(rows: list[Row]) -> Found:
    """The most overdue record of each partition."""
    worst: dict[Any, tuple[int, int, Row, Row]] = {}
    for answer in filter(is_leader_answer, rows):
        place = answer["place"]
        told = _told(rows, place)
        late_ms = [_late_ms(s) for s, _ in told]
        here = [
            r
            for r in rows
            if is_acked(r)
            and r["place"] == place
            and r["outcome"] in ("plain", "committed")
            and answer["log_start"] is not None
            and r["offset"] >= answer["log_start"]
        ]
        if not here or not _clocks_ms(told) or None in late_ms:
            continue
        send = min(here, key=lambda r: (r["offset"], r["op_id"], r["record_index"]))
        first_ms = max(
            r["t_complete_ns"] // 1_000_000 + int(s.get("log.initial.task.delay.ms", 30_000)) + 5000
            for s, r in told
        )
        allowed_ms = max(each for each in late_ms if each is not None)
        due_ms = send["t_complete_ns"] // 1_000_000 + allowed_ms + 2 * _ahead_ms(rows, place, told)
        asked_ms = answer["t_invoke_ns"] // 1_000_000
        by_ms = asked_ms - max(due_ms, first_ms) - _stalled_ms(rows, place)
        if by_ms > 0 and (place not in worst or worst[place][:2] < (by_ms, -answer["op_id"])):
            worst[place] = (by_ms, -answer["op_id"], send, answer)
    return {
        ("kept-too-long", operations(send, answer), place)
        for place, (_, _, send, answer) in worst.items()
    }


def _stalled_ms(rows: list[Row], place: Any) -> int:
    """Return how long leaders gave no answer at most, before the final phase."""
    answers = sorted(
        (
            r
            for r in rows
            if is_leader_answer(r)
            and r["place"] == place
            and r["log_start"] is not None
            and not r["final"]
            and r["t_complete_ns"] is not None
        ),
        key=lambda r: (r["t_invoke_ns"], r["op_id"]),
    )
    waits = [(b["t_complete_ns"] - a["t_invoke_ns"]) // 1_000_000 for a, b in pairwise(answers)]
    return int(min(30_000, max([0, *waits])))


def _late_ms(settings: dict[str, str]) -> int | None:
    """Return how long after a record its segment is gone, None unless that is told and promised."""
    needed = ("segment.ms", "log.retention.check.interval.ms")
    limit = int(settings.get("retention.ms", 604_800_000))
    if settings.get("cleanup.policy") != "delete" or limit < 0:
        return None
    if any(name not in settings for name in needed):
        return None
    return limit + sum(int(settings[name]) for name in needed) + 5_000


def _ahead_ms(rows: list[Row], place: Any, told: list[tuple[dict[str, str], Row]]) -> int:
    """Return how far ahead of the wall clock a sender has set a time."""
    ahead = [
        r["timestamp_ms"] - min(_clocks_ms(told)) - r["t_invoke_ns"] // 1_000_000
        for r in rows
        if r["f"] == "send" and r["place"] == place and r["timestamp_ms"] is not None
    ]
    return int(max([0, *ahead]))


def _deleted_below_size(rows: list[Row]) -> Found:
    found: Found = set()
    for read in filter(is_leader_answer, rows):
        told = _told(rows, read["place"])
        sizes = [int(s.get("retention.bytes", -1)) for s in _deleting(told)]
        asked = any(
            r["f"] == "delete_records" and r["place"] == read["place"] and r["type"] != "fail"
            for r in rows
        )
        is_of_first = read["type"] == "ok" and read["leader_epoch"] == 0 and read["log_start"]
        limits = [size for size in sizes if size >= 0]
        if not is_of_first or asked or not limits or _limits(told) or read["size_bytes"] is None:
            continue
        if read["size_bytes"] < min(limits):
            found.add(("deleted-below-size", operations(read), read["place"]))
    return found


def timestamp_types(rows: list[Row]) -> Found:
    wrong: dict[Any, list[tuple[int, int]]] = {}
    for row in rows:
        told = _told(rows, row["place"])
        named = {settings.get("message.timestamp.type") for settings, _ in told}
        is_read = is_data(row) and is_proof(row) and row["timestamp_type"] is not None
        other = {"CreateTime": "append", "LogAppendTime": "create"}.get(
            str(max(named, key=str, default=None))
        )
        if is_read and len(named) == 1 and row["timestamp_type"] == other:
            wrong.setdefault(row["place"], []).append((row["offset"], row["op_id"]))
    return {
        (
            "wrong-timestamp-type",
            tuple(sorted({min(r["op_id"] for _, r in _told(rows, place)), min(found)[1]})),
            place,
        )
        for place, found in wrong.items()
    }


ORACLES_OF_KEPT_LOGS: Mapping[str, Callable[[list[Row]], Found]] = {
    "replica_agreement": replica_agreement,
    "compaction": compaction,
    "retention": retention,
    "timestamp_types": timestamp_types,
}
