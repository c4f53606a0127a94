"""Ways to break `aborted_reads`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import another_read, data_rows
from linearizability.self_test.model.world import Row
from linearizability.self_test.truth import outcome_of


def deliver_an_aborted_record(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a read_committed reader is given a record of an aborted transaction."""
    victims = [row for row in data_rows(rows) if outcome_of(row) == "aborted"]
    if not victims:
        return None
    victim = rng.choice(victims)
    plain = {"producer_id": None, "producer_epoch": None, "sequence": None, "client": "confluent"}
    return [*rows, another_read(victim, isolation="read_committed", **plain)]


CLAUSES: Clauses = {
    "a read_committed reader receives an aborted record": by(
        "aborted-read", deliver_an_aborted_record
    )
}
