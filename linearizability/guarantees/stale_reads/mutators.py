"""Ways to break `stale_reads`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.bounds import NOTHING_STATED
from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    another_read,
    data_rows,
    log_starts,
    nothing_of,
    where_nothing_is_compacted,
)
from linearizability.self_test.model.world import Row


@where_nothing_is_compacted
def keep_waiting(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a reader receives nothing more of a partition, though another receives the
    next record. Choose a reader for which time passes during its assignment and its last poll,
    since events at the same instant have no order, and none that may have received the record in a
    poll of unknown result."""
    starts = log_starts(rows)
    at_once = {
        (row["process"], row["session"])
        for row in rows
        if row["f"] == F.ASSIGN.value and row["t_invoke_ns"] == row["t_complete_ns"]
    }
    lost = {
        row["process"]
        for row in rows
        if row["f"] == F.POLL.value and row["type"] == "info" and row.get("offset") is None
    }
    last_ns: dict[tuple[int, int], int] = {}
    for row in rows:
        is_ok = row["f"] == F.POLL.value and row["type"] == "ok"
        if is_ok and row["t_invoke_ns"] < row["t_complete_ns"]:
            who = (row["process"], row["session"])
            last_ns[who] = max(last_ns.get(who, 0), row["t_invoke_ns"])
    reads = data_rows(rows)
    victims = [
        row
        for row in reads
        if last_ns.get((row["process"], row["session"]), 0)
        > row["t_complete_ns"] + NOTHING_STATED.stale_after_ns
        and row["offset"] >= starts[row["partition"]]
        and (row["process"], row["session"]) not in at_once
        and row["process"] not in lost
        and all(
            read["offset"] < row["offset"]
            for read in reads
            if read["process"] == row["process"]
            and read["partition"] == row["partition"]
            and read["op_id"] < row["op_id"]
        )
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    missed: tuple[object, ...] = (victim["process"], victim["session"], victim["partition"])
    kept: list[Row] = []
    for row in rows:
        is_missed = (
            (row["process"], row["session"], row.get("partition")) == missed
            and row["f"] == F.POLL.value
            and row["op_id"] >= victim["op_id"]
        )
        kept.append(nothing_of(row) if is_missed else row)
    return [*kept, another_read(victim, isolation="read_committed", member_id=None)]


CLAUSES: Clauses = {
    "a polling reader does not receive a readable record within the bound": by(
        "stale-read", keep_waiting
    )
}
