"""Judge `retention` again, in plain loops over plain rows."""

import math
from itertools import pairwise, product
from typing import Any

from linearizability.twins.facts import (
    Found,
    Row,
    is_acked,
    is_compacted,
    is_leader_answer,
    operations,
)
from linearizability.twins.logs import HOUR_MS, settings_told


def retention(rows: list[Row]) -> Found:
    every = (_deleted_too_early, _went_back, _kept_too_long, _deleted_below_size, _answered_below)
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
        told = settings_told(rows, place)
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
    """Return the offset below which the deletion removed records, or infinity if that is
    unknown."""
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
    """Return the wall-clock times, in milliseconds, at which the history's clock was 0, one for
    each row that names one."""
    return [
        r["timestamp_ms"] - r["t_invoke_ns"] // 1_000_000
        for _, r in told
        if r["timestamp_ms"] is not None
    ]


def _age_ms(told: list[tuple[dict[str, str], Row]], send: Row, answer: Row) -> int:
    clocks = _clocks_ms(told)
    asked_ms = min(clocks) + send["t_invoke_ns"] // 1_000_000
    set_ms = asked_ms if send["timestamp_ms"] is None else send["timestamp_ms"]
    by_append = [_by_append(s) for s, _ in told]
    sent_ms: int = asked_ms if all(by_append) else set_ms
    if any(by_append):
        sent_ms = min(sent_ms, asked_ms)
    told_ms: int = min(clocks) + answer["t_complete_ns"] // 1_000_000
    return told_ms - sent_ms


def _by_append(settings: dict[str, str]) -> bool:
    return settings.get("message.timestamp.type") == "LogAppendTime"


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


def _answered_below(rows: list[Row]) -> Found:
    return {
        ("answered-below-log-start", operations(row), row["place"])
        for row in rows
        if (row["f"], row["type"], row["asked"]) == ("delete_records", "ok", "answered")
    }


def _kept_too_long(rows: list[Row]) -> Found:
    """Return an anomaly for the most overdue record of each partition that has one."""
    worst: dict[Any, tuple[int, int, Row, Row]] = {}
    for answer in filter(is_leader_answer, rows):
        place = answer["place"]
        told = settings_told(rows, place)
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
    """Return the longest time in milliseconds in which no leader answered, before the final phase;
    30,000 at most."""
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
    """Return the time in milliseconds after a record by which its segment must be deleted at the
    latest, or None if the settings do not determine it."""
    needed = ("segment.ms", "log.retention.check.interval.ms")
    limit = int(settings.get("retention.ms", 604_800_000))
    if settings.get("cleanup.policy") != "delete" or limit < 0:
        return None
    if any(name not in settings for name in needed):
        return None
    return limit + sum(int(settings[name]) for name in needed) + 5_000


def _ahead_ms(rows: list[Row], place: Any, told: list[tuple[dict[str, str], Row]]) -> int:
    """Return the longest time in milliseconds by which a sender set a timestamp ahead of the wall
    clock. Return 0 if none did, or if the broker replaced all of them."""
    if all(_by_append(s) for s, _ in told):
        return 0
    ahead = [
        r["timestamp_ms"] - min(_clocks_ms(told)) - r["t_invoke_ns"] // 1_000_000
        for r in rows
        if r["f"] == "send" and r["place"] == place and r["timestamp_ms"] is not None
    ]
    return int(max([0, *ahead]))


def _deleted_below_size(rows: list[Row]) -> Found:
    found: Found = set()
    for read in filter(is_leader_answer, rows):
        told = settings_told(rows, read["place"])
        sizes = [int(s.get("retention.bytes", -1)) for s in _deleting(told)]
        asked = any(
            r["f"] == "delete_records" and r["place"] == read["place"] and r["type"] != "fail"
            for r in rows
        )
        is_of_first = read["type"] == "ok" and read["leader_epoch"] == 0 and read["log_start"]
        limits = [size for size in sizes if size >= 0]
        if is_compacted(rows, read["place"]):
            continue
        if not is_of_first or asked or not limits or _limits(told) or read["size_bytes"] is None:
            continue
        if read["size_bytes"] < min(limits):
            found.add(("deleted-below-size", operations(read), read["place"]))
    return found
