"""Judge `hanging_transactions` again, in plain loops over plain rows."""

from typing import Any

from linearizability.twins.facts import Found, Row, is_acked, is_data, is_leader_answer, longest_ns
from linearizability.twins.logs import of_producers, raw_reads


def hanging_transactions(rows: list[Row]) -> Found:
    found: Found = set()
    late: list[Any] = []
    seen: set[Any] = set()
    for row in filter(is_leader_answer, rows):
        stable, end = row["last_stable_offset"], row["high_watermark"]
        if stable is None or stable >= end:
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
            (r["op_id"], kind)
            for r in rows
            if is_acked(r)
            and r["txn"] is not None
            and r["place"] == row["place"]
            and r["offset"] == stable
            and (kind := _late_kind(rows, r, row, final_ns))
        ]
        if old:
            kind = min(kind for _, kind in old)  # an acknowledged end comes first
            if row["final"]:
                kind = "open-for-too-long"
            numbers = tuple(sorted({min(old)[0], row["op_id"]}))
            late.append((kind, numbers, row["place"], stable, row["t_invoke_ns"], row["op_id"]))
    late.sort(key=lambda each: each[4:])
    for kind, numbers, place, stable, *_ in late:
        is_first = (kind, place, stable) not in seen
        seen.add((kind, place, stable))
        if is_first or kind == "open-for-too-long":
            found.add((kind, numbers, place))
    return found | _committed_late(rows) | _stable_while_open(rows)


def _stable_while_open(rows: list[Row]) -> Found:
    """Return an anomaly for each record of an open transaction that is the lowest one below an
    offset that was shown to be stable."""
    reached: dict[tuple[Any, int], tuple[int, int]] = {}
    for row in rows:
        if row["t_complete_ns"] is None:
            continue
        if is_leader_answer(row) and row["last_stable_offset"] is not None:
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
            and row["told"] == "commit"
            and row["commit_asked_ns"] - row["t_complete_ns"] > may_last_ns + 15 * 10**9
        )
        if is_late:
            earlier = first.setdefault((row["place"], row["txn"]), row)
            if (row["t_complete_ns"], row["op_id"]) < (earlier["t_complete_ns"], earlier["op_id"]):
                first[row["place"], row["txn"]] = row
    return {
        ("committed-too-late", tuple(sorted({row["op_id"], row["end_op"]})), place)
        for (place, _), row in first.items()
    }


def _late_kind(rows: list[Row], send: Row, answer: Row, final_ns: int) -> str | None:
    """Return the kind of anomaly if the transaction must have had its markers when the leader gave
    this answer, or None: its end was acknowledged, or its time-out was over, long enough before."""
    second = 10**9
    asked_ns, healed_ns = answer["t_invoke_ns"], final_ns if answer["final"] else 0
    if send["end_ns"] is not None and asked_ns > max(send["end_ns"], healed_ns) + 60 * second:
        return "open-after-its-end"
    may_last_ns = longest_ns(rows)
    if may_last_ns is not None:
        over_ns = max(send["t_complete_ns"] + may_last_ns, healed_ns)
        if asked_ns > over_ns + 70 * second:
            return "open-after-its-time-out"
    is_over = asked_ns - send["t_complete_ns"] > 970 * second
    return "open-after-its-time-out" if is_over else None
