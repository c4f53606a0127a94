"""Ways to break a history by what is done too late, too early or for no reason (see `mutators`)."""

from __future__ import annotations

import json
from random import Random

from linearizability.history import F
from linearizability.self_test.lookup import (
    NOT_OURS,
    another_read,
    data_rows,
    is_acked,
    is_compacted,
    log_end_of,
    log_starts,
    sent_once,
)
from linearizability.self_test.rarer_mutators import leaders_answer, over_ns
from linearizability.self_test.truth import outcome_of
from linearizability.self_test.world import Row

SECOND_NS = 1_000_000_000
PAST_ITS_TIME_NS = 80 * SECOND_NS
"""Later than the model's transaction.timeout.ms (a minute), the sweep and some patience."""
LONG_KEPT_NS = 120 * SECOND_NS
"""Longer than any patience with a broker that should have looked for old segments."""


def commit_too_late(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a commit is accepted long after the transaction's time was over."""
    committed = _only_committed(rows)
    victims = [
        row for row in rows if is_acked(row) and row["txn"] in committed and row["t_complete_ns"]
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    asked_ns = victim["t_complete_ns"] + PAST_ITS_TIME_NS
    late = {"t_invoke_ns": asked_ns, "t_complete_ns": asked_ns + 1}
    return [
        row | late if row["f"] == F.COMMIT.value and row["txn"] == victim["txn"] else row
        for row in rows
    ]


def tell_while_undecided(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a group is told an offset that a transaction has sent and not decided."""
    asked = _only_committed(rows)
    victims = [
        row
        for row in rows
        if row["f"] == F.SEND_OFFSETS.value
        and row["type"] == "ok"
        and asked.get(row["txn"], 0) > row["t_complete_ns"] + 2
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    told = {column: victim[column] for column in ("topic", "partition", "group", "offset")}
    times = {"t_invoke_ns": victim["t_complete_ns"] + 1, "t_complete_ns": asked[victim["txn"]] - 1}
    return [*rows, _of_nobody(F.FETCH_OFFSETS) | told | times]


def stay_undecided_for_ever(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a group is told that an offset is not stable, minutes after the ends of all
    transactions that sent one there had been acknowledged."""
    ends = [row for row in rows if row["f"] in (F.COMMIT.value, F.ABORT.value)]
    ended = {row["txn"] for row in ends if row["type"] == "ok"}
    sent = [row for row in rows if row["f"] == F.SEND_OFFSETS.value and row["type"] != "fail"]
    undecided = {_place(row) for row in sent if row["txn"] not in ended}
    victims = [row for row in sent if row["type"] == "ok" and _place(row) not in undecided]
    if not victims:
        return None
    victim = rng.choice(victims)
    told = {column: victim[column] for column in ("topic", "partition", "group")}
    asked_ns = over_ns(rows) + PAST_ITS_TIME_NS
    late = {"t_invoke_ns": asked_ns, "t_complete_ns": asked_ns + 1}
    refused = {"type": "fail", "error": "UNSTABLE_OFFSET_COMMIT", "final": True}
    return [*rows, _of_nobody(F.FETCH_OFFSETS) | told | refused | late]


def _place(row: Row) -> tuple[str, int, str]:
    return row["topic"], row["partition"], row["group"]


def _only_committed(rows: list[Row]) -> dict[int, int]:
    """Return transaction -> when its commit was first asked for, of those that were told to be
    committed, and nothing else."""
    commits = [row for row in rows if row["f"] == F.COMMIT.value]
    aborted = {row["txn"] for row in rows if row["f"] == F.ABORT.value}
    told = {row["txn"] for row in commits if row["type"] == "ok"} - aborted
    return {
        txn: min(row["t_invoke_ns"] for row in commits if row["txn"] == txn) for txn in sorted(told)
    }


def refuse_in_order(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a raw producer is told that a batch which follows is out of order."""
    sends = [row for row in rows if is_acked(row) and row["idempotent"] and row["txn"] is None]
    if not sends:
        return None
    refused = {"type": "fail", "offset": None, "error": "OUT_OF_ORDER_SEQUENCE_NUMBER"}
    own = {"op_id": NOT_OURS, "record_index": 0, "value": NOT_OURS, "client": "raw"}
    return [*rows, rng.choice(sends) | own | refused]


def keep_too_long(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: two minutes after everything a log still has a record that was to be
    deleted after milliseconds."""
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
    """Plant an anomaly: a first leader's log is deleted until it is shorter than
    retention.bytes."""
    settings = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "1000"}
    asked = {row["partition"] for row in rows if row["f"] == F.DELETE_RECORDS.value}
    places = [row for row in rows if is_acked(row) and row["partition"] not in asked]
    if not places or not _is_told(rows):
        return None
    place = rng.choice(places) | {"leader_epoch": 0}
    start = log_starts(rows)[place["partition"]] + 1
    short = leaders_answer(rows, place, start) | {"size_bytes": 100}
    return [*_with_settings(rows, settings), short]


def _is_told(rows: list[Row]) -> bool:
    """Return whether the history tells the topic's settings, and these compact nothing."""
    return any(row["f"] == F.TOPIC.value for row in rows) and not is_compacted(rows)


def _with_settings(rows: list[Row], settings: dict[str, str]) -> list[Row]:
    told = {"settings": json.dumps(settings)}
    return [row | told if row["f"] == F.TOPIC.value else row for row in rows]


def append_below_what_was_read(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a record is sent only after a poll had received a later one, which nobody
    had been told to be there."""
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


def _of_nobody(f: F) -> Row:
    own = {"op_id": NOT_OURS, "process": NOT_OURS, "session": 0, "record_index": 0, "final": False}
    return own | {"f": f.value, "type": "ok"}
