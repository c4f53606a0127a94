"""Judge `leader_epochs` again, in plain loops over plain rows."""

from itertools import pairwise
from typing import Any

from linearizability.twins.facts import Found, Row, is_acked, is_proof, is_read


def leader_epochs(rows: list[Row]) -> Found:
    logs: dict[Any, dict[tuple[int, int], int]] = {}
    for row in rows:
        header = row["producer_id"] is not None and (row["leader_epoch"] or 0) >= 0
        if header and row["leader_epoch"] is not None and is_read(row) and is_proof(row):
            log = logs.setdefault(row["place"], {})
            at = (row["offset"], row["leader_epoch"])
            log[at] = min(log.get(at, row["op_id"]), row["op_id"])
    return (
        _stamped_older(rows)
        | _two_leaders(rows, set(logs))
        | _returned(rows, set(logs))
        | {
            ("epoch-goes-back", tuple(sorted({log[a], log[b]})), place)
            for place, log in logs.items()
            for a, b in pairwise(sorted(log))
            if b[1] < a[1]
        }
    )


def _answers(rows: list[Row]) -> list[Row]:
    """Return the rows in which a leader answered with its epoch."""
    return [
        row
        for row in rows
        if row["f"] in ("poll", "read_all")
        and row["type"] == "ok"
        and row["offset"] is None
        and row["replica"] is None
        and row["t_complete_ns"] is not None
        and row["leader_epoch"] is not None
        and row["leader_epoch"] >= 0
    ]


def _two_leaders(rows: list[Row], read_raw: set[Any]) -> Found:
    first: dict[Any, dict[int, int]] = {}
    for row in _answers(rows):
        if row["node"] is not None and row["place"][1] and row["place"] in read_raw:
            nodes = first.setdefault((row["place"], row["leader_epoch"]), {})
            nodes[row["node"]] = min(nodes.get(row["node"], row["op_id"]), row["op_id"])
    return {
        ("two-leaders", tuple(sorted(set(sorted(nodes.values())[:2]))), place)
        for (place, _), nodes in first.items()
        if len(nodes) > 1
    }


def _returned(rows: list[Row], read_raw: set[Any]) -> Found:
    found: dict[Any, tuple[int, int, int]] = {}
    told = [
        row
        for row in _answers(rows)
        if row["node"] is not None and row["place"][1] and row["place"] in read_raw
    ]
    for row in told:
        before = [
            r
            for r in told
            if (r["place"], r["node"]) == (row["place"], row["node"])
            and r["t_complete_ns"] < row["t_invoke_ns"]
        ]
        newest = max([r["leader_epoch"] for r in before], default=-1)
        if row["leader_epoch"] < newest:
            same = [r for r in before if r["leader_epoch"] == newest]
            first = min(same, key=lambda r: (r["t_complete_ns"], r["op_id"]))
            one = (row["t_invoke_ns"], row["op_id"], first["op_id"])
            at = (row["place"], row["node"], row["leader_epoch"])
            found[at] = min(found.get(at, one), one)
    return {
        ("node-in-older-epoch", tuple(sorted({op, newest_op})), place)
        for (place, _, _), (_, op, newest_op) in found.items()
    }


def _stamped_older(rows: list[Row]) -> Found:
    found: Found = set()
    for send in rows:
        if not is_acked(send) or send["t_complete_ns"] is None:
            continue
        here = [row for row in rows if row["place"] == send["place"]]
        answers = _answers(here)
        before = [row for row in answers if row["t_complete_ns"] < send["t_invoke_ns"]]
        behind = [row for row in answers if row["t_invoke_ns"] > send["t_complete_ns"]]
        if not before or not behind:
            continue
        last = max(before, key=lambda row: (row["t_complete_ns"], row["op_id"]))
        first = min(behind, key=lambda row: (row["t_invoke_ns"], row["op_id"]))
        if last["leader_epoch"] != first["leader_epoch"]:
            continue
        shown: dict[int, int] = {}
        for row in here:
            is_it = (row["offset"], row["value"]) == (send["offset"], send["value"])
            if not is_it or row["f"] != "poll" or row["producer_id"] is None or not is_proof(row):
                continue
            epoch = row["leader_epoch"]
            if epoch is not None and 0 <= epoch < last["leader_epoch"]:
                shown[epoch] = min(shown.get(epoch, row["op_id"]), row["op_id"])
        for op in shown.values():
            numbers = {op, send["op_id"], last["op_id"], first["op_id"]}
            found.add(("older-epoch", tuple(sorted(numbers)), send["place"]))
    return found
