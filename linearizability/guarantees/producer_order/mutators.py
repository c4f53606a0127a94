"""Ways to break `producer_order`, each with the clause of its promise that it breaks."""

from itertools import pairwise
from random import Random

from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import is_acked, leader_knew, sent_once, with_places_changed
from linearizability.self_test.model.world import Row


def reorder_a_batch(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: two records of one send operation change places, although the leader knew
    their idempotent producer."""
    once = sent_once(rows)
    acked = [r for r in rows if is_acked(r) and r["idempotent"] and r["value"] in once]
    pairs = [
        (a, b) for a, b in pairwise(acked) if a["op_id"] == b["op_id"] and leader_knew(rows, a, b)
    ]
    if not pairs:
        return None
    return with_places_changed(rows, *rng.choice(pairs))


CLAUSES: Clauses = {
    "an idempotent producer's records are stored in another order than sent": by(
        "sends-reordered sequence-goes-back", reorder_a_batch
    )
}
