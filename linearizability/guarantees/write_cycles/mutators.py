"""Ways to break `write_cycles`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    COMMITTED,
    NOT_OURS,
    another_read,
    data_rows,
    is_acked,
    sent_once,
)
from linearizability.self_test.model.world import Row


def read_in_a_circle_of_time(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a transaction receives a record of another one, which requests its commit
    only after the reader's own commit was acknowledged."""
    once = sent_once(rows)
    sends = [row for row in once.values() if is_acked(row) and row["txn"] is not None]
    asked = {row["txn"]: row["t_invoke_ns"] for row in rows if row["f"] == F.COMMIT}
    done = {
        row["txn"]: row["t_complete_ns"]
        for row in rows
        if row["f"] == F.COMMIT and row["type"] == "ok"
    }
    pairs = [
        (reader, writer)
        for reader in sends
        for writer in sends
        if reader["txn"] in done
        and writer["txn"] in done
        and done[reader["txn"]] < asked[writer["txn"]]
    ]
    template = next((row for row in data_rows(rows) if row["isolation"] == "read_committed"), None)
    if not pairs or template is None:
        return None
    reader, writer = rng.choice(pairs)
    record = {c: writer[c] for c in ("topic", "topic_id", "partition", "offset", "value")}
    given_ns = asked[reader["txn"]] - 1
    return [
        *rows,
        another_read(
            template,
            **record,
            txn=reader["txn"],
            process=reader["process"],
            type="ok",
            t_invoke_ns=given_ns,
            t_complete_ns=given_ns,
        ),
    ]


def read_each_other(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: two transactions receive each other's records before either requests its
    commit."""
    once = sent_once(rows)
    sends = [row for row in once.values() if is_acked(row) and row["txn"] is not None]
    pairs = [(a, b) for a in sends for b in sends if a["txn"] < b["txn"]]
    if not pairs:
        return None
    one, other = rng.choice(pairs)
    template = next((row for row in data_rows(rows) if row["isolation"] == COMMITTED), None)
    if template is None:
        return None
    record = ("topic", "topic_id", "partition", "offset", "value")
    return [
        *rows,
        *(
            another_read(
                template,
                **{column: sent[column] for column in record},
                txn=reader["txn"],
                op_id=NOT_OURS - number,
                process=reader["process"],
                type="ok",
                t_invoke_ns=reader["t_invoke_ns"],
                t_complete_ns=reader["t_invoke_ns"],
            )
            for number, (sent, reader) in enumerate([(one, other), (other, one)])
        ),
    ]


CLAUSES: Clauses = {
    "read_committed transactions read each other before their commits": by(
        "read-cycle", read_each_other
    ),
    "a transaction reads a record whose commit was invoked after its own was acknowledged": by(
        "read-cycle-realtime read-cycle", read_in_a_circle_of_time
    ),
}
