"""Ways to break `own_uncommitted_reads`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import another_read, data_rows
from linearizability.self_test.model.world import Row


def read_its_own(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a transaction receives a record that it sent itself."""
    sent = {row["value"]: row["txn"] for row in rows if row["f"] == F.SEND}
    victims = [row for row in data_rows(rows) if sent.get(row["value"]) is not None]
    if not victims:
        return None
    victim = rng.choice(victims)
    own = {"isolation": "read_committed", "txn": sent[victim["value"]]}
    return [*rows, another_read(victim, **own)]


CLAUSES: Clauses = {
    "a transaction reads its own uncommitted record": by("own-uncommitted-read", read_its_own)
}
