"""Ways to break `delivery_semantics`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    NOT_OURS,
    data_rows,
    if_still_durable,
    is_acked,
    log_end_of,
    log_starts,
    sent_once,
    where_nothing_is_compacted,
)
from linearizability.self_test.model.world import Row
from linearizability.self_test.truth import outcome_of


@where_nothing_is_compacted
def read_too_little(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a read of a whole partition lacks a record that was acknowledged before."""
    starts = log_starts(rows)
    once = {value: send for value, send in sent_once(rows).items() if is_acked(send)}
    victims = [
        (row, send)
        for row in _of_readings(rows)
        if (send := once.get(row["value"])) is not None
        and outcome_of(send) in ("plain", "committed")
        and send["t_complete_ns"] < row["t_invoke_ns"]
        and starts[row["partition"]] <= row["offset"] == send["offset"]  # no earlier copy
    ]
    if not victims:
        return None
    victim, send = rng.choice(victims)
    missed: tuple[object, ...] = (victim["op_id"], victim["partition"], victim["value"])
    kept = [row for row in rows if (row["op_id"], row.get("partition"), row.get("value")) != missed]
    return if_still_durable(kept, send)


def read_it_twice(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a read of a whole partition has a record of an idempotent producer at two
    offsets."""
    once = {value for value, send in sent_once(rows).items() if send["idempotent"]}
    victims = [row for row in _of_readings(rows) if row["value"] in once]
    if not victims:
        return None
    victim = rng.choice(victims)
    end = log_end_of(rows, victim["partition"])
    return [*rows, victim | {"offset": end, "record_index": NOT_OURS}]


def _of_readings(rows: list[Row]) -> list[Row]:
    """Return the records that complete reads contain."""
    whole = {
        (row["op_id"], row["partition"])
        for row in rows
        if row["f"] == F.READ_ALL and row["type"] == "ok"
    }
    return [row for row in data_rows(rows) if (row["op_id"], row["partition"]) in whole]


CLAUSES: Clauses = {
    "a complete read lacks a record promised at least once": by("not-delivered", read_too_little),
    "a complete read contains twice a record promised at most once": by(
        "delivered-twice", read_it_twice
    ),
}
