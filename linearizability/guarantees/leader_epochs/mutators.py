"""Ways to break `leader_epochs`, each with the clause of its promise that it breaks."""

from itertools import pairwise
from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import changed_row
from linearizability.self_test.model.world import Row


def lower_an_epoch(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a record was written in an older leader epoch than the one before it."""
    raw = [
        r
        for r in rows
        if r["f"] == F.POLL.value and r.get("producer_id") is not None and r.get("replica") is None
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


CLAUSES: Clauses = {"leader epochs decrease along a log": by("epoch-goes-back", lower_an_epoch)}
