"""Ways to break `leader_epochs`, each with the clause of its promise that it breaks."""

from itertools import pairwise
from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import NOT_OURS, changed_row, is_acked
from linearizability.self_test.model.world import Row
from linearizability.self_test.truth import is_raw


def lower_an_epoch(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a record was written in an older leader epoch than the one before it."""
    raw = [
        r
        for r in rows
        if r["f"] == F.POLL and r.get("producer_id") is not None and r.get("replica") is None
    ]
    pairs = [
        (a, b)
        for a, b in pairwise(raw)
        if a["partition"] == b["partition"] and a["leader_epoch"] > 0
    ]
    if not pairs:
        return None
    before, victim = rng.choice(pairs)
    older = {"leader_epoch": rng.randrange(before["leader_epoch"])}
    return [changed_row(row, victim, older) for row in rows]


def stamp_an_older_epoch(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a record was sent and acknowledged while a leader answered with its epoch,
    and has an older one."""
    acked = [row for row in rows if is_acked(row) and row["t_complete_ns"] is not None]
    raw = [
        row
        for row in rows
        if is_raw(row) and row.get("replica") is None and (row.get("leader_epoch") or 0) > 0
    ]
    shown = {(row["partition"], row["offset"], row["value"]): row for row in raw}
    victims = [row for row in acked if (row["partition"], row["offset"], row["value"]) in shown]
    if not victims:
        return None
    send = rng.choice(victims)
    seen = shown[send["partition"], send["offset"], send["value"]]
    told = send | {
        "f": F.POLL.value,
        "value": None,
        "offset": None,
        "process": NOT_OURS,
        "leader_epoch": seen["leader_epoch"],
        "client": "raw",
    }
    first = told | {"op_id": NOT_OURS - 1, "t_invoke_ns": send["t_invoke_ns"] - 2}
    first["t_complete_ns"] = send["t_invoke_ns"] - 1
    last = told | {"op_id": NOT_OURS, "t_invoke_ns": send["t_complete_ns"] + 1}
    last["t_complete_ns"] = send["t_complete_ns"] + 2
    older = {"leader_epoch": rng.randrange(seen["leader_epoch"])}
    return [*(changed_row(row, seen, older) for row in rows), first, last]


def lead_twice(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: two nodes answer as leaders of one epoch."""
    victims = [row for row in rows if is_raw(row) and row.get("topic_id") is not None]
    if not victims:
        return None
    victim = rng.choice(victims)
    nothing = {"value": None, "offset": None, "control": None, "replica": None, "producer_id": None}
    told = victim | nothing | {"process": NOT_OURS, "leader_epoch": rng.randrange(9)}
    return [*rows, *(told | {"op_id": NOT_OURS - n, "node": n} for n in range(2))]


def lead_in_an_older_epoch(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a node answers as the leader of an epoch, and later as that of an older
    one."""
    broken = lead_twice(rows, rng)
    if broken is None:
        return None
    *others, first, later = broken
    end_ns = max(row.get("t_complete_ns") or row["t_invoke_ns"] for row in rows)
    told = {"node": 9, "leader_epoch": first["leader_epoch"] + 1}
    first = first | told | {"t_invoke_ns": end_ns + 1, "t_complete_ns": end_ns + 2}
    later = later | {"node": 9, "t_invoke_ns": end_ns + 3, "t_complete_ns": end_ns + 4}
    return [*others, first, later]


CLAUSES: Clauses = {
    "leader epochs decrease along a log": by("epoch-goes-back", lower_an_epoch),
    "two nodes lead in one epoch": by("two-leaders", lead_twice),
    "a node leads in an older epoch than before": by("node-in-older-epoch", lead_in_an_older_epoch),
    "a record has an older epoch than the leader that led": by("older-epoch", stamp_an_older_epoch),
}
