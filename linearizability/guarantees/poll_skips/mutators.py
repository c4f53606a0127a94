"""Ways to break `poll_skips`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    NOT_OURS,
    another_read,
    between_others,
    data_rows,
    is_acked,
    log_starts,
    where_nothing_is_compacted,
)
from linearizability.self_test.model.world import Row
from linearizability.self_test.truth import outcome_of


@where_nothing_is_compacted
def skip_a_record(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a reader skips an acknowledged record between two others."""
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


@where_nothing_is_compacted
def ignore_a_rewind(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a reader seeks back to an acknowledged record, and receives a later one
    first."""
    starts = log_starts(rows)
    passed = [
        row
        for row in rows
        if is_acked(row)
        and outcome_of(row) in ("plain", "committed")
        and row["offset"] >= starts[row["partition"]]
    ]
    reads = data_rows(rows)
    pairs = [(send, read) for send in passed for read in reads if _is_before(send, read)]
    if not pairs:
        return None
    send, read = rng.choice(pairs)
    return _begun_at(rows, read, send["offset"])


def begin_too_early(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a reader receives a record below the offset to which it had sought."""
    reads = [row for row in data_rows(rows) if row["t_complete_ns"] is not None]
    pairs = [
        (early, late)
        for early in reads
        for late in rng.sample(reads, min(20, len(reads)))
        if _is_before(early, late)
    ]
    if not pairs:
        return None
    early, late = rng.choice(pairs)
    return _begun_at(rows, early, late["offset"])


@where_nothing_is_compacted
def look_up_too_late(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a reader looks up the time of a record, and gets the offset of a later
    one."""
    starts = log_starts(rows)
    timed = [
        row
        for row in data_rows(rows)
        if row.get("timestamp_ms") is not None and row["offset"] >= starts[row["partition"]]
    ]
    pairs = [
        (early, late)
        for early in timed
        for late in rng.sample(timed, min(20, len(timed)))
        if _is_before(early, late)
    ]
    if not pairs:
        return None
    early, late = rng.choice(pairs)
    *before, seek, _ = _begun_at(rows, late, late["offset"])
    return [*before, seek | {"asked": "timestamp", "asked_offset": early["timestamp_ms"]}]


@where_nothing_is_compacted
def look_up_nothing(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a reader looks up the time of a record that another reader was given, at
    the end of the history, and gets nothing."""
    shortened = {row["partition"] for row in rows if (row.get("log_start") or 0) > 0} | {
        row["partition"] for row in rows if row["f"] == F.DELETE_RECORDS
    }
    given = [
        row
        for row in data_rows(rows)
        if row.get("timestamp_ms") is not None
        and row["partition"] not in shortened
        and row["t_complete_ns"] is not None
    ]
    if not given:
        return None
    read = rng.choice(given)
    *before, seek, _ = _begun_at(rows, read, read["offset"])
    nothing = {"asked": "timestamp", "asked_offset": read["timestamp_ms"], "offset": None}
    return [*before, seek | nothing | {"isolation": "read_uncommitted"}]


def begin_above_the_start(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a reader requests the earliest offset, and gets one above the log start."""
    reads = [row for row in data_rows(rows) if row["offset"] > 0]
    if not reads:
        return None
    read = rng.choice(reads)
    *before, seek, given = _begun_at(rows, read, read["offset"])
    earliest = {"asked": "earliest", "asked_offset": None, "log_start": read["offset"] - 1}
    return [*before, seek | earliest, given]


def _begun_at(rows: list[Row], read: Row, start: int) -> list[Row]:
    """Return the rows with two more, the last ones: after everything else, a new reader seeks to
    `start`, and then receives the record of `read` first."""
    last_ns = max(max(row["t_invoke_ns"], row["t_complete_ns"] or 0) for row in rows)
    times = {"t_invoke_ns": last_ns + 1, "t_complete_ns": last_ns + 1, "type": "ok"}
    given = another_read(read, isolation="read_committed", member_id=None, group=None, **times)
    seek: Row = {
        "f": F.POSITION.value,
        "asked": "offset",
        "asked_offset": start,
        "offset": start,
        "op_id": NOT_OURS - 1,
        "record_index": 0,
        "process": NOT_OURS,
        "session": 0,
        "final": False,
        **times,
        **{column: read.get(column) for column in ("topic", "topic_id", "partition")},
    }
    return [*rows, seek, given]


def _is_before(one: Row, other: Row) -> bool:
    """Return whether one record has a lower offset than another of its partition and topic."""
    return (
        one["partition"] == other["partition"]
        and one["offset"] < other["offset"]
        and one.get("topic_id") == other.get("topic_id")
    )


CLAUSES: Clauses = {
    "a consumer skips a visible record within a session": by("poll-skip", skip_a_record),
    "a consumer begins after the offset that it asked for": by("poll-skip", ignore_a_rewind),
    "a consumer begins before the offset that it asked for": by("begins-early", begin_too_early),
    "a look-up of the earliest offset answers one above the log start": by(
        "begins-late", begin_above_the_start
    ),
    "a look-up by timestamp answers a later record than the first match": by(
        "wrong-look-up", look_up_too_late
    ),
    "a look-up by timestamp answers nothing although a record matches": by(
        "missed-look-up", look_up_nothing
    ),
}
