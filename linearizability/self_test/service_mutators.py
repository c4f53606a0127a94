"""Ways to break the promises to readers, and those of the service (see `mutators`)."""

from __future__ import annotations

from random import Random

from linearizability.bounds import NOTHING_STATED
from linearizability.history import F
from linearizability.self_test.lookup import (
    NOT_OURS,
    another_read,
    data_rows,
    if_still_durable,
    is_acked,
    log_end_of,
    log_starts,
    sent_once,
    where_nothing_is_compacted,
)
from linearizability.self_test.truth import outcome_of
from linearizability.self_test.world import Row


@where_nothing_is_compacted
def keep_waiting(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a reader is given nothing more of a partition, though another is given the
    next record. The clock must not stand still while it is assigned, and while it asks for the last
    time: what happens at the instant of a change may have happened before it. And the record must
    not have been given to a poll of the reader that nobody knows of."""
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


def nothing_of(row: Row) -> Row:
    """Return the row of a poll that was answered with nothing, in place of one that received a
    record, whatever became of that one."""
    told = ("topic", "topic_id", "partition", "offset", "value")
    kept = {column: value for column, value in row.items() if column not in told}
    return kept | {"type": "ok", "t_complete_ns": row["t_complete_ns"] or row["t_invoke_ns"]}


@where_nothing_is_compacted
def read_too_little(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a reading of a whole partition does not give a record that was acknowledged
    before."""
    starts = log_starts(rows)
    once = {value: send for value, send in sent_once(rows).items() if is_acked(send)}
    victims = [
        (row, send)
        for row in _of_readings(rows)
        if (send := once.get(row["value"])) is not None
        and outcome_of(send) in ("plain", "committed")
        and send["t_complete_ns"] < row["t_invoke_ns"]
        and starts[row["partition"]] <= row["offset"] == send["offset"]  # no earlier copy
    ]
    if not victims:
        return None
    victim, send = rng.choice(victims)
    missed: tuple[object, ...] = (victim["op_id"], victim["partition"], victim["value"])
    kept = [row for row in rows if (row["op_id"], row.get("partition"), row.get("value")) != missed]
    return if_still_durable(kept, send)


def read_it_twice(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a reading of a whole partition gives a record of an idempotent producer at
    two offsets."""
    once = {value for value, send in sent_once(rows).items() if send["idempotent"]}
    victims = [row for row in _of_readings(rows) if row["value"] in once]
    if not victims:
        return None
    victim = rng.choice(victims)
    end = log_end_of(rows, victim["partition"])
    return [*rows, victim | {"offset": end, "record_index": NOT_OURS}]


def _of_readings(rows: list[Row]) -> list[Row]:
    """Return the records that complete reads contain."""
    whole = {
        (row["op_id"], row["partition"])
        for row in rows
        if row["f"] == F.READ_ALL.value and row["type"] == "ok"
    }
    return [row for row in data_rows(rows) if (row["op_id"], row["partition"]) in whole]
