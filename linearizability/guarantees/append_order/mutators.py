"""Ways to break `append_order`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    NOT_OURS,
    another_read,
    changed_row,
    data_rows,
    is_acked,
    log_end_of,
    over_ns,
    sent_once,
    with_places_changed,
)
from linearizability.self_test.model.world import Row


def append_below_what_was_read(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a record is acknowledged below an offset that a poll had received before
    the record was sent; the record at that offset was never acknowledged."""
    sends = [row for row in sent_once(rows).values() if is_acked(row) and row["txn"] is None]
    reads = data_rows(rows)
    if not sends or not reads:
        return None
    sent, end = rng.choice(sends), over_ns(rows)
    place = log_end_of(rows, sent["partition"])
    unknown = sent | {"type": "info", "offset": None, "op_id": NOT_OURS - 2, "value": NOT_OURS - 2}
    later = sent | {"offset": place, "op_id": NOT_OURS, "value": NOT_OURS}
    where = {column: sent[column] for column in ("topic", "topic_id", "partition")}
    given = another_read(
        rng.choice(reads),
        **where,
        type="ok",
        op_id=NOT_OURS - 1,
        value=NOT_OURS - 2,
        offset=place + 1,
        key=sent.get("key"),
    )
    alone = {"record_index": 0}
    return [
        *rows,
        unknown | alone | {"t_invoke_ns": end + 1, "t_complete_ns": None},
        given | {"t_invoke_ns": end + 2, "t_complete_ns": end + 3},
        later | alone | {"t_invoke_ns": end + 5, "t_complete_ns": end + 6},
    ]


def reorder_appends(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: two records change places, though one was acknowledged before the other was
    sent."""
    once = sent_once(rows)
    acked = [row for row in rows if is_acked(row) and row["value"] in once]
    pairs = [
        (a, b)
        for a in acked
        for b in acked
        if a["partition"] == b["partition"] and a["t_complete_ns"] < b["t_invoke_ns"]
    ]
    if not pairs:
        return None
    return with_places_changed(rows, *rng.choice(pairs))


def acknowledge_twice(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: two records are acknowledged with the same offset."""
    acked = [row for row in sent_once(rows).values() if is_acked(row)]
    pairs = [
        (a, b)
        for a in acked
        for b in acked
        if a["partition"] == b["partition"] and a["value"] < b["value"]
    ]
    if not pairs:
        return None
    one, other = rng.choice(pairs)
    return [changed_row(row, other, {"offset": one["offset"]}) for row in rows]


CLAUSES: Clauses = {
    "a record sent after another's acknowledgement gets a lower offset": by(
        "append-order", reorder_appends
    ),
    "two records are acknowledged at one offset": by("same-offset", acknowledge_twice),
    "a record is sent after a poll was given its offset or a later one": by(
        "read-before-append", append_below_what_was_read
    ),
}
