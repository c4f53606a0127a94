"""Ways to break a history that only some histories have room for (see `mutators`)."""

from __future__ import annotations

import json
from random import Random

from linearizability.history import F
from linearizability.self_test.kept_mutators import delete_too_much, on_both, without_a_last_record
from linearizability.self_test.lookup import (
    NOT_OURS,
    another_read,
    changed_row,
    data_rows,
    if_still_durable,
    is_acked,
    is_compacted,
    log_starts,
    sent_once,
)
from linearizability.self_test.truth import outcome_of
from linearizability.self_test.world import Row

TEN_MINUTES_MS = 600_000
"""Longer than any history of the model."""


def move_a_record(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a complete read of a compacted topic shows a record at another offset than
    it was acknowledged at."""
    if not is_compacted(rows):
        return None
    once = sent_once(rows)
    victims = [
        row
        for row in data_rows(rows)
        if (send := once.get(row["value"])) is not None
        and is_acked(send)
        and send["idempotent"]
        and _complete_read(rows, row) is not None
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    return [changed_row(row, victim, {"offset": victim["offset"] + 1}) for row in rows]


def remove_a_tombstone_hours_early(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a complete read lacks a key's last tombstone, which delete.retention.ms (a
    day) keeps."""
    return _without_a_tombstone(rows, rng, {"cleanup.policy": "compact"})


def remove_a_tombstone_early(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a complete read lacks a key's last tombstone, which delete.retention.ms
    (ten minutes) keeps."""
    kept = {"cleanup.policy": "compact", "delete.retention.ms": str(TEN_MINUTES_MS)}
    return _without_a_tombstone(rows, rng, kept)


def _without_a_tombstone(
    rows: list[Row], rng: Random, settings: dict[str, str]
) -> list[Row] | None:
    if not any(row["f"] == F.TOPIC.value for row in rows):
        return None
    told = {"settings": json.dumps(settings)}
    broken = without_a_last_record(rows, rng, tombstones=True)
    return broken and [row | told if row["f"] == F.TOPIC.value else row for row in broken]


def _complete_read(rows: list[Row], record: Row) -> Row | None:
    """Return the raw reading of the leader's whole log that shows the record."""
    place = (record["op_id"], record["partition"])
    wholes = (row for row in rows if _is_whole(row))
    return next((row for row in wholes if (row["op_id"], row["partition"]) == place), None)


def _is_whole(row: Row) -> bool:
    """Return whether the row ends a raw reading of a leader's whole log."""
    return (
        row["f"] == F.READ_ALL.value
        and row["type"] == "ok"
        and row.get("client") == "raw"
        and row.get("replica") is None
        and row.get("isolation") == "read_uncommitted"
    )


def keep_on_a_follower(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a follower has a record below the high watermark that its leader lacks."""
    victims = [] if is_compacted(rows) else on_both(rows)
    if not victims:
        return None
    victim = rng.choice(victims)
    return [
        row
        for row in rows
        if not (
            row["f"] == F.POLL.value
            and row.get("replica") is None
            and all(row.get(c) == victim[c] for c in ("op_id", "partition", "offset"))
        )
    ]


def delete_too_early(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a log starts after a record that is younger than retention.ms (ten
    minutes)."""
    if is_compacted(rows):
        return None
    told = {"settings": json.dumps({"retention.ms": str(TEN_MINUTES_MS)})}
    broken = delete_too_much(rows, rng)
    return broken and [row | told if row["f"] == F.TOPIC.value else row for row in broken]


def take_a_deletion_back(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: the leader reports a lower log start than it answered DeleteRecords with,
    in the same epoch."""
    victims = [
        row
        for row in rows
        if row["f"] == F.DELETE_RECORDS.value and row["type"] == "ok" and row.get("log_start")
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    return [*rows, leaders_answer(rows, victim, victim["log_start"] - 1)]


def lower_the_log_start(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: the leader reports a lower log start than before, in the same epoch."""
    acked = [row for row in rows if is_acked(row)]
    if not acked:
        return None
    place = rng.choice(acked) | {"leader_epoch": 0}
    starts = log_starts(rows)[place["partition"]]
    higher = leaders_answer(rows, place, starts + 1)
    return [*rows, higher, leaders_answer(rows, place, starts, number=1)]


def leaders_answer(rows: list[Row], place: Row, log_start: int, number: int = 0) -> Row:
    """Return what the leader of the place's epoch answers when all else is over."""
    at_ns = over_ns(rows) + 1 + 2 * number
    return {
        "f": F.POLL.value,
        "type": "ok",
        "op_id": NOT_OURS - 1 + number,
        "process": NOT_OURS,
        "session": 0,
        "record_index": 0,
        "topic": place["topic"],
        "topic_id": place["topic_id"],
        "partition": place["partition"],
        "leader_epoch": place["leader_epoch"],
        "final": True,
        "log_start": log_start,
        "high_watermark": NOT_OURS,
        "t_invoke_ns": at_ns,
        "t_complete_ns": at_ns,
    }


def over_ns(rows: list[Row]) -> int:
    """Return when all operations were over."""
    times: list[int] = [row["t_complete_ns"] or row["t_invoke_ns"] for row in rows]
    return max(times)


def read_in_a_circle_of_time(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a transaction is given a record of another one that asks for its commit
    when the reader's own was acknowledged."""
    once = sent_once(rows)
    sends = [row for row in once.values() if is_acked(row) and row["txn"] is not None]
    asked = {row["txn"]: row["t_invoke_ns"] for row in rows if row["f"] == F.COMMIT.value}
    done = {
        row["txn"]: row["t_complete_ns"]
        for row in rows
        if row["f"] == F.COMMIT.value and row["type"] == "ok"
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


def cut_the_tail(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a complete read ends before a record that somebody was given earlier."""
    if is_compacted(rows):
        return None
    victims = [
        (row, whole)
        for whole in rows
        if _is_whole(whole)
        for row in data_rows(rows)
        if row["partition"] == whole["partition"]
        and row["t_complete_ns"] is not None
        and row["t_complete_ns"] < whole["t_invoke_ns"]
        and whole["log_start"] <= row["offset"] < whole["high_watermark"]
        and row["offset"] >= log_starts(rows)[row["partition"]]
    ]
    if not victims:
        return None
    victim, whole = rng.choice(victims)
    return _cut(rows, whole, victim["offset"])


def cut_what_was_acknowledged(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a complete read of the final phase ends before a record that had been
    acknowledged when it began."""
    if is_compacted(rows):
        return None
    starts = log_starts(rows)
    victims = [
        (row, whole)
        for whole in rows
        if _is_whole(whole) and whole["final"]
        for row in rows
        if is_acked(row)
        and row["partition"] == whole["partition"]
        and row["t_complete_ns"] < whole["t_invoke_ns"]
        and whole["log_start"] <= row["offset"] < whole["high_watermark"]
        and row["offset"] >= starts[row["partition"]]
    ]
    rng.shuffle(victims)
    for victim, whole in victims:
        broken = _cut(rows, whole, victim["offset"])
        seen = any(row["value"] == victim["value"] for row in data_rows(broken))
        known = outcome_of(victim) in ("plain", "committed") and if_still_durable(broken, victim)
        if seen or known:
            return broken
    return None


def _cut(rows: list[Row], whole: Row, end: int) -> list[Row]:
    """Return the rows; this read of a leader's log ends at that offset."""
    kept = [
        row
        for row in rows
        if not (
            row["f"] == F.POLL.value
            and row.get("replica") is None
            and (row["op_id"], row.get("partition")) == (whole["op_id"], whole["partition"])
            and row["offset"] is not None
            and row["offset"] >= end
        )
    ]
    return [changed_row(row, whole, {"high_watermark": end}) for row in kept]


def acknowledge_twice(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: two records are acknowledged at one offset."""
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


def store_what_was_refused(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a record is read whose send certainly failed."""
    seen = {row["value"] for row in data_rows(rows)}
    victims = [row for value, row in sent_once(rows).items() if value in seen]
    if not victims:
        return None
    failed = {"type": "fail", "offset": None}
    victim = rng.choice(victims)
    return [changed_row(row, victim, failed) for row in rows]
