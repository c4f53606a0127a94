"""Ways to break `duplicates`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import another_read, data_rows, log_end_of, sent_once
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


CLAUSES: Clauses = {
    "a record that an idempotent producer sent once is stored at two offsets": by(
        "duplicate", store_twice
    )
}
