"""Ways to break `idempotence`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    NOT_OURS,
    changed_row,
    is_acked,
    neighbours_of_producers,
    raw_records,
)
from linearizability.self_test.model.world import Row


def refuse_in_order(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a raw producer's batch is refused as out of order although its sequence
    follows."""
    sends = [row for row in rows if is_acked(row) and row["idempotent"] and row["txn"] is None]
    if not sends:
        return None
    refused = {"type": "fail", "offset": None, "error": "OUT_OF_ORDER_SEQUENCE_NUMBER"}
    own = {"op_id": NOT_OURS, "record_index": 0, "value": NOT_OURS, "client": "raw"}
    return [*rows, rng.choice(sends) | own | refused]


def skip_a_sequence(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a record's sequence is one higher than the one that follows its producer's
    last."""
    seen = {(row["op_id"], row["partition"], row["offset"]) for row in raw_records(rows)}
    victims = [
        b
        for a, b in neighbours_of_producers(rows)
        if not a.get("control")
        and not b.get("control")
        # Compaction may have removed records between the two.
        and all((a["op_id"], a["partition"], o) in seen for o in range(a["offset"], b["offset"]))
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    return [changed_row(row, victim, {"sequence": victim["sequence"] + 1}) for row in rows]


CLAUSES: Clauses = {
    "a producer's sequence number does not follow the one before it": by(
        "sequence-does-not-follow", skip_a_sequence
    ),
    "a batch that follows the one before it is refused as out of order": by(
        "in-order-refused", refuse_in_order
    ),
}
