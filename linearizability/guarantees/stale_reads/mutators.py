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
    over_ns,
    sent_once,
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
    at_once = _assigned_at_once(rows)
    lost = {
        row["process"]
        for row in rows
        if row["f"] == F.POLL and row["type"] == "info" and row.get("offset") is None
    }
    last_ns: dict[tuple[int, int], int] = {}
    for row in rows:
        is_ok = row["f"] == F.POLL and row["type"] == "ok"
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
            and row["f"] == F.POLL
            and row["op_id"] >= victim["op_id"]
        )
        kept.append(nothing_of(row) if is_missed else row)
    return [*kept, another_read(victim, isolation="read_committed", member_id=None)]


@where_nothing_is_compacted
def keep_waiting_after_a_lost_poll(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: after a poll of unknown result, a reader that is no member of a group
    receives nothing more of a partition, though a record was sent there after that poll, and
    another reader receives it."""
    starts = log_starts(rows)
    sends, at_once = sent_once(rows), _assigned_at_once(rows)
    lost: dict[int, list[Row]] = {}
    for row in rows:
        if row["f"] == F.POLL and _tells_nothing(row, "info"):
            lost.setdefault(row["process"], []).append(row)
    late = [
        (lost[record["process"]][-1], record)
        for record in data_rows(rows)
        if record["process"] in lost
        and record["group"] is None
        and record["value"] in sends
        and (record["process"], record["session"]) not in at_once
        and record["offset"] >= starts[record["partition"]]
        and over_ns(lost[record["process"]]) < sends[record["value"]]["t_invoke_ns"]
        and None not in [poll["t_complete_ns"] for poll in lost[record["process"]]]
        and _polls_to_the_end(rows, record)
    ]
    if not late:
        return None
    poll, victim = rng.choice(late)
    mine = (victim["process"], victim["partition"])
    kept = [
        nothing_of(row)
        if row["f"] == F.POLL
        and (row["process"], row.get("partition")) == mine
        and row["op_id"] > poll["op_id"]
        else row
        for row in rows
    ]
    return [*kept, another_read(victim, isolation="read_committed", member_id=None)]


def _assigned_at_once(rows: list[Row]) -> set[tuple[int, int]]:
    """Return the processes and sessions whose assignment took no time: events at the same instant
    have no order, so it may have come after what follows it."""
    return {
        (row["process"], row["session"])
        for row in rows
        if row["f"] == F.ASSIGN and row["t_invoke_ns"] == row["t_complete_ns"]
    }


def _tells_nothing(row: Row, outcome: str) -> bool:
    return row["type"] == outcome and row.get("offset") is None


def _polls_to_the_end(rows: list[Row], record: Row) -> bool:
    """Return whether the record's reader still polled in the same session after the bound had
    passed, and all its later operations in that session succeeded."""
    later = [
        row
        for row in rows
        if row["process"] == record["process"] and row["op_id"] > record["op_id"]
    ]
    session = [row for row in later if row["session"] == record["session"]]
    polls = [row for row in session if row["f"] == F.POLL and row["type"] == "ok"]
    end_ns = record["t_complete_ns"] + NOTHING_STATED.stale_after_ns
    return any(end_ns < row["t_invoke_ns"] < row["t_complete_ns"] for row in polls) and all(
        _tells_nothing(row, "ok") or row["type"] == "ok" for row in session
    )


CLAUSES: Clauses = {
    "a polling reader does not receive a readable record within the bound": by(
        "stale-read", keep_waiting, keep_waiting_after_a_lost_poll
    )
}
