"""More dumb twins (see `oracles`): of what groups and readers of transactions are promised."""

from __future__ import annotations

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
            r for r in rows
            if r["f"] == "send" and (r["place"], r["value"]) == (row["place"], row["value"])
        ]  # fmt: skip
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
    """(place, group) -> what ok polls of members gave, as long as all that they did is known."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        of_member = row["group"] is not None and row["member_id"] is not None
        if is_data(row) and of_member and row["type"] == "ok":
            found.setdefault((row["place"], row["group"]), []).append(row)
    for row in rows:
        if row["f"] == "poll" and row["group"] is not None:
            empty = row["offset"] is None
            if row["topic"] is None and row["type"] == "info":
                for (_, group), reads in found.items():
                    if group == row["group"]:
                        reads[:] = [r for r in reads if is_over(r, row)]
            if (empty and row["type"] == "info") or (not empty and row["member_id"] is None):
                key = (row["place"], row["group"])
                found[key] = [r for r in found.get(key, []) if is_over(r, row)]
    return {key: reads for key, reads in found.items() if reads}


def is_over(row: Row, later: Row) -> bool:
    return row["t_complete_ns"] is not None and row["t_complete_ns"] < later["t_invoke_ns"]


def group_delivery(rows: list[Row]) -> Found:
    found: Found = set()
    for (place, group), reads in _groups(rows).items():
        low = min(reads, key=lambda r: (r["offset"], r["op_id"]))
        high = max(reads, key=lambda r: (r["offset"], r["op_id"]))
        given = {
            r["offset"] for r in rows
            if is_data(r) and r["place"] == place and r["group"] == group
            and r["member_id"] is not None
        }  # fmt: skip
        log: dict[Any, list[Row]] = {}
        for row in filter(is_proof, rows):
            if row["place"] == place and row["control"] is None and row["value"] is not None:
                log.setdefault((row["offset"], row["value"]), []).append(row)
        for (offset, _), proofs in log.items():
            between = low["offset"] < offset < high["offset"]
            if may_be_gone(rows, place, offset):
                continue
            if between and offset not in given and visible(proofs):
                first = min(proofs, key=lambda r: r["op_id"])
                found.add(("group-skip", operations(low, high, first), place))
    return found


def exactly_once(rows: list[Row]) -> Found:
    found: Found = set()
    for (place, _), reads in _groups(rows).items():
        inputs: dict[Any, list[Row]] = {}
        for row in reads:
            if row["txn_outcome"] == "committed":
                inputs.setdefault((row["offset"], row["value"]), []).append(row)
        for readers in inputs.values():
            if len({r["txn"] for r in readers}) > 1:
                found.add(("consumed-twice", operations(*readers), place))
    return found


def committed_offsets(rows: list[Row]) -> Found:
    found: Found = set()
    for fetch in rows:
        known = None not in (fetch["topic"], fetch["group"], fetch["t_complete_ns"])
        if fetch["f"] != "fetch_offsets" or fetch["type"] != "ok" or not known:
            continue
        commits = [
            r for r in rows
            if r["f"] == "commit_offsets" and r["type"] != "fail" and r["offset"] is not None
            and (r["place"], r["group"]) == (fetch["place"], fetch["group"])
            and r["txn_outcome"] != "aborted"
        ]  # fmt: skip
        in_force = [
            r
            for r in commits
            if r["type"] == "ok" and r["txn"] is None and r["t_complete_ns"] is not None
        ]
        as_of_ns = fetch["t_invoke_ns"] - (0 if fetch["final"] else 60 * 10**9)
        before = [r for r in in_force if r["t_complete_ns"] < as_of_ns]
        latest = max((r["t_invoke_ns"] for r in before), default=None)
        last = [
            min((r for r in before if r["t_invoke_ns"] == latest), key=_by_answer)
        ] if before else []  # fmt: skip
        explained = any(
            r["offset"] == fetch["offset"] and r["t_invoke_ns"] <= fetch["t_complete_ns"]
            and (r not in in_force or latest is None or r["t_complete_ns"] >= latest)
            for r in commits
        )  # fmt: skip
        if not explained and (fetch["offset"] is not None or last):
            kind = "forgotten-offset" if fetch["offset"] is None else "unexplained-offset"
            found.add((kind, operations(fetch, *last), fetch["place"]))
    return found | _old_generations(rows) | _two_owners(rows)


def _commits_of_generations(rows: list[Row]) -> list[Row]:
    return [
        r for r in rows
        if r["f"] == "commit_offsets" and r["type"] == "ok" and r["txn"] is None
        and None not in (r["offset"], r["group"], r["t_complete_ns"], r["generation"])
        and r["generation"] >= 0
    ]  # fmt: skip


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
            r for r in commits
            if (r["place"], r["group"]) == (commit["place"], commit["group"])
            and r["t_complete_ns"] < commit["t_invoke_ns"]
        ]  # fmt: skip
        newest = max((r["generation"] for r in before), default=-1)
        if newest > commit["generation"]:
            first = min((r for r in before if r["generation"] == newest), key=_by_answer)
            found.add(("old-generation-commits", operations(commit, first), commit["place"]))
    return found


def _by_answer(row: Row) -> tuple[int, int]:
    return row["t_complete_ns"], row["op_id"]


ORACLES_OF_READERS: Mapping[str, Callable[[list[Row]], Found]] = {
    "dirty_reads": dirty_reads,
    "group_delivery": group_delivery,
    "exactly_once": exactly_once,
    "committed_offsets": committed_offsets,
}
