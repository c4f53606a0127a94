"""Judge `stale_reads` again, in plain loops over plain rows."""

from collections.abc import Iterator
from typing import Any

from linearizability.bounds import NEVER, NOTHING_STATED
from linearizability.twins.facts import Found, Row, is_acked, may_be_gone
from linearizability.twins.readings import UNSEEN_NS, is_given, over_at, start, undisturbed_times

TURNS = ("assign", "subscribe", "leave", "crash")


def stale_reads(rows: list[Row]) -> Found:
    bound = NOTHING_STATED.stale_after_ns
    found: Found = set()
    for (place, who), own in _moves(rows).items():
        before, given_ns, placed_ns, lost_ns = -1, -NEVER, -NEVER, -NEVER
        for n, row in enumerate(own):
            is_placed = row["f"] == "position"
            placed_at = _placed_at(row) if is_placed else None
            if _is_lost(row) or (is_placed and placed_at is None):
                lost_ns = max(lost_ns, _ended_at(row))
            if not _is_lost(row):
                placed_ns = over_at(row)
            if is_given(row):
                before, given_ns = row["offset"], over_at(row)
            elif placed_at is not None:
                before, given_ns = placed_at - 1, over_at(row)
            known = _known(rows, place, row["isolation"] != "read_uncommitted")
            first = before + 1
            if lost_ns >= given_ns and lost_ns > -NEVER:
                first = max(first, _first_sent_after(rows, place, lost_ns))
            lacking = {offset: told for offset, told in known.items() if offset >= first}
            if not lacking:
                continue
            since = _ended_at(row) if _is_lost(row) else over_at(row)
            until = own[n + 1]["t_invoke_ns"] if n + 1 < len(own) else NEVER
            until = min([until, *(t for t in _turns(rows, who) if t >= placed_ns)])
            begun = max(since, min(known_ns for known_ns, _, _ in lacking.values()))
            proofs = [
                poll
                for undisturbed, disturbed in undisturbed_times(rows)
                for poll in _proofs(
                    rows, who, max(begun, undisturbed), min(until, disturbed), bound
                )
            ]
            if proofs:
                numbers = {lacking[min(lacking)][1], row["op_id"], min(proofs)[1]}
                found.add(("stale-read", tuple(sorted(numbers)), place))
    return found


def _moves(rows: list[Row]) -> dict[Any, list[Row]]:
    """Return (place, reader) -> the rows that moved the reader in that partition, from the first on
    that placed it, and its polls of unknown outcome since then, in the order of `rows`."""
    moves: dict[Any, list[Row]] = {}
    for row in rows:
        read = is_given(row) and row["client"] != "raw"
        assigned = row["f"] in ("assign", "position") and row["type"] == "ok"
        if row["topic"] is not None and (read or assigned):
            moves.setdefault((row["place"], _who(row)), []).append(row)
        elif _is_lost(row):
            for (place, who), own in moves.items():
                anywhere = row["topic"] is None and row[who[0]] == who[1]
                if anywhere or (row["place"], _who(row)) == (place, who):
                    own.append(row)
    return moves


def _placed_at(position: Row) -> int | None:
    found: int | None = start(position)
    return 0 if found is None and position["asked"] == "earliest" else found


def _ended_at(lost: Row) -> int:
    done: int | None = lost["t_complete_ns"]
    return lost["t_invoke_ns"] + UNSEEN_NS if done is None else done


def _first_sent_after(rows: list[Row], place: Any, lost_ns: int) -> int:
    """Return the lowest offset of a record that was sent after this time, or NEVER if there is
    none."""
    sent: dict[int, int] = {}
    for row in rows:
        if (row["f"], row["place"]) == ("send", place) and row["value"] is not None:
            value, asked_ns = row["value"], row["t_invoke_ns"]
            sent[value] = min(sent.get(value, asked_ns), asked_ns)
    later = [
        offset
        for committed in (True, False)
        for offset, (_, _, value) in _known(rows, place, committed).items()
        if sent.get(value, -NEVER) > lost_ns
    ]
    return min(later, default=NEVER)


def _who(row: Row) -> tuple[str, Any]:
    if row["group"] is not None and row["member_id"] is not None:
        return "group", row["group"]
    return "process", row["process"]


def _is_lost(row: Row) -> bool:
    return row["f"] == "poll" and row["offset"] is None and row["type"] == "info"


def _turns(rows: list[Row], who: tuple[str, Any]) -> list[int]:
    return [row["t_invoke_ns"] for row in rows if row[who[0]] == who[1] and row["f"] in TURNS]


def _proofs(
    rows: list[Row], who: tuple[str, Any], start: int, until: int, bound: int
) -> list[tuple[int, int]]:
    """Return (when it was invoked, op_id) of the answered polls between `start` and `until` that
    prove the reader was kept waiting: `bound` or longer after `start`. Unless the reader also
    polled in the first half of that time, only polls without any record prove it."""
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


def _known(rows: list[Row], place: Any, committed: bool) -> dict[int, tuple[int, int, Any]]:
    """Return offset -> (the time since which its record was known to be there, the operation that
    showed it, its value); committed: whether it must be readable under read_committed. Leave out
    records that retention or compaction may have removed."""
    here = [row for row in rows if row["place"] == place]
    shown: list[tuple[int, tuple[int, int, Any]]] = []
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
                shown.append((row["offset"], (first, same[0]["op_id"], same[0]["value"])))
        if is_acked(row) and not committed:
            told = row["t_complete_ns"], row["op_id"], row["value"]
            shown.append((row["offset"], told))
        if is_acked(row) and committed and row["outcome"] in ("plain", "committed"):
            stable = max([row["t_complete_ns"], *_open_until(rows, here, row)])
            if stable < NEVER:
                shown.append((row["offset"], (stable, row["op_id"], row["value"])))
    found: dict[int, tuple[int, int, Any]] = {}
    for offset, told in shown:
        if not may_be_gone(rows, place, offset):
            found[offset] = min(found.get(offset, told), told, key=lambda each: each[:2])
    return found


def _open_until(rows: list[Row], here: list[Row], record: Row) -> Iterator[int]:
    """Yield the end times of the transactions that may have records at or before the place of this
    acknowledged one, its own included. Yield NEVER for one without an acknowledged end."""
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
