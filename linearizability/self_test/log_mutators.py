"""Ways to break the logs that somebody read raw (see `mutators`)."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from linearizability.history import F
from linearizability.self_test.lookup import (
    NOT_OURS,
    changed_row,
    is_acked,
    log_starts,
    sent_once,
    where_nothing_is_compacted,
)
from linearizability.self_test.world import Row


@where_nothing_is_compacted
def leave_a_hole(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: from somewhere on, everything in a partition stands one offset further."""
    starts = log_starts(rows)
    pairs = [(a, b) for a, b in _pairs(_raw(rows)) if a["offset"] >= starts[a["partition"]]]
    if not pairs:
        return None
    _, victim = rng.choice(pairs)
    moved = []
    for row in rows:
        here = row.get("partition") == victim["partition"]
        changes = {
            column: row[column] + 1
            for column in ("offset", "high_watermark")
            if here and row.get(column) is not None and row[column] >= victim["offset"]
        }
        moved.append(row | changes)
    return moved


@where_nothing_is_compacted
def end_a_read_early(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a complete raw read, of the leader or a follower, lacks its last records,
    though it names the same high watermark."""
    starts = log_starts(rows)
    victims = [
        (row, end)
        for end in rows
        if end["f"] == F.READ_ALL.value and end["type"] == "ok" and end.get("client") == "raw"
        for row in rows
        if _is_of(row, end)
        and starts[row["partition"]] < row["offset"] < end["high_watermark"]
        and end["log_start"] < row["offset"]
    ]
    if not victims:
        return None
    victim, end = rng.choice(victims)
    return [row for row in rows if not _is_of(row, end) or row["offset"] < victim["offset"]]


def _is_of(row: Row, end: Row) -> bool:
    """Return whether the row shows a record of the reading that ends here."""
    same = ("op_id", "partition", "replica")
    return row.get("offset") is not None and all(row.get(c) == end.get(c) for c in same)


def skip_a_sequence(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a record's sequence is one too high for what its producer wrote before."""
    seen = {(row["op_id"], row["partition"], row["offset"]) for row in _raw(rows)}
    victims = [
        b
        for a, b in _pairs_of_producers(rows)
        if not a.get("control")
        and not b.get("control")
        # What was compacted away may have stood between.
        and all((a["op_id"], a["partition"], o) in seen for o in range(a["offset"], b["offset"]))
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    return [changed_row(row, victim, {"sequence": victim["sequence"] + 1}) for row in rows]


def write_though_fenced(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a newer epoch of its producer stands before a record."""
    pairs = _pairs_of_producers(rows)
    if not pairs:
        return None
    before, victim = rng.choice(pairs)
    newer = {"producer_epoch": victim["producer_epoch"] + 1}
    return [changed_row(row, before, newer) for row in rows]


def end_too_early(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a marker of the producer stands between two records of one transaction."""
    once = sent_once(rows)
    of_txn = {value: row["txn"] for value, row in once.items() if row["txn"] is not None}
    records = _raw(rows)
    victims = []
    for first, middle, last in zip(records, records[1:], records[2:], strict=False):
        together = first["op_id"] == last["op_id"] and first["partition"] == last["partition"]
        txn = of_txn.get(first["value"])
        if together and txn is not None and txn == of_txn.get(last["value"]):
            victims.append((first, middle))
    if not victims:
        return None
    first, victim = rng.choice(victims)
    marker = {
        "control": "abort",
        "value": None,
        "sequence": -1,
        "producer_id": first["producer_id"],
        "producer_epoch": first["producer_epoch"],
    }
    return [changed_row(row, victim, marker) for row in rows]


def lower_a_watermark(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a leader names a lower high watermark, or last stable offset, than before
    in its epoch."""
    said = [
        row
        for row in rows
        if row.get("offset") is None
        and row.get("high_watermark") is not None
        and row.get("leader_epoch") is not None
    ]
    victims = [
        (a, b, column)
        for a in said
        for b in said
        for column in ("high_watermark", "last_stable_offset")
        if (a["partition"], a["leader_epoch"]) == (b["partition"], b["leader_epoch"])
        and a["t_complete_ns"] < b["t_invoke_ns"]
        and a.get(column)
        and b.get(column) is not None
    ]
    if not victims:
        return None
    before, victim, column = rng.choice(victims)
    return [changed_row(row, victim, {column: rng.randrange(before[column])}) for row in rows]


def hang_on(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: the last stable offset stays at a record whose marker was read long ago."""
    records = _raw(rows)
    markers = [row for row in records if row["control"]]
    victims = [
        (record, marker)
        for record in records
        for marker in markers
        if not record["control"]
        and record["offset"] < marker["offset"]
        and (record["op_id"], record["partition"], record["producer_id"])
        == (marker["op_id"], marker["partition"], marker["producer_id"])
    ]
    if not victims:
        return None
    record, marker = rng.choice(victims)
    later = max(row["t_complete_ns"] or 0 for row in rows) + 1
    answer = {
        "f": F.POLL.value,
        "type": "ok",
        "op_id": NOT_OURS,
        "process": NOT_OURS,
        "session": 0,
        "record_index": 0,
        "topic": record["topic"],
        "topic_id": record["topic_id"],
        "partition": record["partition"],
        "leader_epoch": 0,
        "final": True,
        "high_watermark": marker["offset"] + 1,
        "last_stable_offset": record["offset"],
        "t_invoke_ns": later,
        "t_complete_ns": later,
    }
    return [*rows, answer]


def hang_after_the_end(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a minute after the faults are over the last stable offset stands where a
    transaction begins whose end was acknowledged."""
    ended = {
        row["txn"]
        for row in rows
        if row["f"] in (F.COMMIT.value, F.ABORT.value) and row["type"] == "ok"
    }
    return _stuck_at(rows, rng, [r for r in rows if is_acked(r) and r["txn"] in ended], 61)


def hang_beyond_the_time_out(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: in the end the last stable offset stands where a transaction begins that
    its producer's transaction.timeout.ms (a minute in the model) should have ended."""
    in_transactions = [r for r in rows if is_acked(r) and r["txn"] is not None]
    return _stuck_at(rows, rng, in_transactions, 60 + 10 + 61)


def _stuck_at(rows: list[Row], rng: Random, victims: list[Row], seconds: int) -> list[Row] | None:
    """Plant two answers of the final phase, so far apart, that name a victim's offset as last
    stable."""
    if not victims:
        return None
    victim = rng.choice(victims)
    over_ns = max(max(row["t_invoke_ns"], row["t_complete_ns"] or 0) for row in rows) + 1
    answers = []
    for number, now_ns in enumerate((over_ns, over_ns + seconds * 1_000_000_000)):
        answers.append(
            {
                "f": F.POLL.value,
                "type": "ok",
                "op_id": NOT_OURS - 1 + number,
                "process": NOT_OURS,
                "session": 0,
                "record_index": 0,
                "topic": victim["topic"],
                "topic_id": "id",
                "partition": victim["partition"],
                "leader_epoch": 0,
                "final": True,
                "high_watermark": victim["offset"] + 1,
                "last_stable_offset": victim["offset"],
                "t_invoke_ns": now_ns,
                "t_complete_ns": now_ns,
            }
        )
    return [*rows, *answers]


def _raw(rows: list[Row]) -> list[Row]:
    """Return the records that leaders showed raw, in the order of reading."""
    return [
        row
        for row in rows
        if row["f"] == F.POLL.value
        and row.get("producer_id") is not None
        and row.get("offset") is not None
        and row.get("replica") is None
    ]


def _pairs(records: list[Row]) -> list[tuple[Row, Row]]:
    """Return each record with the one before it in the same partition and read."""
    return [
        (a, b)
        for a, b in pairwise(records)
        if (a["op_id"], a["partition"]) == (b["op_id"], b["partition"])
    ]


def _pairs_of_producers(rows: list[Row]) -> list[tuple[Row, Row]]:
    """Return each record and marker with the one before it of the same producer id in the same
    read."""
    records = [row for row in _raw(rows) if row["producer_id"] >= 0]
    records.sort(key=lambda r: (r["op_id"], r["partition"], r["producer_id"]))
    return [(a, b) for a, b in _pairs(records) if a["producer_id"] == b["producer_id"]]
