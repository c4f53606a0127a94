"""Ways to break `inconsistent_offsets`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import another_read, data_rows, with_contents
from linearizability.self_test.model.world import Row


def show_two_faces(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: another reader receives a different record at the same offset."""
    reads = data_rows(rows)
    pairs = [
        (a, b)
        for a in rng.sample(reads, min(20, len(reads)))
        for b in rng.sample(reads, min(20, len(reads)))
        if a["partition"] == b["partition"] and a["value"] != b["value"]
    ]
    if not pairs:
        return None
    victim, other = rng.choice(pairs)
    return [*rows, another_read(victim, value=other["value"])]


def change_a_record(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a later reader receives a record with another timestamp, or with other
    headers."""
    victims = with_contents(rows)
    if not victims:
        return None
    victim = rng.choice(victims)
    field = rng.choice(["checksum", "timestamp_ms"])
    return [*rows, another_read(victim, **{field: victim[field] + 1})]


CLAUSES: Clauses = {
    "one offset holds two values": by("inconsistent-offset", show_two_faces),
    "a record's key, headers or timestamp differ between two reads": by(
        "record-changed", change_a_record
    ),
}
