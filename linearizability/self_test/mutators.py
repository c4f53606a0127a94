"""Ways to break a valid history: each plants one anomaly, which its checker must find (`clauses`).

A mutator takes the rows of a valid history with the model's truth (`truth`) and returns the broken
ones, or None if this history holds nothing to break. What it plants is what the named checker's
docstring calls an anomaly, so that a checker which misses it is wrong.
"""

from __future__ import annotations

from itertools import pairwise
from random import Random

from linearizability.history import F
from linearizability.self_test.lookup import (
    NOT_OURS,
    another_read,
    between_others,
    changed_row,
    consecutive,
    data_rows,
    if_still_durable,
    is_acked,
    leader_knew,
    log_end_of,
    log_starts,
    places_seen,
    sent_once,
    stands_before,
    where_nothing_is_compacted,
    with_places_changed,
    without_reads_of,
)
from linearizability.self_test.truth import outcome_of
from linearizability.self_test.world import Row


@where_nothing_is_compacted
def lose_a_record(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: no reader received an acknowledged record, though one from the beginning
    went past it."""
    starts = log_starts(rows)
    reach: dict[int, int] = {}
    seen = places_seen(rows)
    for row in data_rows(rows):
        if row.get("group") is None and outcome_of(row) != "aborted":
            place = row["partition"]
            reach[place] = max(reach.get(place, -1), row["offset"])
    victims = [
        row
        for row in rows
        if is_acked(row)
        and outcome_of(row) in ("plain", "committed")
        and starts[row["partition"]] <= row["offset"] < reach.get(row["partition"], -1)
        and seen[row["partition"], row["value"]] <= {row["offset"]}
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    return if_still_durable(without_reads_of(rows, victim), victim)


def store_twice(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a record of an idempotent producer lies at a second offset."""
    once = sent_once(rows)
    victims = [
        row
        for row in data_rows(rows)
        if (send := once.get(row["value"])) is not None and send["idempotent"]
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    return [*rows, another_read(victim, offset=log_end_of(rows, victim["partition"]))]


def show_two_faces(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: another reader is given another record at the same offset."""
    reads = data_rows(rows)
    pairs = [
        (a, b)
        for a in rng.sample(reads, min(20, len(reads)))
        for b in rng.sample(reads, min(20, len(reads)))
        if a["partition"] == b["partition"] and a["value"] != b["value"]
    ]
    if not pairs:
        return None
    victim, other = rng.choice(pairs)
    return [*rows, another_read(victim, value=other["value"])]


def read_from_nowhere(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a record is read which nobody sent, or that nobody can read, or where it
    was not sent to."""
    reads = data_rows(rows)
    if not reads:
        return None
    victim = rng.choice(reads)
    changes: list[Row] = [{"value": NOT_OURS}, {"value": None}, {"partition": NOT_OURS}]
    return [*rows, another_read(victim, **rng.choice(changes))]


def go_back(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a reader is given two records of one partition in the wrong order, or one
    of them twice."""
    pairs = consecutive(rows)
    if not pairs:
        return None
    first, second = rng.choice(pairs)
    if rng.random() < 0.5:
        return [changed_row(row, second, {"offset": first["offset"]}) for row in rows]
    swapped = {"offset": second["offset"], "value": second["value"]}
    moved = {"offset": first["offset"], "value": first["value"]}
    rows = [changed_row(row, second, moved) for row in rows]
    return [changed_row(row, first, swapped) for row in rows]


@where_nothing_is_compacted
def skip_a_record(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a reader is not given a record between two others, which was
    acknowledged."""
    starts = log_starts(rows)
    durable = {
        (row["partition"], row["offset"], row["value"])
        for row in rows
        if is_acked(row) and outcome_of(row) in ("plain", "committed")
    }
    victims = [
        row
        for row in between_others(rows)
        if (row["partition"], row["offset"], row["value"]) in durable
        and row["offset"] >= starts[row["partition"]]
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    return [row for row in rows if row is not victim]


def deliver_an_aborted_record(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a read_committed reader is given a record of an aborted transaction."""
    victims = [row for row in data_rows(rows) if outcome_of(row) == "aborted"]
    if not victims:
        return None
    victim = rng.choice(victims)
    plain = {"producer_id": None, "producer_epoch": None, "sequence": None, "client": "confluent"}
    return [*rows, another_read(victim, isolation="read_committed", **plain)]


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


@where_nothing_is_compacted
def never_deliver(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: no poll delivered an acknowledged record, though a complete read covered
    it."""
    starts = log_starts(rows)
    reads = [
        row
        for row in rows
        if row["f"] == F.READ_ALL.value
        and row["type"] == "ok"
        and row.get("isolation") == "read_uncommitted"
    ]
    victims = [
        row
        for row in rows
        if is_acked(row)
        and outcome_of(row) in ("plain", "committed")
        and starts[row["partition"]] <= row["offset"]
        and any(
            read["partition"] == row["partition"]
            and row["offset"] < read["high_watermark"]
            and row["t_complete_ns"] < read["t_invoke_ns"]
            for read in reads
        )
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    return if_still_durable(without_reads_of(rows, victim), victim)


def read_its_own(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a transaction is given a record that it sent."""
    sent = {row["value"]: row["txn"] for row in rows if row["f"] == F.SEND.value}
    victims = [row for row in data_rows(rows) if sent.get(row["value"]) is not None]
    if not victims:
        return None
    victim = rng.choice(victims)
    own = {"isolation": "read_committed", "txn": sent[victim["value"]]}
    return [*rows, another_read(victim, **own)]


def read_too_early(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a read_committed reader is given a record while its transaction goes on."""
    begun = {row["txn"]: row["t_complete_ns"] for row in rows if row["f"] == F.BEGIN.value}
    ended = {row["txn"] for row in rows if row["f"] == F.COMMIT.value}
    sent = {value: row["txn"] for value, row in sent_once(rows).items() if row["txn"] in ended}
    victims = [row for row in data_rows(rows) if row["value"] in sent]
    if not victims:
        return None
    victim = rng.choice(victims)
    early = begun[sent[victim["value"]]]
    times = {"t_invoke_ns": early, "t_complete_ns": early, "isolation": "read_committed"}
    return [*rows, another_read(victim, **times)]


@where_nothing_is_compacted
def skip_in_a_group(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: no member of a group received a record that others received, though they
    went past it."""
    starts = log_starts(rows)
    durable = {
        (row["partition"], row["offset"])
        for row in rows
        if is_acked(row) and outcome_of(row) in ("plain", "committed")
    }
    if any(
        row["f"] == F.POLL.value
        and row.get("group")
        and not row.get("topic")
        and row["type"] == "info"
        for row in rows
    ):
        return None  # nobody knows what that poll delivered
    of_group = [row for row in data_rows(rows) if row.get("group") and row["type"] == "ok"]
    victims = [
        row
        for row in of_group
        if (row["partition"], row["offset"]) in durable
        and row["offset"] >= starts[row["partition"]]
        and any(stands_before(r, row) for r in of_group)
        and any(stands_before(row, r) for r in of_group)
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    place = (victim["partition"], victim["offset"])
    return [
        row
        for row in rows
        if not (row.get("group") and (row.get("partition"), row.get("offset")) == place)
    ]


def consume_twice(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: two committed transactions of one group were given the same record."""
    ends = [r["txn"] for r in rows if r["f"] == F.COMMIT.value and r["type"] == "ok"]
    committed = [
        txn
        for txn in dict.fromkeys(ends)
        if all(outcome_of(r) == "committed" for r in rows if r.get("txn") == txn and "acks" in r)
    ]
    reads = data_rows(rows)
    if len(committed) < 2 or not reads:
        return None
    member = {"group": "inputs", "member_id": "m", "type": "ok", "isolation": "read_committed"}
    victim = rng.choice(reads)
    return [
        *rows,
        *(
            another_read(victim, **member, txn=txn, op_id=NOT_OURS - n)
            for n, txn in enumerate(rng.sample(committed, 2))
        ),
    ]


def reorder_a_batch(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: two records change places that one operation of an idempotent producer sent
    to a leader who knew it."""
    once = sent_once(rows)
    acked = [r for r in rows if is_acked(r) and r["idempotent"] and r["value"] in once]
    pairs = [
        (a, b) for a, b in pairwise(acked) if a["op_id"] == b["op_id"] and leader_knew(rows, a, b)
    ]
    if not pairs:
        return None
    return with_places_changed(rows, *rng.choice(pairs))


def lower_an_epoch(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a record was written in an older leader epoch than the one before it."""
    raw = [
        r
        for r in rows
        if r["f"] == F.POLL.value and r.get("producer_id") is not None and r.get("replica") is None
    ]
    pairs = [
        (a, b)
        for a, b in pairwise(raw)
        if a["partition"] == b["partition"] and a["leader_epoch"] > 0
    ]
    if not pairs:
        return None
    before, victim = rng.choice(pairs)
    older = {"leader_epoch": rng.randrange(before["leader_epoch"])}
    return [changed_row(row, victim, older) for row in rows]
