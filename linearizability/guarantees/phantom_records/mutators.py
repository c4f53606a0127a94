"""Ways to break `phantom_records`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    NOT_OURS,
    another_read,
    changed_row,
    data_rows,
    sent_once,
    with_contents,
)
from linearizability.self_test.model.world import Row


def read_from_nowhere(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a record is read that was never sent, or that is unreadable, or in a
    partition that it was not sent to."""
    reads = data_rows(rows)
    if not reads:
        return None
    victim = rng.choice(reads)
    changes: list[Row] = [{"value": NOT_OURS}, {"value": None}, {"partition": NOT_OURS}]
    return [*rows, another_read(victim, **rng.choice(changes))]


def store_what_was_refused(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a record is read whose send certainly failed."""
    seen = {row["value"] for row in data_rows(rows)}
    victims = [row for value, row in sent_once(rows).items() if value in seen]
    if not victims:
        return None
    failed = {"type": "fail", "offset": None}
    victim = rng.choice(victims)
    return [changed_row(row, victim, failed) for row in rows]


def alter_a_record(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: every reader receives a record with other headers than it was sent with."""
    victims = with_contents(rows)
    if not victims:
        return None
    victim = rng.choice(victims)
    changed = {"checksum": victim["checksum"] + 1}
    return [
        row | changed if row["f"] == "poll" and row.get("value") == victim["value"] else row
        for row in rows
    ]


CLAUSES: Clauses = {
    "a record read was never sent, was sent elsewhere, or is unreadable": by(
        "phantom-record wrong-partition unreadable-record", read_from_nowhere
    ),
    "a record is read although its send certainly failed": by(
        "refused-record", store_what_was_refused
    ),
    "a record is read with a key, headers or timestamp that were not sent": by(
        "altered-record", alter_a_record
    ),
}
