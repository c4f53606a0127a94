"""Judge `hanging_transactions` again, in plain loops over plain rows."""

from typing import Any

from linearizability.twins.facts import (
    Found,
    Row,
    is_acked,
    is_data,
    is_leader_answer,
    log_start,
    longest_ns,
)
from linearizability.twins.logs import of_producers, raw_reads


def hanging_transactions(rows: list[Row]) -> Found:
    found: Found = set()
    midway: dict[tuple[str, Any, int], list[Any]] = {}
    for row in filter(is_leader_answer, rows):
        stable, end = row["last_stable_offset"], row["high_watermark"]
        if stable is None or stable >= end or not _tells(rows, row):
            continue
        ended = [
            own[0]["op_id"]
            for read in raw_reads(rows)
            for own in of_producers(read)
            if own[0]["replica"] is None
            and own[0]["place"] == row["place"]
            and own[0]["t_complete_ns"] < row["t_invoke_ns"]
            and any(r["offset"] == stable and r["control"] is None for r in own)
            and stable
            < min([r["offset"] for r in own if r["control"] and r["offset"] > stable], default=-1)
            < end
        ]
        if ended:
            numbers = tuple(sorted({min(ended), row["op_id"]}))
            found.add(("ended-but-open", numbers, row["place"]))
        final_ns = min(
            (r["t_invoke_ns"] for r in rows if r["final"] and r["place"] == row["place"]), default=0
        )
        old = [
            (r["op_id"], told)
            for r in rows
            if is_acked(r)
            and r["txn"] is not None
            and r["place"] == row["place"]
            and r["offset"] == stable
            and (told := _late(rows, r, row, final_ns))
        ]
        if old:
            first = min(op_id for op_id, _ in old)
            kind = "open-after-its-time-out"
            for better in ("open-after-its-end", "open-for-too-long"):
                kind = better if any(better in told for _, told in old) else kind
            numbers = tuple(sorted({first, row["op_id"]}))
            if kind == "open-for-too-long":
                found.add((kind, numbers, row["place"]))
            else:
                when = (row["t_invoke_ns"], row["op_id"])
                midway.setdefault((kind, row["place"], stable), []).append((when, numbers))
    for (kind, place, _), some in midway.items():
        found |= {(kind, numbers, place) for _, numbers in (min(some), max(some))}
    return found | _committed_late(rows) | _stable_while_open(rows)


def _stable_while_open(rows: list[Row]) -> Found:
    """Return an anomaly for each record of an open transaction that is the lowest one below an
    offset that was shown to be stable."""
    reached: dict[tuple[Any, int], tuple[int, int]] = {}
    for row in rows:
        if row["t_complete_ns"] is None:
            continue
        if is_leader_answer(row):
            if row["last_stable_offset"] is None or not _tells(rows, row):
                continue
            reach = row["last_stable_offset"]
        elif is_data(row) and row["isolation"] == "read_committed":
            reach = row["offset"]  # dirty_reads accuses the reader of the record itself
        else:
            continue
        before = reached.get((row["place"], row["op_id"]), (0, 0))
        reached[row["place"], row["op_id"]] = max(before[0], reach), row["t_complete_ns"]
    first: dict[tuple[Any, int], int] = {}
    for (place, op_id), (reach, done_ns) in sorted(
        reached.items(), key=lambda item: (item[1][1], item[0][1])
    ):
        still_open = [
            r
            for r in rows
            if is_acked(r)
            and r["place"] == place
            and r["txn"] is not None
            and (r["told"] == "commit" or _took_effect(rows, r))
            and r["commit_asked_ns"] is not None
            and r["commit_asked_ns"] > done_ns
        ]
        lowest = min(still_open, key=lambda r: r["offset"], default=None)
        if lowest is not None and lowest["offset"] < reach:
            first.setdefault((place, lowest["op_id"]), op_id)
    return {
        ("stable-while-open", tuple(sorted({send_op, op_id})), place)
        for (place, send_op), op_id in first.items()
    }


def _took_effect(rows: list[Row], send: Row) -> bool:
    """Return whether raw reads show that the transaction of a record, of which no end was
    acknowledged, was committed."""
    place, value = send["place"], send["value"]
    sends = [r for r in rows if r["f"] == "send" and (r["place"], r["value"]) == (place, value)]
    in_transactions = [r for r in sends if r["txn"] is not None]
    is_ended = send["end_op"] is not None
    return send["txn_outcome"] == "committed" and not is_ended and len(in_transactions) == 1


def _committed_late(rows: list[Row]) -> Found:
    """Return a `committed-too-late` anomaly for each partition of each transaction whose commit was
    accepted too late."""
    may_last_ns = longest_ns(rows)
    first: dict[tuple[Any, int], Row] = {}
    for row in filter(is_acked, rows):
        is_late = (
            may_last_ns is not None
            and (row["told"] == "commit" or _took_effect(rows, row))
            and row["commit_asked_ns"] is not None
            and row["commit_asked_ns"] - row["t_complete_ns"] > may_last_ns + 15 * 10**9
        )
        if is_late:
            earlier = first.setdefault((row["place"], row["txn"]), row)
            if (row["t_complete_ns"], row["op_id"]) < (earlier["t_complete_ns"], earlier["op_id"]):
                first[row["place"], row["txn"]] = row
    return {
        ("committed-too-late", tuple(sorted({row["op_id"], _end_of(row)})), place)
        for (place, _), row in first.items()
    }


def _end_of(row: Row) -> int:
    """Return the first acknowledged end of the row's transaction, or else its first commit."""
    operation: int = row["commit_op"] if row["end_op"] is None else row["end_op"]
    return operation


def _tells(rows: list[Row], answer: Row) -> bool:
    """Return whether the answer's last stable offset is that of an open transaction: it is above
    the log start, or nothing was removed."""
    start: int = log_start(rows, answer["place"])
    return start == 0 or bool(answer["last_stable_offset"] > start)


def _late(rows: list[Row], send: Row, answer: Row, final_ns: int) -> set[str]:
    """Return the kinds of anomaly that this answer is if the transaction must have had its markers
    when the leader gave it: its end was acknowledged, or its time-out was over, long enough before.
    final_ns: when the partition's final phase began."""
    second = 10**9
    asked_ns, may_last_ns = answer["t_invoke_ns"], longest_ns(rows)
    allowed_ns = 970 * second if may_last_ns is None else may_last_ns + 70 * second
    has_ended = send["end_ns"] is not None and asked_ns > send["end_ns"] + 60 * second
    is_over = asked_ns > send["t_complete_ns"] + allowed_ns
    kinds: set[str] = set()
    if has_ended and answer["final"] and asked_ns > final_ns + 60 * second:
        kinds.add("open-for-too-long")
    if is_over and answer["final"] and (may_last_ns is None or asked_ns > final_ns + 70 * second):
        kinds.add("open-for-too-long")
    last = max(
        r["offset"]
        for r in rows
        if is_acked(r) and (r["place"], r["txn"]) == (send["place"], send["txn"])
    )
    if answer["high_watermark"] > last + 1 or kinds:
        kinds |= {"open-after-its-end"} if has_ended else set()
        kinds |= {"open-after-its-time-out"} if is_over else set()
    return kinds
