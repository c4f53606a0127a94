"""Ways to break `group_delivery`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    data_rows,
    is_acked,
    log_starts,
    stands_before,
    where_nothing_is_compacted,
)
from linearizability.self_test.model.world import Row
from linearizability.self_test.truth import outcome_of


@where_nothing_is_compacted
def skip_in_a_group(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: no member of a group received a record that others received, though they
    went past it."""
    starts = log_starts(rows)
    durable = {
        (row["partition"], row["offset"])
        for row in rows
        if is_acked(row) and outcome_of(row) in ("plain", "committed")
    }
    if any(
        row["f"] == F.POLL.value
        and row.get("group")
        and not row.get("topic")
        and row["type"] == "info"
        for row in rows
    ):
        return None  # nobody knows what that poll delivered
    of_group = [row for row in data_rows(rows) if row.get("group") and row["type"] == "ok"]
    victims = [
        row
        for row in of_group
        if (row["partition"], row["offset"]) in durable
        and row["offset"] >= starts[row["partition"]]
        and any(stands_before(r, row) for r in of_group)
        and any(stands_before(row, r) for r in of_group)
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    place = (victim["partition"], victim["offset"])
    return [
        row
        for row in rows
        if not (row.get("group") and (row.get("partition"), row.get("offset")) == place)
    ]


CLAUSES: Clauses = {"a group skips a visible record": by("group-skip", skip_in_a_group)}
