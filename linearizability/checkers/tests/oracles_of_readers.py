"""More dumb twins (see `oracles`): of what groups and readers of transactions are promised."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from linearizability.checkers.tests.oracle_facts import (
    Found,
    Row,
    is_data,
    is_proof,
    may_be_gone,
    operations,
)
from linearizability.checkers.tests.oracles import visible


def dirty_reads(rows: list[Row]) -> Found:
    reads: dict[Any, list[Row]] = {}
    writers: dict[Any, Row] = {}
    for row in rows:
        if not is_data(row) or row["isolation"] != "read_committed" or row["value"] is None:
            continue
        sends = [
            r
            for r in rows
            if r["f"] == "send" and (r["place"], r["value"]) == (row["place"], row["value"])
        ]
        if len(sends) != 1 or sends[0]["txn"] is None or row["t_complete_ns"] is None:
            continue
        commits = [
            r["t_invoke_ns"] for r in rows if r["f"] == "commit" and r["txn"] == sends[0]["txn"]
        ]
        if commits and row["t_complete_ns"] < min(commits):
            key = (row["place"], row["offset"], row["value"])
            reads.setdefault(key, []).append(row)
            writers[key] = sends[0]
    return {
        ("dirty-read", operations(*readers, writers[key]), key[0]) for key, readers in reads.items()
    }


def _groups(rows: list[Row]) -> dict[Any, list[Row]]:
    """Return (place, group) -> what ok polls of members gave."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        of_member = row["group"] is not None and row["member_id"] is not None
        if is_data(row) and of_member and row["type"] == "ok":
            found.setdefault((row["place"], row["group"]), []).append(row)
    return found


UNSEEN_NS = 60 * 10**9


def _lost_polls(rows: list[Row]) -> list[tuple[Row, int]]:
    """Return each poll that may have given anything, and when its process was seen again."""
    found = []
    of_groups = [r for r in rows if r["group"] is not None]
    for poll in of_groups:
        unknown = poll["offset"] is None and poll["type"] == "info"
        no_member = poll["offset"] is not None and poll["member_id"] is None
        if poll["f"] != "poll" or not (unknown or no_member):
            continue
        again = [
            r["t_invoke_ns"]
            for r in of_groups
            if r["process"] == poll["process"] and r["t_invoke_ns"] > poll["t_invoke_ns"]
        ]
        over = max(poll["t_invoke_ns"], poll["t_complete_ns"] or 0) + UNSEEN_NS
        found.append((poll, min(again, default=over)))
    return found


def _stands(rows: list[Row], row: Row, lost: Row, ended_ns: int) -> str | None:
    """Return whether the row ended before a lost poll or began after it, or None if neither."""
    began = min(
        r["t_invoke_ns"]
        for r in rows
        if (r["group"], r["process"], r["session"])
        == (row["group"], row["process"], row["session"])
    )
    if is_over(row, lost):
        return "before"
    own = row["process"] == lost["process"] and row["t_invoke_ns"] >= ended_ns
    return "after" if own or began > ended_ns else None


def _stands_to_own(row: Row, lost: Row) -> str | None:
    if is_over(row, lost):
        return "before"
    return "after" if row["t_invoke_ns"] > lost["t_invoke_ns"] else None


def _together(rows: list[Row], reads: list[Row]) -> list[list[Row]]:
    """Return what the group received without a lost poll between: of all of it, and of one
    session."""
    lost = [(p, ns) for p, ns in _lost_polls(rows) if p["group"] == reads[0]["group"]]
    eras: dict[Any, list[Row]] = {}
    sessions: dict[Any, list[Row]] = {}
    alone = set()
    for row in reads:
        era = tuple(_stands(rows, row, poll, ns) for poll, ns in lost)
        own = tuple(
            _stands_to_own(row, poll) for poll, _ in lost if poll["process"] == row["process"]
        )
        session = (row["process"], row["session"], own)
        if None in era:
            alone.add(session)
        else:
            eras.setdefault(era, []).append(row)
        if None not in own:
            sessions.setdefault(session, []).append(row)
    return [*eras.values(), *(some for key, some in sessions.items() if key in alone)]


def is_over(row: Row, later: Row) -> bool:
    return row["t_complete_ns"] is not None and row["t_complete_ns"] < later["t_invoke_ns"]


def group_delivery(rows: list[Row]) -> Found:
    found: Found = set()
    for (place, group), reads in _groups(rows).items():
        given = {
            r["offset"]
            for r in rows
            if is_data(r)
            and r["place"] == place
            and r["group"] == group
            and r["member_id"] is not None
        }
        log: dict[Any, list[Row]] = {}
        for row in filter(is_proof, rows):
            if row["place"] == place and row["control"] is None and row["value"] is not None:
                log.setdefault((row["offset"], row["value"]), []).append(row)
        for (offset, _), proofs in log.items():
            if may_be_gone(rows, place, offset) or offset in given or not visible(proofs):
                continue
            if any(
                max([r["offset"] for r in reads if r["op_id"] <= seek["op_id"]], default=-1)
                < offset
                < seek["offset"]
                for seek in _seeks(rows, place, group)
            ):
                continue
            first = min(proofs, key=lambda r: r["op_id"])
            around = [
                (low["op_id"], high["op_id"], low, high)
                for some in _together(rows, reads)
                for low in [min(some, key=lambda r: (r["offset"], r["op_id"]))]
                for high in [max(some, key=lambda r: (r["offset"], r["op_id"]))]
                if low["offset"] < offset < high["offset"]
            ]
            if around:
                _, _, low, high = min(around, key=lambda found: found[:2])
                found.add(("group-skip", operations(first, low, high), place))
    return found


def _seeks(rows: list[Row], place: Any, group: str) -> list[Row]:
    return [
        r
        for r in rows
        if (r["place"], r["group"]) == (place, group)
        and (r["f"], r["type"]) == ("position", "ok")
        and r["asked"] in ("offset", "timestamp")
        and r["offset"] is not None
    ]


def _set_back(rows: list[Row], place: Any, group: str) -> list[Row]:
    """Return what set the group back: seeks, and lower offsets outside of transactions."""
    found, most = _seeks(rows, place, group), None
    for row in sorted(rows, key=lambda r: (r["op_id"], r["offset"] or 0)):
        if (row["place"], row["group"]) != (place, group) or row["offset"] is None:
            continue
        if row["f"] in ("commit_offsets", "send_offsets") and row["type"] != "fail":
            if row["txn"] is None and (most is None or row["offset"] < most):
                found.append(row)
            most = max(row["offset"], most or 0)
    return found


def exactly_once(rows: list[Row]) -> Found:
    found: Found = set()
    for (place, group), reads in _groups(rows).items():
        inputs: dict[Any, list[Row]] = {}
        for row in reads:
            if row["txn_outcome"] == "committed":
                back = [
                    r
                    for r in _set_back(rows, place, group)
                    if r["op_id"] < row["op_id"] and r["offset"] <= row["offset"]
                ]
                inputs.setdefault((row["offset"], row["value"], len(back)), []).append(row)
        for readers in inputs.values():
            if len({r["txn"] for r in readers}) > 1:
                found.add(("consumed-twice", operations(*readers), place))
    return found | _consumed_never(rows)


def _consumed_never(rows: list[Row]) -> Found:
    found: Found = set()
    for (place, group), reads in _groups(rows).items():
        here = [r for r in rows if (r["place"], r["group"]) == (place, group)]
        effects = {
            r["offset"]
            for r in here
            if is_data(r) and r["member_id"] is not None and r["txn_outcome"] != "aborted"
        }
        passing = [r for r in reads if r["txn_outcome"] == "committed"]
        passing += [
            r
            for r in here
            if r["type"] == "ok"
            and r["offset"] is not None
            and (
                (r["f"] == "send_offsets" and r["txn_outcome"] == "committed")
                or (r["f"] == "fetch_offsets" and r["final"])
            )
        ]
        aborted: dict[Any, Row] = {}
        for row in reads:
            is_free = row["txn_outcome"] == "aborted" and row["offset"] not in effects
            is_free = is_free and not may_be_gone(rows, place, row["offset"])
            if is_free and _era(rows, row) is not None:
                aborted.setdefault((row["offset"], row["value"]), row)
        for (offset, _), row in aborted.items():
            later = [
                r for r in passing if r["op_id"] > row["op_id"] and _era(rows, r) == _era(rows, row)
            ]
            furthest = max(later, key=lambda r: (r["offset"], r["op_id"]), default=row)
            if furthest["offset"] > offset:
                found.add(("consumed-never", operations(row, furthest), place))
    return found


def _era(rows: list[Row], row: Row) -> tuple[str | None, ...] | None:
    """Return the row's position to each lost poll of its group, or None if there is none."""
    lost = [(p, ns) for p, ns in _lost_polls(rows) if p["group"] == row["group"]]
    era = tuple(_stands(rows, row, poll, ns) for poll, ns in lost)
    return None if None in era else era


def _told_while_undecided(rows: list[Row]) -> Found:
    found: Found = set()
    for fetch in rows:
        known = None not in (fetch["topic"], fetch["group"], fetch["t_complete_ns"])
        if fetch["f"] != "fetch_offsets" or fetch["type"] != "ok" or not known:
            continue
        sent = [
            r
            for r in rows
            if r["f"] == "send_offsets"
            and r["type"] == "ok"
            and r["told"] == "commit"
            and (r["place"], r["group"]) == (fetch["place"], fetch["group"])
            and r["t_complete_ns"] is not None
            and r["t_complete_ns"] < fetch["t_invoke_ns"]
        ]
        longest = max((r["commit_asked_ns"] for r in sent), default=-1)
        if fetch["t_complete_ns"] < longest:
            whose = [r for r in sent if r["commit_asked_ns"] == longest]
            first = min(whose, key=lambda r: (r["t_complete_ns"], r["op_id"]))
            found.add(("told-while-undecided", operations(fetch, first), fetch["place"]))
    return found


def _undecided_for_ever(rows: list[Row]) -> Found:
    found: Found = set()
    for fetch in rows:
        known = None not in (fetch["topic"], fetch["group"], fetch["t_complete_ns"])
        is_unstable = fetch["error"] == "UNSTABLE_OFFSET_COMMIT"
        if fetch["f"] != "fetch_offsets" or not is_unstable or not known:
            continue
        sent = [
            (_over_ns(r), -r["t_invoke_ns"], -r["op_id"], r)
            for r in rows
            if r["f"] == "send_offsets"
            and r["type"] != "fail"
            and r["txn"] is not None
            and (r["place"], r["group"]) == (fetch["place"], fetch["group"])
            and r["t_invoke_ns"] <= fetch["t_complete_ns"]
        ]
        last = max(sent, key=lambda each: each[:3], default=None)
        if last is not None and fetch["t_invoke_ns"] > last[0]:
            found.add(("undecided-for-ever", operations(fetch, last[3]), fetch["place"]))
    return found


def _over_ns(send: Row) -> int:
    """Return when a transaction's offsets are decided at the latest."""
    seconds = 10**9
    if send["told"] in ("commit", "abort") and send["end_ns"] is not None:
        return int(send["end_ns"]) + 10 * seconds
    if send["longest_ns"] is None:
        return 2**61 + 10 * seconds
    sent_ns = send["t_invoke_ns"] if send["t_complete_ns"] is None else send["t_complete_ns"]
    return int(sent_ns + send["longest_ns"]) + 20 * seconds


def committed_offsets(rows: list[Row]) -> Found:
    found = _told_while_undecided(rows) | _undecided_for_ever(rows)
    for fetch in rows:
        known = None not in (fetch["topic"], fetch["group"], fetch["t_complete_ns"])
        if fetch["f"] != "fetch_offsets" or fetch["type"] != "ok" or not known:
            continue
        commits = [
            r
            for r in rows
            if r["f"] in ("commit_offsets", "send_offsets")
            and r["type"] != "fail"
            and (r["offset"] is not None or r["f"] == "commit_offsets")
            and (r["place"], r["group"]) == (fetch["place"], fetch["group"])
            and r["txn_outcome"] != "aborted"
        ]
        in_force = [
            r
            for r in commits
            if r["type"] == "ok" and r["txn"] is None and r["t_complete_ns"] is not None
        ]
        as_of_ns = fetch["t_invoke_ns"] - (0 if fetch["final"] else 60 * 10**9)
        before = [r for r in in_force if r["t_complete_ns"] < as_of_ns]
        latest = max((r["t_invoke_ns"] for r in before), default=None)
        last = (
            [min((r for r in before if r["t_invoke_ns"] == latest), key=_by_answer)]
            if before
            else []
        )
        explained = any(
            r["offset"] == fetch["offset"]
            and r["t_invoke_ns"] <= fetch["t_complete_ns"]
            and (r["type"] != "ok" or r["detail"] in (None, fetch["detail"] or ""))
            and (r not in in_force or latest is None or r["t_complete_ns"] >= latest)
            for r in commits
        )
        if not explained and (fetch["offset"] is not None or last):
            kind = "forgotten-offset" if fetch["offset"] is None else "unexplained-offset"
            found.add((kind, operations(fetch, *last), fetch["place"]))
    return found | _old_generations(rows) | _two_owners(rows)


def _commits_of_generations(rows: list[Row]) -> list[Row]:
    return [
        r
        for r in rows
        if r["f"] == "commit_offsets"
        and r["type"] == "ok"
        and r["txn"] is None
        and None not in (r["offset"], r["group"], r["t_complete_ns"], r["generation"])
        and r["generation"] >= 0
    ]


def _two_owners(rows: list[Row]) -> Found:
    found: Found = set()
    commits = [r for r in _commits_of_generations(rows) if r["member_id"] is not None]
    for commit in commits:
        same = [r for r in commits if all(r[c] == commit[c] for c in ("place", "group"))]
        same = [r for r in same if r["generation"] == commit["generation"]]
        own = [r for r in same if r["member_id"] == commit["member_id"]]
        first_ns = min(r["t_complete_ns"] for r in own)
        others = [r for r in same if r not in own and r["t_invoke_ns"] > first_ns]
        other = min(others, key=_by_answer, default=None)
        if other is not None and other["t_complete_ns"] < commit["t_invoke_ns"]:
            found.add(("two-owners", operations(commit, other), commit["place"]))
    return found


def _old_generations(rows: list[Row]) -> Found:
    found: Found = set()
    commits = _commits_of_generations(rows)
    for commit in commits:
        before = [
            r
            for r in commits
            if (r["place"], r["group"]) == (commit["place"], commit["group"])
            and r["t_complete_ns"] < commit["t_invoke_ns"]
            and (
                r["member_id"] is None
                or r["member_id"] != commit["member_id"]
                or _is_classic(rows, commit)
            )
        ]
        newest = max((r["generation"] for r in before), default=-1)
        if newest > commit["generation"]:
            first = min((r for r in before if r["generation"] == newest), key=_by_answer)
            found.add(("old-generation-commits", operations(commit, first), commit["place"]))
    return found


def _is_classic(rows: list[Row], commit: Row) -> bool:
    """Return whether the member is known to speak the classic protocol, and no other."""
    same = ("place", "group", "member_id")
    told = [
        json.loads(row["settings"]).get("group.protocol")
        for row in rows
        if row["f"] == "owned" and row["settings"] is not None
        if all(row[name] == commit[name] for name in same)
    ]
    return bool(told) and set(told) == {"classic"}


def _by_answer(row: Row) -> tuple[int, int]:
    return row["t_complete_ns"], row["op_id"]


ORACLES_OF_READERS: Mapping[str, Callable[[list[Row]], Found]] = {
    "dirty_reads": dirty_reads,
    "group_delivery": group_delivery,
    "exactly_once": exactly_once,
    "committed_offsets": committed_offsets,
}
