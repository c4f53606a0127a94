"""Ways to break `poll_order`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import changed_row, consecutive
from linearizability.self_test.model.world import Row


def go_back(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a reader receives two records of one partition in the wrong order, or one
    of them twice."""
    pairs = consecutive(rows)
    if not pairs:
        return None
    first, second = rng.choice(pairs)
    if rng.random() < 0.5:
        return [changed_row(row, second, {"offset": first["offset"]}) for row in rows]
    swapped = {"offset": second["offset"], "value": second["value"]}
    moved = {"offset": first["offset"], "value": first["value"]}
    rows = [changed_row(row, second, moved) for row in rows]
    return [changed_row(row, first, swapped) for row in rows]


CLAUSES: Clauses = {
    "a consumer goes back or repeats within a session": by("poll-repeats poll-goes-back", go_back)
}
