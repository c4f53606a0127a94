"""Judge `committed_offsets` again, in plain loops over plain rows."""

import json

from linearizability.twins.facts import Found, Row, operations


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
    """Return the latest time, in nanoseconds, at which the markers of the transaction that sent
    these offsets are written, or 2**61 and more if nothing bounds it."""
    seconds = 10**9
    if send["told"] in ("commit", "abort") and send["end_ns"] is not None:
        return int(send["end_ns"]) + 10 * seconds
    if send["longest_ns"] is None:
        return 2**61 + 10 * seconds
    sent_ns = send["t_invoke_ns"] if send["t_complete_ns"] is None else send["t_complete_ns"]
    return int(sent_ns + send["longest_ns"]) + 20 * seconds


def committed_offsets(rows: list[Row]) -> Found:
    found = _told_while_undecided(rows) | _undecided_for_ever(rows)
    for fetch in _answers(rows):
        commits = [
            r
            for r in rows
            if r["f"] in ("commit_offsets", "send_offsets")
            and r["type"] != "fail"
            and (r["offset"] is not None or r["f"] == "commit_offsets")
            and (r["place"], r["group"]) == (fetch["place"], fetch["group"])
            and r["txn_outcome"] != "aborted"
        ]
        accepted = [
            r
            for r in commits
            if r["type"] == "ok" and r["txn"] is None and r["t_complete_ns"] is not None
        ]
        as_of_ns = fetch["t_invoke_ns"] - (0 if fetch["final"] else 60 * 10**9)
        before = [r for r in accepted if r["t_complete_ns"] < as_of_ns]
        latest = max((r["t_invoke_ns"] for r in before), default=None)
        last = (
            [min((r for r in before if r["t_invoke_ns"] == latest), key=_by_answer)]
            if before
            else []
        )
        explanations = [
            r
            for r in commits
            if r["offset"] == fetch["offset"]
            and r["t_invoke_ns"] <= fetch["t_complete_ns"]
            and (
                r["type"] != "ok"
                or fetch["f"] == "position"
                or r["detail"] in (None, fetch["detail"] or "")
            )
            and (r["type"] == "ok" or not _newer_before(rows, r))
        ]
        sent = [r for r in commits if _is_sent_before(r, as_of_ns)]
        sent_ns = max((r["t_invoke_ns"] for r in sent), default=None)
        in_force = [r for r in explanations if latest is None or _reached_ns(r) >= latest]
        in_time = [r for r in in_force if sent_ns is None or _reached_ns(r) >= sent_ns]
        late = [r for r in explanations if r["type"] != "ok"]
        if late and sent_ns is not None and (latest is None or sent_ns > latest):
            own = [r for r in sent if r["t_invoke_ns"] == sent_ns]
            last = [min(own, key=lambda r: (max(r["t_complete_ns"], r["end_ns"]), r["op_id"]))]
        is_replaced = not in_force and (fetch["offset"] is not None or last)
        if not in_time and (is_replaced or late):
            kind = "forgotten-offset" if fetch["offset"] is None else "unexplained-offset"
            newest = sorted(late, key=lambda r: r["op_id"])[-1:]
            kind = "commit-took-effect-late" if newest else kind
            found.add((kind, operations(fetch, *last, *newest), fetch["place"]))
    return found | _old_generations(rows) | _two_owners(rows) | _without_member(rows)


def _is_sent_before(commit: Row, as_of_ns: int) -> bool:
    """Return whether these are offsets of a transaction that was acknowledged as committed before
    as_of_ns."""
    return (
        (commit["type"], commit["told"]) == ("ok", "commit")
        and None not in (commit["t_complete_ns"], commit["end_ns"])
        and max(commit["t_complete_ns"], commit["end_ns"]) < as_of_ns
    )


def _answers(rows: list[Row]) -> list[Row]:
    """Return the answers to OffsetFetch and, where a group has such answers for a partition, copies
    of the rows in which its members began there, with the answered offset as their offset."""
    known = [r for r in rows if None not in (r["topic"], r["group"], r["t_complete_ns"])]
    told = [r for r in known if (r["f"], r["type"]) == ("fetch_offsets", "ok")]
    groups = {(r["place"], r["group"]) for r in told}
    return told + [
        r | {"offset": r["asked_offset"]}
        for r in known
        if (r["f"], r["type"], r["asked"]) == ("position", "ok", "committed")
        and (r["place"], r["group"]) in groups
    ]


def _reached_ns(commit: Row) -> int:
    """Return the time until which the commit can have reached the coordinator: its end, and for an
    unknown outcome a minute more. A commit without an end is taken to last a minute."""
    minute = 60 * 10**9
    done: int | None = commit["t_complete_ns"]
    over = commit["t_invoke_ns"] + minute if done is None else done
    return over if commit["type"] == "ok" else over + minute


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


def _without_member(rows: list[Row]) -> Found:
    found: Found = set()
    by_members = [r for r in _commits_of_generations(rows) if r["member_id"] is not None]
    for commit in rows:
        is_accepted = (commit["f"], commit["type"]) == ("commit_offsets", "ok")
        known = None not in (commit["offset"], commit["group"], commit["t_complete_ns"])
        if not is_accepted or not known or commit["txn"] is not None or commit["generation"] != -1:
            continue
        own = [r for r in by_members if all(r[c] == commit[c] for c in ("place", "group"))]
        before = [r for r in own if r["t_complete_ns"] < commit["t_invoke_ns"]]
        after = [r for r in own if r["t_invoke_ns"] > commit["t_complete_ns"]]
        if not before or not after:
            continue
        last = max(before, key=_by_answer)
        following = min(after, key=lambda r: (r["t_invoke_ns"], r["op_id"]))
        same = ("member_id", "generation")
        is_one = all(last[c] == following[c] for c in same)
        if is_one and not _is_deleted_between(rows, last, following):
            found.add(
                ("commit-without-member", operations(commit, last, following), commit["place"])
            )
    return found


def _old_generations(rows: list[Row]) -> Found:
    found: Found = set()
    for commit in _commits_of_generations(rows):
        newer = _newer_before(rows, commit)
        newest = max((r["generation"] for r in newer), default=-1)
        if newer:
            first = min((r for r in newer if r["generation"] == newest), key=_by_answer)
            found.add(("old-generation-commits", operations(commit, first), commit["place"]))
    return found


def _newer_before(rows: list[Row], commit: Row) -> list[Row]:
    """Return the commits of newer generations that were accepted, and the owners in newer
    generations that were told of their part, before this commit was invoked: they forbid it. Return
    none for a commit in a transaction or without a generation. Owners count only if the committing
    member has owned the partition, its own rows only if it is classic, and no row counts if the
    position may have been deleted since."""
    if (
        commit["txn"] is not None
        or (-1 if commit["generation"] is None else commit["generation"]) < 0
    ):
        return []
    same = ("place", "group", "member_id")
    was_owner = any(
        r["f"] == "owned" and r["settings"] is not None and all(r[c] == commit[c] for c in same)
        for r in rows
    )
    return [
        r
        for r in _commits_of_generations(rows) + (_owners(rows) if was_owner else [])
        if r["generation"] > commit["generation"]
        and (r["place"], r["group"]) == (commit["place"], commit["group"])
        and r["t_complete_ns"] < commit["t_invoke_ns"]
        and (
            r["member_id"] is None
            or r["member_id"] != commit["member_id"]
            or _is_classic(rows, commit)
        )
        and not _is_deleted_between(rows, r, commit)
    ]


def _is_deleted_between(rows: list[Row], newer: Row, commit: Row) -> bool:
    """Return whether the group's position may have been deleted after the newer commit was
    answered, and before the other one was."""
    last_ns = commit["t_invoke_ns"] if commit["t_complete_ns"] is None else commit["t_complete_ns"]
    return any(
        r["f"] == "commit_offsets"
        and r["type"] != "fail"
        and r["offset"] is None
        and (r["place"], r["group"]) == (commit["place"], commit["group"])
        and (r["t_complete_ns"] is None or r["t_complete_ns"] >= newer["t_complete_ns"])
        and r["t_invoke_ns"] < last_ns
        for r in rows
    )


def _owners(rows: list[Row]) -> list[Row]:
    return [
        r
        for r in rows
        if (r["f"], r["type"]) == ("owned", "ok")
        and None not in (r["topic"], r["group"], r["member_id"], r["generation"])
        and r["t_complete_ns"] is not None
        and r["generation"] >= 0
    ]


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
