"""Ways to break `high_watermark`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import changed_row, is_acked, leaders_answer, log_starts
from linearizability.self_test.model.world import Row


def lower_a_watermark(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a leader names a lower high watermark, or last stable offset, than before
    in its epoch."""
    said = [
        row
        for row in rows
        if row.get("offset") is None
        and row.get("high_watermark") is not None
        and row.get("leader_epoch") is not None
    ]
    victims = [
        (a, b, column)
        for a in said
        for b in said
        for column in ("high_watermark", "last_stable_offset")
        if (a["partition"], a["leader_epoch"]) == (b["partition"], b["leader_epoch"])
        and a["t_complete_ns"] < b["t_invoke_ns"]
        and a.get(column)
        and b.get(column) is not None
    ]
    if not victims:
        return None
    before, victim, column = rng.choice(victims)
    return [changed_row(row, victim, {column: rng.randrange(before[column])}) for row in rows]


def lower_the_log_start(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: the leader reports a lower log start than before, in the same epoch."""
    acked = [row for row in rows if is_acked(row)]
    if not acked:
        return None
    place = rng.choice(acked) | {"leader_epoch": 0}
    starts = log_starts(rows)[place["partition"]]
    higher = leaders_answer(rows, place, starts + 1)
    return [*rows, higher, leaders_answer(rows, place, starts, number=1)]


CLAUSES: Clauses = {
    "a leader's high watermark or last stable offset goes back in an epoch": by(
        "high-watermark-goes-back last-stable-offset-goes-back beyond-the-high-watermark",
        lower_a_watermark,
    ),
    "a leader's log start goes back in an epoch": by("log-start-goes-back", lower_the_log_start),
}
