"""Judge `write_cycles` again, in plain loops over plain rows."""

from itertools import pairwise, permutations
from typing import Any

from linearizability.twins.facts import Found, Row, is_data


def write_cycles(rows: list[Row]) -> Found:
    """Return an anomaly for the shortest cycle of each group of cycles that share transactions, the
    ones through real time only where no cycle by reads alone shares any. Try every order of every
    set of transactions: there are few here."""
    reads = _reads_between(rows)
    behind = _commits_behind(rows)
    txns = sorted({txn for pair in reads for txn in pair})
    found: Found = set()
    seen: set[int] = set()
    for kind, edges in (("read-cycle", set(reads)), ("read-cycle-realtime", {*reads, *behind})):
        circles = [
            circle
            for length in range(2, len(txns) + 1)
            for circle in permutations(txns, length)
            if all((a, b) in edges for a, b in pairwise([*circle, circle[0]]))
        ]
        while circles:
            circle = min(circles, key=lambda one: (len(one), one))
            reached = set(circle)
            for other in [*circles] * len(txns):
                if reached & set(other):
                    reached |= set(other)
            circles = [other for other in circles if not reached & set(other)]
            if reached & seen:
                continue
            seen |= reached
            steps = list(pairwise([*circle, circle[0]]))
            proofs = [reads[step][0] if step in reads else behind[step] for step in steps]
            numbers = {number for proof in proofs for number in proof}
            place = next(reads[step][1] for step in steps if step in reads)
            found.add((kind, tuple(sorted(numbers)), place))
    return found


def _reads_between(rows: list[Row]) -> dict[tuple[int, int], tuple[tuple[int, int], Any]]:
    """Return (writer, reader) -> ((send, poll), place) of the first record, in the order of places
    and offsets, that the reader received under read_committed before it requested its commit."""
    found: dict[tuple[int, int], list[Any]] = {}
    for poll in rows:
        if not is_data(poll) or poll["isolation"] != "read_committed" or poll["txn"] is None:
            continue
        asked = [r["t_invoke_ns"] for r in _commits(rows, poll["txn"])]
        if asked and poll["t_invoke_ns"] > min(asked):
            continue
        sends = [
            r
            for r in rows
            if r["f"] == "send" and (r["place"], r["value"]) == (poll["place"], poll["value"])
        ]
        if len(sends) == 1 and sends[0]["txn"] not in (None, poll["txn"]):
            record = (poll["place"], poll["offset"], poll["value"])
            pair = (sends[0]["txn"], poll["txn"])
            found.setdefault(pair, []).append((*record, sends[0]["op_id"], poll["op_id"]))
    first = {pair: min(records) for pair, records in found.items()}
    return {pair: (record[3:], record[0]) for pair, record in first.items()}


def _commits(rows: list[Row], txn: int) -> list[Row]:
    return [r for r in rows if r["f"] == "commit" and r["txn"] == txn]


def _commits_behind(rows: list[Row]) -> dict[tuple[int, int], tuple[int, int]]:
    """Return (earlier, later) -> the first acknowledged commit of the one transaction, and the
    first commit request of the other, which came after it."""
    found = {}
    txns = {r["txn"] for r in rows if r["f"] == "commit"}
    for earlier, later in permutations(txns, 2):
        done = [
            (r["t_complete_ns"], r["op_id"]) for r in _commits(rows, earlier) if r["type"] == "ok"
        ]
        asked = min((r["t_invoke_ns"], r["op_id"]) for r in _commits(rows, later))
        if done and min(done)[0] < asked[0]:
            found[earlier, later] = (min(done)[1], asked[1])
    return found
