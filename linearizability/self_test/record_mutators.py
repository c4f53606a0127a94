"""Ways to change what belongs to a record besides its value (see `mutators`)."""

from __future__ import annotations

import json
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


def stamp_as_the_sender_did(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: the brokers of a topic must set the time, but readers of a record are told
    that its sender did."""
    named = [row for row in rows if row["f"] == "topic"]
    records = [row for row in data_rows(rows) if row.get("timestamp_type") is not None]
    if not named or not records:
        return None
    victim = rng.choice(records)
    by_broker = {"message.timestamp.type": "LogAppendTime"}
    return [_stamped(row, row.get("value") != victim["value"], by_broker) for row in rows]


def _stamped(row: Row, by_broker: bool, told: dict[str, str]) -> Row:
    """Return the row of a topic with these settings besides, and of a record whose time the broker
    has set."""
    if row["f"] == "topic":
        return row | {"settings": json.dumps(json.loads(row["settings"]) | told)}
    is_stamped = by_broker and row.get("timestamp_type") is not None
    return row | {"timestamp_type": "append"} if is_stamped else row


def _with_contents(rows: list[Row]) -> list[Row]:
    return [row for row in data_rows(rows) if row.get("checksum") is not None]
