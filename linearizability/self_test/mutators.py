"""Ways to break a valid history: each plants one anomaly, which its checker must find.

A mutator takes the rows of a valid history and gives broken ones, or None where this history holds
nothing to break. What it plants is what the named checker's docstring calls an anomaly, so that a
checker which misses it is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from random import Random

from linearizability.history import F, frame
from linearizability.ingest import resolved
from linearizability.self_test.world import Row

Mutator = Callable[[list[Row], Random], list[Row] | None]

NOT_OURS = 999_999
"""An operation number, process and value that no model history reaches (each of its own kind)."""


def lose_a_record(rows: list[Row], rng: Random) -> list[Row] | None:
    """Nobody was given an acknowledged record, though a reader from the beginning went past it."""
    reach: dict[int, int] = {}
    for row in _data(rows):
        if row.get("group") is None and _outcome(row) != "aborted":
            place = row["partition"]
            reach[place] = max(reach.get(place, -1), row["offset"])
    victims = [
        row for row in rows
        if _acked(row) and _outcome(row) in ("plain", "committed")
        and _start(rows, row["partition"]) <= row["offset"] < reach.get(row["partition"], -1)
        and all(r["offset"] == row["offset"] for r in _reads_of(rows, row))
    ]  # fmt: skip
    if not victims:
        return None
    victim = rng.choice(victims)
    lost = {id(row) for row in _reads_of(rows, victim)}
    return [row for row in rows if id(row) not in lost]


def store_twice(rows: list[Row], rng: Random) -> list[Row] | None:
    """A record of an idempotent producer lies at a second offset."""
    once = _sent_once(rows)
    victims = [
        row for row in _data(rows)
        if (send := once.get(row["value"])) is not None and send["idempotent"]
    ]  # fmt: skip
    if not victims:
        return None
    victim = rng.choice(victims)
    return [*rows, _another_read(victim, offset=_end(rows, victim["partition"]))]


def show_two_faces(rows: list[Row], rng: Random) -> list[Row] | None:
    """Another reader is given another record at the same offset."""
    reads = _data(rows)
    pairs = [
        (a, b) for a in rng.sample(reads, min(20, len(reads)))
        for b in rng.sample(reads, min(20, len(reads)))
        if a["partition"] == b["partition"] and a["value"] != b["value"]
    ]  # fmt: skip
    if not pairs:
        return None
    victim, other = rng.choice(pairs)
    return [*rows, _another_read(victim, value=other["value"])]


def read_from_nowhere(rows: list[Row], rng: Random) -> list[Row] | None:
    """A record is read which nobody sent, or that nobody can read, or where it was not sent to."""
    reads = _data(rows)
    if not reads:
        return None
    victim = rng.choice(reads)
    changes: list[Row] = [{"value": NOT_OURS}, {"value": None}, {"partition": NOT_OURS}]
    return [*rows, _another_read(victim, **rng.choice(changes))]


def go_back(rows: list[Row], rng: Random) -> list[Row] | None:
    """A reader is given two records of one partition in the wrong order, or one of them twice."""
    pairs = _consecutive(rows)
    if not pairs:
        return None
    first, second = rng.choice(pairs)
    if rng.random() < 0.5:
        return [_changed(row, second, {"offset": first["offset"]}) for row in rows]
    swapped = {"offset": second["offset"], "value": second["value"]}
    moved = {"offset": first["offset"], "value": first["value"]}
    rows = [_changed(row, second, moved) for row in rows]
    return [_changed(row, first, swapped) for row in rows]


def skip_a_record(rows: list[Row], rng: Random) -> list[Row] | None:
    """A reader is not given a record between two others, which was acknowledged."""
    durable = {
        (row["partition"], row["offset"], row["value"])
        for row in rows
        if _acked(row) and _outcome(row) in ("plain", "committed")
    }
    victims = [
        row for row in _between_others(rows)
        if (row["partition"], row["offset"], row["value"]) in durable
        and row["offset"] >= _start(rows, row["partition"])
    ]  # fmt: skip
    if not victims:
        return None
    victim = rng.choice(victims)
    return [row for row in rows if row is not victim]


def deliver_an_aborted_record(rows: list[Row], rng: Random) -> list[Row] | None:
    """A read_committed reader is given a record of an aborted transaction."""
    victims = [row for row in _data(rows) if _outcome(row) == "aborted"]
    if not victims:
        return None
    victim = rng.choice(victims)
    plain = {"producer_id": None, "producer_epoch": None, "sequence": None, "client": "confluent"}
    return [*rows, _another_read(victim, isolation="read_committed", **plain)]


def reorder_appends(rows: list[Row], rng: Random) -> list[Row] | None:
    """Two records change places, though one was acknowledged before the other was sent."""
    once = _sent_once(rows)
    acked = [row for row in rows if _acked(row) and row["value"] in once]
    pairs = [
        (a, b) for a in acked for b in acked
        if a["partition"] == b["partition"] and a["t_complete_ns"] < b["t_invoke_ns"]
    ]  # fmt: skip
    if not pairs:
        return None
    return _with_places_changed(rows, *rng.choice(pairs))


def never_deliver(rows: list[Row], rng: Random) -> list[Row] | None:
    """No poll delivered an acknowledged record, though a complete read covered it."""
    reads = [
        row for row in rows
        if row["f"] == F.READ_ALL.value and row["type"] == "ok"
        and row.get("isolation") == "read_uncommitted"
    ]  # fmt: skip
    victims = [
        row for row in rows
        if _acked(row) and _outcome(row) in ("plain", "committed")
        and _start(rows, row["partition"]) <= row["offset"]
        and any(
            read["partition"] == row["partition"] and row["offset"] < read["high_watermark"]
            and row["t_complete_ns"] < read["t_invoke_ns"]
            for read in reads
        )
    ]  # fmt: skip
    if not victims:
        return None
    gone = {id(row) for row in _reads_of(rows, rng.choice(victims))}
    return [row for row in rows if id(row) not in gone]


def read_its_own(rows: list[Row], rng: Random) -> list[Row] | None:
    """A transaction is given a record that it sent."""
    sent = {row["value"]: row["txn"] for row in rows if row["f"] == F.SEND.value}
    victims = [row for row in _data(rows) if sent.get(row["value"]) is not None]
    if not victims:
        return None
    victim = rng.choice(victims)
    own = {"isolation": "read_committed", "txn": sent[victim["value"]]}
    return [*rows, _another_read(victim, **own)]


def read_too_early(rows: list[Row], rng: Random) -> list[Row] | None:
    """A read_committed reader is given a record while its transaction goes on."""
    begun = {row["txn"]: row["t_complete_ns"] for row in rows if row["f"] == F.BEGIN.value}
    ended = {row["txn"] for row in rows if row["f"] == F.COMMIT.value}
    sent = {value: row["txn"] for value, row in _sent_once(rows).items() if row["txn"] in ended}
    victims = [row for row in _data(rows) if row["value"] in sent]
    if not victims:
        return None
    victim = rng.choice(victims)
    early = begun[sent[victim["value"]]]
    times = {"t_invoke_ns": early, "t_complete_ns": early, "isolation": "read_committed"}
    return [*rows, _another_read(victim, **times)]


def skip_in_a_group(rows: list[Row], rng: Random) -> list[Row] | None:
    """No member of a group was given a record that others were given, though they went past it."""
    durable = {
        (row["partition"], row["offset"]) for row in rows
        if _acked(row) and _outcome(row) in ("plain", "committed")
    }  # fmt: skip
    of_group = [row for row in _data(rows) if row.get("group") and row["type"] == "ok"]
    victims = [
        row for row in of_group
        if (row["partition"], row["offset"]) in durable
        and row["offset"] >= _start(rows, row["partition"])
        and any(_stands_before(r, row) for r in of_group)
        and any(_stands_before(row, r) for r in of_group)
    ]  # fmt: skip
    if not victims:
        return None
    victim = rng.choice(victims)
    place = (victim["partition"], victim["offset"])
    return [
        row for row in rows
        if not (row.get("group") and (row.get("partition"), row.get("offset")) == place)
    ]  # fmt: skip


def consume_twice(rows: list[Row], rng: Random) -> list[Row] | None:
    """Two committed transactions of one group were given the same record."""
    ends = [r["txn"] for r in rows if r["f"] == F.COMMIT.value and r["type"] == "ok"]
    committed = [
        txn for txn in dict.fromkeys(ends)
        if all(_outcome(r) == "committed" for r in rows if r.get("txn") == txn and "acks" in r)
    ]  # fmt: skip
    reads = _data(rows)
    if len(committed) < 2 or not reads:
        return None
    member = {"group": "inputs", "member_id": "m", "type": "ok", "isolation": "read_committed"}
    victim = rng.choice(reads)
    return [
        *rows,
        *(
            _another_read(victim, **member, txn=txn, op_id=NOT_OURS - n)
            for n, txn in enumerate(rng.sample(committed, 2))
        ),
    ]


def reorder_a_batch(rows: list[Row], rng: Random) -> list[Row] | None:
    """Two records that one operation of an idempotent producer sent change places."""
    once = _sent_once(rows)
    acked = [r for r in rows if _acked(r) and r["idempotent"] and r["value"] in once]
    pairs = [(a, b) for a, b in pairwise(acked) if a["op_id"] == b["op_id"]]
    if not pairs:
        return None
    return _with_places_changed(rows, *rng.choice(pairs))


def lower_an_epoch(rows: list[Row], rng: Random) -> list[Row] | None:
    """A record was written in an older leader epoch than the one before it."""
    raw = [row for row in rows if row.get("leader_epoch") is not None]
    pairs = [
        (a, b) for a, b in pairwise(raw)
        if a["partition"] == b["partition"] and a["leader_epoch"] > 0
    ]  # fmt: skip
    if not pairs:
        return None
    before, victim = rng.choice(pairs)
    older = {"leader_epoch": rng.randrange(before["leader_epoch"])}
    return [_changed(row, victim, older) for row in rows]


MUTATORS: Mapping[str, tuple[Mutator, ...]] = {
    "lost_writes": (lose_a_record,),
    "unseen_writes": (never_deliver,),
    "duplicates": (store_twice,),
    "inconsistent_offsets": (show_two_faces,),
    "phantom_records": (read_from_nowhere,),
    "append_order": (reorder_appends,),
    "producer_order": (reorder_a_batch,),
    "poll_order": (go_back,),
    "poll_skips": (skip_a_record,),
    "aborted_reads": (deliver_an_aborted_record,),
    "dirty_reads": (read_too_early,),
    "own_uncommitted_reads": (read_its_own,),
    "group_delivery": (skip_in_a_group,),
    "exactly_once": (consume_twice,),
    "leader_epochs": (lower_an_epoch,),
}
"""Checker -> what it must catch."""


def broken(name: str, rows: list[Row], rng: Random) -> list[Row] | None:
    """The history with one anomaly that checker `name` must find; None if there is no room."""
    return rng.choice(MUTATORS[name])(with_outcomes(rows), rng)


# --- looking things up ----------------------------------------------------------------------------


def with_outcomes(rows: list[Row]) -> list[Row]:
    """The rows with the outcome of each record's transaction under "_outcome" (see `stripped`)."""
    if not rows:
        return []
    keys = [f"{row['op_id']}/{row['record_index']}" for row in rows]
    found = resolved(frame(rows).lazy()).select("op_id", "record_index", "outcome")
    outcomes = {f"{op}/{index}": outcome for op, index, outcome in found.iter_rows()}
    return [row | {"_outcome": outcomes[key]} for row, key in zip(rows, keys, strict=True)]


def stripped(rows: list[Row]) -> list[Row]:
    """Without what `with_outcomes` added: a history's rows again."""
    return [{k: v for k, v in row.items() if k != "_outcome"} for row in rows]


def _outcome(row: Row) -> str | None:
    outcome: str | None = row["_outcome"]
    return outcome


def _data(rows: list[Row]) -> list[Row]:
    return [
        row for row in rows
        if row["f"] == F.POLL.value and row.get("offset") is not None and not row.get("control")
    ]  # fmt: skip


def _acked(row: Row) -> bool:
    return (
        row["f"] == F.SEND.value and row["type"] == "ok" and row["acks"] == -1
        and row["offset"] is not None
    )  # fmt: skip


def _reads_of(rows: list[Row], send: Row) -> list[Row]:
    return [
        row for row in _data(rows)
        if row["partition"] == send["partition"] and row["value"] == send["value"]
    ]  # fmt: skip


def _with_places_changed(rows: list[Row], first: Row, second: Row) -> list[Row]:
    """Two records change offsets, for senders and readers alike."""
    places = {first["value"]: second["offset"], second["value"]: first["offset"]}
    return [
        row | {"offset": places[row["value"]]}
        if row.get("value") in places and row.get("offset") is not None
        else row
        for row in rows
    ]


def _sent_once(rows: list[Row]) -> dict[int, Row]:
    sends: dict[int, list[Row]] = {}
    for row in rows:
        if row["f"] == F.SEND.value:
            sends.setdefault(row["value"], []).append(row)
    return {value: found[0] for value, found in sends.items() if len(found) == 1}


def _start(rows: list[Row], partition: int) -> int:
    starts: list[int] = [
        r["log_start"] for r in rows
        if r.get("partition") == partition and r.get("log_start") is not None
    ]  # fmt: skip
    return max(starts, default=0)


def _end(rows: list[Row], partition: int) -> int:
    known: list[int] = [
        row[column] for row in rows if row.get("partition") == partition
        for column in ("offset", "high_watermark") if row.get(column) is not None
    ]  # fmt: skip
    return max(known) + 1


def _another_read(read: Row, **changes: object) -> Row:
    """The same record given to a reader who reads nothing else."""
    own = {"op_id": NOT_OURS, "process": NOT_OURS, "session": 0, "group": "late"}
    return {**read, "record_index": 0, **own, **changes}


def _changed(row: Row, victim: Row, changes: Row) -> Row:
    return row | changes if row is victim else row


def _stands_before(row: Row, other: Row) -> bool:
    return bool(row["partition"] == other["partition"] and row["offset"] < other["offset"])


def _sessions(rows: list[Row]) -> list[list[Row]]:
    sessions: dict[tuple[object, ...], list[Row]] = {}
    for row in _data(rows):
        key = (row["process"], row["session"], row["partition"])
        sessions.setdefault(key, []).append(row)
    return list(sessions.values())


def _consecutive(rows: list[Row]) -> list[tuple[Row, Row]]:
    return [pair for s in _sessions(rows) for pair in pairwise(s)]


def _between_others(rows: list[Row]) -> list[Row]:
    """Records that a reader was given between two others."""
    return [row for session in _sessions(rows) for row in session[1:-1]]
