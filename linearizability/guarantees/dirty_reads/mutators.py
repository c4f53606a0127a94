"""Ways to break `dirty_reads`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import another_read, data_rows, sent_once
from linearizability.self_test.model.world import Row


def read_too_early(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a read_committed reader is given a record while its transaction is still
    open."""
    begun = {row["txn"]: row["t_complete_ns"] for row in rows if row["f"] == F.BEGIN}
    ended = {row["txn"] for row in rows if row["f"] == F.COMMIT}
    sent = {value: row["txn"] for value, row in sent_once(rows).items() if row["txn"] in ended}
    victims = [row for row in data_rows(rows) if row["value"] in sent]
    if not victims:
        return None
    victim = rng.choice(victims)
    early = begun[sent[victim["value"]]]
    times = {"t_invoke_ns": early, "t_complete_ns": early, "isolation": "read_committed"}
    return [*rows, another_read(victim, **times)]


CLAUSES: Clauses = {
    "a read_committed reader receives a record before EndTxn asked to commit it": by(
        "dirty-read", read_too_early
    )
}
