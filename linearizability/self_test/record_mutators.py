"""Ways to change what a record is beside its value (see `mutators`)."""

from __future__ import annotations

from random import Random

from linearizability.self_test.lookup import another_read, data_rows
from linearizability.self_test.world import Row


def alter_a_record(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: every reader is given a record with other headers than it was sent with."""
    victims = _with_contents(rows)
    if not victims:
        return None
    victim = rng.choice(victims)
    changed = {"checksum": victim["checksum"] + 1}
    return [
        row | changed if row["f"] == "poll" and row.get("value") == victim["value"] else row
        for row in rows
    ]


def change_a_record(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a later reader is given a record with another timestamp, or with other
    headers."""
    victims = _with_contents(rows)
    if not victims:
        return None
    victim = rng.choice(victims)
    field = rng.choice(["checksum", "timestamp_ms"])
    return [*rows, another_read(victim, **{field: victim[field] + 1})]


def _with_contents(rows: list[Row]) -> list[Row]:
    return [row for row in data_rows(rows) if row.get("checksum") is not None]
