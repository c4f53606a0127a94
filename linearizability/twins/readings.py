"""Conclude facts from readers' rows, in plain loops, for several twins."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from linearizability.bounds import NEVER
from linearizability.twins.facts import Row, is_data, is_read


def steps(rows: list[Row]) -> list[tuple[Row, Row]]:
    """Return (before, read) for each read that has one before it of the same reader, in the order
    of operations. A read of a failed operation is paired only with reads inside that operation or
    before it."""
    last: dict[Any, Row] = {}
    within: dict[Any, Row] = {}
    pairs = []
    for row in sorted(rows, key=lambda r: (r["op_id"], r["record_index"])):
        if is_read(row):
            reader = tuple(row[c] for c in ("place", "process", "session", "replica", "isolation"))
            before = within.get((*reader, row["op_id"])) or last.get(reader)
            if before is not None:
                pairs.append((before, row))
            within[*reader, row["op_id"]] = row
            if row["type"] != "fail":
                last[reader] = row
    return pairs


def start(position: Row) -> Any:
    asked = position["asked"]
    if position["offset"] is None:
        return position["asked_offset"] if asked in ("offset", "committed") else None
    if asked == "earliest" and position["log_start"] is not None:
        return min(position["log_start"], position["offset"])
    return position["offset"]


def first_steps(rows: list[Row]) -> list[tuple[Row, Row]]:
    """Return (before, first) for the first record of each session whose start is recorded: before
    is a made-up record just below that start (the last one, if there are several). A session whose
    last start came after the record is left out."""
    sessions: dict[Any, Row] = {}
    for row in sorted(rows, key=lambda r: (r["op_id"], r["record_index"])):
        if is_read(row) and row["replica"] is None:
            sessions.setdefault((row["place"], row["process"], row["session"]), row)
    pairs = []
    for session, first in sessions.items():
        begun = [
            r
            for r in rows
            if r["f"] == "position"
            and r["type"] == "ok"
            and start(r) is not None
            and (r["place"], r["process"], r["session"]) == session
        ]
        if begun:
            last = max(begun, key=lambda r: (r["op_id"], r["record_index"]))
            if last["op_id"] <= first["op_id"]:
                pairs.append((last | {"offset": start(last) - 1}, first))
    return pairs


def visible(proofs: list[Row]) -> bool:
    outcomes = {r["outcome"] for r in proofs} - {None}
    outcome = outcomes.pop() if len(outcomes) == 1 else None
    given = any(r["f"] == "poll" and r["isolation"] == "read_committed" for r in proofs)
    return outcome in ("plain", "committed") or (given and outcome != "aborted")


def groups_of(rows: list[Row]) -> dict[Any, list[Row]]:
    """Return (place, group) -> the records that successful polls of members received, in the order
    of `rows`."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        of_member = row["group"] is not None and row["member_id"] is not None
        if is_data(row) and of_member and row["type"] == "ok":
            found.setdefault((row["place"], row["group"]), []).append(row)
    return found


UNSEEN_NS = 60 * 10**9


def polls_lost(rows: list[Row]) -> list[tuple[Row, int]]:
    """Return each poll whose records are not known, or whose reader was no member of the group,
    with the time at which its process was seen again (or UNSEEN_NS after the poll)."""
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


def polls_lost_of(rows: list[Row], place: Any, group: str | None) -> list[tuple[Row, int]]:
    """Return the lost polls of a group (`polls_lost`) that may have delivered records of a
    partition: all except those of members during which another member owned it."""
    return [
        (poll, ended_ns)
        for poll, ended_ns in polls_lost(rows)
        if poll["group"] == group and not _is_owned_elsewhere(rows, place, poll, ended_ns)
    ]


def _is_owned_elsewhere(rows: list[Row], place: Any, poll: Row, ended_ns: int) -> bool:
    """Return whether another member owned the partition during a lost poll of a member: it reported
    the partition before, and again in each generation up to one in which it had a commit accepted
    that was invoked after the poll."""
    shows = any(
        (r["f"], r["t_invoke_ns"], r["member_id"]) == ("poll", poll["t_invoke_ns"], None)
        and r["offset"] is not None
        for r in rows
        if (r["group"], r["process"]) == (poll["group"], poll["process"])
    )
    assigns = any(r["f"] == "assign" for r in rows if r["process"] == poll["process"])
    subscribes = any(
        (r["f"], r["group"], r["process"]) == ("subscribe", poll["group"], poll["process"])
        for r in rows
    )
    if shows or assigns or not subscribes:
        return False
    members = {(r["process"], r["member_id"]) for r in rows if r["group"] == poll["group"]}
    return any(
        process != poll["process"]
        and member_id is not None
        and _owns(rows, place, (poll["group"], process, member_id), poll["t_invoke_ns"], ended_ns)
        for process, member_id in members
    )


def _owns(rows: list[Row], place: Any, member: Any, begun_ns: int, ended_ns: int) -> bool:
    own = [
        r
        for r in rows
        if (r["group"], r["process"], r["member_id"]) == member
        and r["type"] == "ok"
        and r["topic"] is not None
        and r["generation"] is not None
        and r["generation"] >= 0
    ]
    told: dict[int, int] = {}
    for r in own:
        if r["f"] == "owned" and (r["topic"], r["partition"]) == (place[0], place[2]):
            told[r["generation"]] = min(over_at(r), told.get(r["generation"], NEVER))
    for commit in own:
        is_late = commit["t_invoke_ns"] >= ended_ns
        if commit["f"] in ("commit_offsets", "send_offsets") and is_late:
            chain = {g for g in told if _is_one_chain(told, g, commit["generation"])}
            if min([told[g] for g in chain], default=NEVER) < begun_ns:
                return True
    return False


def _is_one_chain(told: dict[int, int], one: int, other: int) -> bool:
    """Return whether all generations from one to the other are in `told`."""
    return all(g in told for g in range(min(one, other), max(one, other) + 1))


def standing(rows: list[Row], row: Row, lost: Row, ended_ns: int) -> str | None:
    """Return "before" if the row ended before a lost poll was invoked; "after" if the row's
    session, or for the poll's own process the row, began after ended_ns, the end of that poll; else
    None."""
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


def is_over(row: Row, later: Row) -> bool:
    return row["t_complete_ns"] is not None and row["t_complete_ns"] < later["t_invoke_ns"]


def seeks_of(rows: list[Row], place: Any, group: str) -> list[Row]:
    return [
        r
        for r in rows
        if (r["place"], r["group"]) == (place, group)
        and (r["f"], r["type"]) == ("position", "ok")
        and r["asked"] in ("offset", "timestamp")
        and r["offset"] is not None
    ]


def moves_of(rows: list[Row], place: Any, group: str) -> list[Row]:
    """Return the seeks of members, their starts at the log's end, and the commits by administrators
    (requests without a member id)."""
    at_end = [
        r
        for r in rows
        if (r["place"], r["group"], r["f"], r["type"]) == (place, group, "position", "ok")
        and r["asked"] == "latest"
        and r["offset"] is not None
        and r["member_id"] is not None
    ]
    return [*seeks_of(rows, place, group), *at_end] + [
        r
        for r in rows
        if (r["place"], r["group"], r["f"]) == (place, group, "commit_offsets")
        and r["type"] != "fail"
        and r["txn"] is None
        and r["member_id"] is None
        and r["offset"] is not None
    ]


def is_given(row: Row) -> bool:
    """Return whether the row is a data record that a reader received, and not one from reading a
    follower's own log."""
    return is_read(row) and row["control"] is None and row["replica"] is None


def over_at(row: Row) -> int:
    done: int | None = row["t_complete_ns"]
    return row["t_invoke_ns"] if done is None else done


def undisturbed_times(rows: list[Row]) -> list[tuple[int, int]]:
    """Return the times (from, until) in which no fault was in progress. A heal counts only after a
    fault. Only the fault Kill lasts until the next heal; others end with their operation."""
    spans: list[tuple[int, int]] = []
    begun: list[int] = []
    previous = "Heal"
    nemesis = [r for r in rows if r["f"] == "nemesis"]
    for row in sorted(nemesis, key=lambda r: (r["t_invoke_ns"], r["t_complete_ns"] or 0)):
        name, done = json.loads(row["detail"])["fault"], over_at(row)
        if name == "Heal" and previous == "Heal":
            continue
        previous = name
        if name == "Heal":
            spans.append((min([row["t_invoke_ns"], *begun]), done))
            begun = []
        elif name == "Kill":
            begun.append(row["t_invoke_ns"])
        else:
            spans.append((row["t_invoke_ns"], done))
    spans += [(ns, NEVER) for ns in begun]
    edges = sorted({-NEVER, NEVER, *(ns for span in spans for ns in span)})
    return [
        (low, high)
        for low, high in pairwise(edges)
        if not any(start <= low and high <= end for start, end in spans)
    ]
