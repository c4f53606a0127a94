"""Ways to break `retention`, each with the clause of its promise that it breaks."""

import json
from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    KNOWN,
    SECOND_NS,
    TEN_MINUTES_MS,
    changed_row,
    is_acked,
    is_compacted,
    leaders_answer,
    log_starts,
)
from linearizability.self_test.model.world import Row
from linearizability.self_test.truth import outcome_of


def delete_too_much(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a log starts after an acknowledged record, although no DeleteRecords up to
    it was requested. Return None if the topic's settings are unknown, or if by them it deletes by
    size or after 5 ms."""
    known = [row for row in rows if row["f"] == F.TOPIC]
    if not known or any(word in known[0]["settings"] for word in ('"5"', "bytes")):
        return None
    asked = [row for row in rows if row["f"] == F.DELETE_RECORDS and row["type"] != "fail"]
    victims = [
        row
        for row in rows
        if is_acked(row)
        and outcome_of(row) in KNOWN
        and not any(
            other["partition"] == row["partition"] and other["offset"] > row["offset"]
            for other in asked
        )
    ]
    told = [
        (send, row)
        for send in victims
        for row in rows
        if row.get("log_start") is not None
        and row["partition"] == send["partition"]
        and row["f"] != F.DELETE_RECORDS
        and row["t_complete_ns"] is not None
    ]
    if not told:
        return None
    send, answer = rng.choice(told)
    return [changed_row(row, answer, {"log_start": send["offset"] + 1}) for row in rows]


LONG_KEPT_NS = 120 * SECOND_NS
"""A time in nanoseconds after which every broker must have looked for old segments."""


def keep_too_long(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a log still has a record two minutes after everything else, although its
    topic, as its settings now say, keeps records for milliseconds. Return None for a compacted
    topic, or one without known settings."""
    settings = {
        "cleanup.policy": "delete",
        "retention.ms": "5",
        "segment.ms": "5",
        "log.retention.check.interval.ms": "5",
        "log.initial.task.delay.ms": "0",
    }
    starts = log_starts(rows)
    victims = [
        row
        for row in rows
        if is_acked(row)
        and outcome_of(row) in ("plain", "committed")
        and row["offset"] >= starts[row["partition"]]
        and row["t_complete_ns"]
    ]
    if not victims or not _is_told(rows):
        return None
    place = rng.choice(victims) | {"leader_epoch": 0}
    late = leaders_answer(rows, place, starts[place["partition"]])
    times = {name: late[name] + LONG_KEPT_NS for name in ("t_invoke_ns", "t_complete_ns")}
    return [*_with_settings(rows, settings), late | times]


def delete_below_size(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a leader that was never replaced deletes its log until it is shorter than
    retention.bytes, the only limit that the topic's settings now name. Return None for a compacted
    topic, or one without known settings."""
    settings = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "1000"}
    asked = {row["partition"] for row in rows if row["f"] == F.DELETE_RECORDS}
    places = [row for row in rows if is_acked(row) and row["partition"] not in asked]
    if not places or not _is_told(rows):
        return None
    place = rng.choice(places) | {"leader_epoch": 0}
    start = log_starts(rows)[place["partition"]] + 1
    short = leaders_answer(rows, place, start) | {"size_bytes": 100}
    return [*_with_settings(rows, settings), short]


def _is_told(rows: list[Row]) -> bool:
    """Return whether the history has the topic's settings and the topic is not compacted."""
    return any(row["f"] == F.TOPIC for row in rows) and not is_compacted(rows)


def _with_settings(rows: list[Row], settings: dict[str, str]) -> list[Row]:
    told = {"settings": json.dumps(settings)}
    return [row | told if row["f"] == F.TOPIC else row for row in rows]


def delete_too_early(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a log starts after a record that is younger than retention.ms (ten
    minutes), which the topic's settings now name. Return None for a compacted topic."""
    if is_compacted(rows):
        return None
    told = {"settings": json.dumps({"retention.ms": str(TEN_MINUTES_MS)})}
    broken = delete_too_much(rows, rng)
    return broken and [row | told if row["f"] == F.TOPIC else row for row in broken]


def a_deletion(rows: list[Row], rng: Random) -> Row | None:
    """Return the row of an accepted DeleteRecords that moved the log start, chosen at random, or
    None if there is none."""
    moved = [
        row
        for row in rows
        if row["f"] == F.DELETE_RECORDS and row["type"] == "ok" and row.get("log_start")
    ]
    return rng.choice(moved) if moved else None


def take_a_deletion_back(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: in the same epoch, the leader reports a lower log start than it returned
    for DeleteRecords."""
    if (victim := a_deletion(rows, rng)) is None:
        return None
    return [*rows, leaders_answer(rows, victim, victim["log_start"] - 1)]


def answer_below_the_start(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: after a DeleteRecords, the leader answers a fetch below its log start."""
    if (victim := a_deletion(rows, rng)) is None:
        return None
    below = {"asked": "answered", "asked_offset": victim["log_start"] - 1}
    return [changed_row(row, victim, below) for row in rows]


CLAUSES: Clauses = {
    "a fetch below the log start is answered": by(
        "answered-below-log-start", answer_below_the_start
    ),
    "the log start passes a record that nothing may delete": by(
        "deleted-though-kept deleted-hours-too-early deleted-too-early",
        delete_too_much,
        delete_too_early,
    ),
    "a leader reports a lower log start than it answered DeleteRecords with": by(
        "log-start-goes-back", take_a_deletion_back
    ),
    "a log keeps a record longer than its settings and the brokers' check intervals allow": by(
        "kept-too-long", keep_too_long
    ),
    "a log becomes shorter than retention.bytes": by("deleted-below-size", delete_below_size),
}
