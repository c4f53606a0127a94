"""Ways to break `replica_agreement`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    NOT_OURS,
    changed_row,
    is_compacted,
    where_nothing_is_compacted,
)
from linearizability.self_test.model.world import Row


@where_nothing_is_compacted
def lose_on_a_follower(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a follower lacks a record that its leader has and that is below the high
    watermark."""
    victims = on_both(rows)
    if not victims:
        return None
    victim = rng.choice(victims)
    return [row for row in rows if row is not victim]


def differ_on_a_follower(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a follower has a record with another leader epoch than its leader."""
    victims = on_both(rows)
    if not victims:
        return None
    victim = rng.choice(victims)
    other = {"leader_epoch": victim["leader_epoch"] + 1}
    return [changed_row(row, victim, other) for row in rows]


@where_nothing_is_compacted
def differ_in_another_reading(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: an operation that reads only a follower finds a record with another leader
    epoch than the leader has."""
    broken = differ_on_a_follower(rows, rng)
    before = set(map(id, rows))
    changed = [row for row in broken or [] if id(row) not in before]
    if broken is None or not changed:
        return None
    whose = ("op_id", "partition", "replica")
    (victim,) = changed
    return [
        row | {"op_id": NOT_OURS} if all(row.get(c) == victim[c] for c in whose) else row
        for row in broken
    ]


def on_both(rows: list[Row]) -> list[Row]:
    """Return the followers' records below the high watermark that their leader shows in the same
    operation, too, if that read the leader to the end."""
    on_leaders = {
        (row["op_id"], row["partition"], row["offset"])
        for row in rows
        if row["f"] == F.POLL and row.get("offset") is not None and row.get("replica") is None
    }
    ends = {
        (row["op_id"], row["partition"]): row["type"]
        for row in rows
        if row["f"] == F.READ_ALL and row.get("replica") is None
    }
    return [
        row
        for row in rows
        if row["f"] == F.POLL
        and row.get("replica") is not None
        and row["offset"] < row["high_watermark"]
        and (row["op_id"], row["partition"], row["offset"]) in on_leaders
        and ends.get((row["op_id"], row["partition"])) == "ok"
    ]


def keep_on_a_follower(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a follower has a record below the high watermark that its leader lacks.
    Return None for a compacted topic."""
    victims = [] if is_compacted(rows) else on_both(rows)
    if not victims:
        return None
    victim = rng.choice(victims)
    return [
        row
        for row in rows
        if not (
            row["f"] == F.POLL
            and row.get("replica") is None
            and all(row.get(c) == victim[c] for c in ("op_id", "partition", "offset"))
        )
    ]


CLAUSES: Clauses = {
    "a follower lacks a replicated record": by("replica-lacks-records", lose_on_a_follower),
    "a follower has a different batch from the leader's": by(
        "replica-differs", differ_on_a_follower, differ_in_another_reading
    ),
    "a follower has a replicated record that its leader lacks": by(
        "replica-has-more-records", keep_on_a_follower
    ),
}
