"""Ways to break `timestamp_types`, each with the clause of its promise that it breaks."""

import json
from itertools import pairwise
from random import Random

from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import data_rows, raw_records
from linearizability.self_test.model.world import Row


def stamp_as_the_sender_did(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: the brokers of a topic must set timestamps, and do in all records except
    one, which keeps the sender's."""
    named = [row for row in rows if row["f"] == "topic"]
    records = [row for row in data_rows(rows) if row.get("timestamp_type") is not None]
    if not named or not records:
        return None
    victim = rng.choice(records)
    by_broker = {"message.timestamp.type": "LogAppendTime"}
    return [_stamped(row, row.get("value") != victim["value"], by_broker) for row in rows]


def _stamped(row: Row, by_broker: bool, told: dict[str, str]) -> Row:
    """Return the row with changes: a topic's row gets the additional settings `told`; a record's
    row with a timestamp gets one that the broker has set if by_broker, else the sender's."""
    if row["f"] == "topic":
        return row | {"settings": json.dumps(json.loads(row["settings"]) | told)}
    if row.get("timestamp_type") is None:
        return row
    return row | {"timestamp_type": "append" if by_broker else "create"}


LONG_MS = 5_000
"""A time in milliseconds that is longer than clocks are corrected by."""


def stamp_with_an_old_time(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: one record has an append time that is five seconds lower than that of the
    record before it, which the same leader appended. (The model's truth: a record's leader epoch is
    in the raw reads of its log.)"""
    stamped = [
        row
        for row in raw_records(rows)
        if row.get("timestamp_type") == "append" and row["value"] is not None
    ]
    stamped.sort(key=lambda row: (row["partition"], row["leader_epoch"], row["offset"]))
    pairs = [
        (before, after)
        for before, after in pairwise(stamped)
        if (before["partition"], before["leader_epoch"])
        == (after["partition"], after["leader_epoch"])
        and before["offset"] < after["offset"]
    ]
    if not pairs:
        return None
    before, after = rng.choice(pairs)
    old = {"timestamp_ms": before["timestamp_ms"] - LONG_MS}
    return [row | old if _shows(row, after) else row for row in rows]


def _shows(row: Row, record: Row) -> bool:
    """Return whether the row is a read of this record."""
    keys = ("f", "partition", "offset", "value")
    return all(row.get(key) == record[key] for key in keys)


CLAUSES: Clauses = {
    "a record's timestamp is not of the type that message.timestamp.type names": by(
        "wrong-timestamp-type", stamp_as_the_sender_did
    ),
    "a record's append time is lower than that of an earlier record of its leader epoch": by(
        "append-time-goes-back", stamp_with_an_old_time
    ),
}
