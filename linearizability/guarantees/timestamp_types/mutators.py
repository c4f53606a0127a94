"""Ways to break `timestamp_types`, each with the clause of its promise that it breaks."""

import json
from random import Random

from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import data_rows
from linearizability.self_test.model.world import Row


def stamp_as_the_sender_did(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: the brokers of a topic must set timestamps, and do in all records except
    one, whose timestamp keeps its former type."""
    named = [row for row in rows if row["f"] == "topic"]
    records = [row for row in data_rows(rows) if row.get("timestamp_type") is not None]
    if not named or not records:
        return None
    victim = rng.choice(records)
    by_broker = {"message.timestamp.type": "LogAppendTime"}
    return [_stamped(row, row.get("value") != victim["value"], by_broker) for row in rows]


def _stamped(row: Row, by_broker: bool, told: dict[str, str]) -> Row:
    """Return the row with changes: a topic's row gets the additional settings `told`; if by_broker,
    a record's row gets a timestamp that the broker has set."""
    if row["f"] == "topic":
        return row | {"settings": json.dumps(json.loads(row["settings"]) | told)}
    is_stamped = by_broker and row.get("timestamp_type") is not None
    return row | {"timestamp_type": "append"} if is_stamped else row


CLAUSES: Clauses = {
    "a record's timestamp is not of the type that message.timestamp.type names": by(
        "wrong-timestamp-type", stamp_as_the_sender_did
    )
}
