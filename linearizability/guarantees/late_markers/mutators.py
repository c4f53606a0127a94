"""Ways to break `late_markers`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import changed_row, raw_records, sent_once
from linearizability.self_test.model.world import Row


def end_too_early(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: in a raw read, an ABORT marker of the producer replaces the record between
    two records of one transaction."""
    once = sent_once(rows)
    of_txn = {value: row["txn"] for value, row in once.items() if row["txn"] is not None}
    records = raw_records(rows)
    victims = []
    for first, middle, last in zip(records, records[1:], records[2:], strict=False):
        together = first["op_id"] == last["op_id"] and first["partition"] == last["partition"]
        txn = of_txn.get(first["value"])
        if together and txn is not None and txn == of_txn.get(last["value"]):
            victims.append((first, middle))
    if not victims:
        return None
    first, victim = rng.choice(victims)
    marker = {
        "control": "abort",
        "value": None,
        "sequence": -1,
        "producer_id": first["producer_id"],
        "producer_epoch": first["producer_epoch"],
    }
    return [changed_row(row, victim, marker) for row in rows]


CLAUSES: Clauses = {
    "a marker lies between two records of one transaction": by("late-marker", end_too_early)
}
