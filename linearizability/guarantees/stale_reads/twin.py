"""Judge `stale_reads` again, in plain loops over plain rows."""

from collections.abc import Iterator
from typing import Any

from linearizability.bounds import NEVER, NOTHING_STATED
from linearizability.twins.facts import Found, Row, is_acked, may_be_gone
from linearizability.twins.readings import UNSEEN_NS, is_given, over_at, undisturbed_times

TURNS = ("assign", "subscribe", "leave", "crash")


def stale_reads(rows: list[Row]) -> Found:
    bound = NOTHING_STATED.stale_after_ns
    moves: dict[Any, list[Row]] = {}
    for row in rows:
        read = is_given(row) and row["client"] != "raw"
        assigned = row["f"] == "assign" and row["type"] == "ok"
        if row["topic"] is not None and (read or assigned or _is_lost(row)):
            moves.setdefault((row["place"], _who(row)), []).append(row)
    found: Found = set()
    for (place, who), own in moves.items():
        before, given_ns = -1, -NEVER
        for n, row in enumerate(own):
            before = NEVER if _is_lost(row) else row["offset"] if is_given(row) else before
            given_ns = given_ns if row["f"] == "assign" else over_at(row)
            if _may_have_gone_on(rows, who, given_ns, over_at(row)):
                continue
            until = own[n + 1]["t_invoke_ns"] if n + 1 < len(own) else NEVER
            known = _known(rows, place, row["isolation"] != "read_uncommitted")
            lacking = {offset: first for offset, first in known.items() if offset > before}
            if not lacking:
                continue
            since = over_at(row)
            until = min([until, *(t for t in _turns(rows, who) if t >= since)])
            start = max(since, min(known_ns for known_ns, _ in lacking.values()))
            proofs = [
                poll
                for undisturbed, disturbed in undisturbed_times(rows)
                for poll in _proofs(
                    rows, who, max(start, undisturbed), min(until, disturbed), bound
                )
            ]
            if proofs:
                numbers = {lacking[min(lacking)][1], row["op_id"], min(proofs)[1]}
                found.add(("stale-read", tuple(sorted(numbers)), place))
    return found


def _who(row: Row) -> tuple[str, Any]:
    if row["group"] is not None and row["member_id"] is not None:
        return "group", row["group"]
    return "process", row["process"]


def _is_lost(row: Row) -> bool:
    return row["f"] == "poll" and row["offset"] is None and row["type"] == "info"


def _turns(rows: list[Row], who: tuple[str, Any]) -> list[int]:
    return [
        row["t_invoke_ns"]
        for row in rows
        if row[who[0]] == who[1] and (row["f"] in TURNS or (_is_lost(row) and row["topic"] is None))
    ]


def _may_have_gone_on(rows: list[Row], who: tuple[str, Any], given_ns: int, began_ns: int) -> bool:
    """Return whether a poll of unknown outcome may have delivered something to the reader between
    its last record and a pause."""
    return any(
        _is_lost(row)
        and row["topic"] is None
        and row[who[0]] == who[1]
        and row["t_invoke_ns"] <= began_ns
        and (row["t_complete_ns"] or row["t_invoke_ns"] + UNSEEN_NS) >= given_ns
        for row in rows
    )


def _proofs(
    rows: list[Row], who: tuple[str, Any], start: int, until: int, bound: int
) -> list[tuple[int, int]]:
    """Return (when it was invoked, op_id) of the polls between `start` and `until` that prove the
    reader was kept waiting."""
    polls: dict[int, list[Row]] = {}
    for row in rows:
        answered = row["f"] == "poll" and row["type"] == "ok" and row["t_complete_ns"] is not None
        if answered and _who(row) == who and start <= row["t_invoke_ns"] < until:
            polls.setdefault(row["op_id"], []).append(row)
    early = any(own[0]["t_invoke_ns"] <= start + bound // 2 for own in polls.values())
    return [
        (own[0]["t_invoke_ns"], op_id)
        for op_id, own in polls.items()
        if own[0]["t_invoke_ns"] >= start + bound
        and (early or all(row["offset"] is None for row in own))
    ]


def _known(rows: list[Row], place: Any, committed: bool) -> dict[int, tuple[int, int]]:
    """Return offset -> (the time since which its record was known to be there, the operation that
    showed it)."""
    here = [row for row in rows if row["place"] == place]
    shown: list[tuple[int, int, int]] = []
    for row in here:
        if is_given(row) and row["client"] != "raw" and row["t_complete_ns"] is not None:
            of_committed = row["isolation"] == "read_committed"
            same = [
                r
                for r in here
                if is_given(r)
                and r["client"] != "raw"
                and r["offset"] == row["offset"]
                and (r["isolation"] == "read_committed") == of_committed
                and r["t_complete_ns"] is not None
            ]
            if of_committed or not committed:
                first = min(r["t_complete_ns"] for r in same)
                shown.append((row["offset"], first, same[0]["op_id"]))
        if is_acked(row) and not committed:
            shown.append((row["offset"], row["t_complete_ns"], row["op_id"]))
        if is_acked(row) and committed and row["outcome"] in ("plain", "committed"):
            stable = max([row["t_complete_ns"], *_open_until(rows, here, row)])
            if stable < NEVER:
                shown.append((row["offset"], stable, row["op_id"]))
    found: dict[int, tuple[int, int]] = {}
    for offset, known_ns, op_id in shown:
        if not may_be_gone(rows, place, offset):
            found[offset] = min(found.get(offset, (NEVER, 0)), (known_ns, op_id))
    return found


def _open_until(rows: list[Row], here: list[Row], record: Row) -> Iterator[int]:
    """Yield the end times of the transactions that may have records before this acknowledged
    one."""
    for row in here:
        if row["f"] != "send" or row["type"] == "fail" or row["txn"] is None:
            continue
        ends = [
            r["t_complete_ns"]
            for r in rows
            if r["f"] in ("commit", "abort")
            and r["type"] == "ok"
            and r["txn"] == row["txn"]
            and r["t_complete_ns"] is not None
        ]
        if is_acked(row):
            lies_before = row["offset"] <= record["offset"]
        else:
            lies_before = row["t_invoke_ns"] <= record["t_complete_ns"]
        if lies_before:
            yield min(ends, default=NEVER)
