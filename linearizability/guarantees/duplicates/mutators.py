"""Ways to break `duplicates`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    NOT_OURS,
    another_read,
    data_rows,
    log_end_of,
    sent_once,
)
from linearizability.self_test.model.world import Row


def store_twice(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a record of an idempotent producer lies at a second offset."""
    once = sent_once(rows)
    victims = [
        row
        for row in data_rows(rows)
        if (send := once.get(row["value"])) is not None and send["idempotent"]
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    return [*rows, another_read(victim, offset=log_end_of(rows, victim["partition"]))]


def store_thrice(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a record that an idempotent producer sends a second time, with an unknown
    outcome, lies at two more offsets."""
    broken = store_twice(rows, rng)
    if broken is None:
        return None
    copy = broken[-1]
    send = sent_once(rows)[copy["value"]]
    again = send | {
        "op_id": NOT_OURS - 1,
        "process": NOT_OURS - 1,
        "record_index": 0,
        "type": "info",
        "txn": None,
        "offset": None,
    }
    other = {"offset": copy["offset"] + 1, "record_index": copy["record_index"] + 1}
    return [*rows, again, copy, copy | other]


CLAUSES: Clauses = {
    "a record that an idempotent producer sent once is stored at two offsets": by(
        "duplicate", store_twice
    ),
    "a record that idempotent producers sent twice is stored at three offsets": by(
        "duplicate", store_thrice
    ),
}
