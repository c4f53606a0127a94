"""Ways to break `hanging_transactions`, each with the clause of its promise that it breaks."""

from collections.abc import Callable, Container
from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    NOT_OURS,
    PAST_ITS_TIME_NS,
    above_log_starts,
    another_read,
    commit_markers,
    data_rows,
    is_acked,
    only_committed,
    raw_records,
    sent_once,
)
from linearizability.self_test.model.world import Row


def commit_too_late(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a commit is accepted long after the transaction must have timed out."""
    committed = only_committed(rows)
    victims = [
        row for row in rows if is_acked(row) and row["txn"] in committed and row["t_complete_ns"]
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    asked_ns = victim["t_complete_ns"] + PAST_ITS_TIME_NS
    late = {"t_invoke_ns": asked_ns, "t_complete_ns": asked_ns + 1}
    return [
        row | late if row["f"] == F.COMMIT and row["txn"] == victim["txn"] else row for row in rows
    ]


def hang_on(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: after the end of the run the last stable offset is at a record whose marker
    was read during the run."""
    records = raw_records(rows)
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
    told = above_log_starts(rows, [record for record, _ in victims])
    victims = [(record, marker) for record, marker in victims if record in told]
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
    """Plant an anomaly: 61 s after the end of the run, the last stable offset is still at a record
    of a transaction whose end was acknowledged."""
    ended = {row["txn"] for row in rows if row["f"] in (F.COMMIT, F.ABORT) and row["type"] == "ok"}
    return _stuck_at(rows, rng, [r for r in rows if is_acked(r) and r["txn"] in ended], 61)


def hang_beyond_the_time_out(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: 131 s after the end of the run, the last stable offset is still at a record
    of a transaction that should have timed out (transaction.timeout.ms is a minute in the
    model)."""
    in_transactions = [r for r in rows if is_acked(r) and r["txn"] is not None]
    return _stuck_at(rows, rng, in_transactions, 60 + 10 + 61)


def hang_after_the_end_midway(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: as `hang_after_the_end`, but the leader is asked before the final phase."""
    return _midway(hang_after_the_end(rows, rng))


def hang_beyond_the_time_out_midway(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: as `hang_beyond_the_time_out`, but the leader is asked before the final
    phase, and the transaction's end was never acknowledged."""
    ended = {row["txn"] for row in rows if row["f"] in (F.COMMIT, F.ABORT) and row["type"] == "ok"}
    still_open = [
        row for row in rows if is_acked(row) and row["txn"] is not None and row["txn"] not in ended
    ]
    return _midway(_stuck_at(rows, rng, still_open, 60 + 10 + 61))


def _midway(rows: list[Row] | None) -> list[Row] | None:
    """Return the rows without the first of the two answers at their end, and with the second one
    before the final phase and with a high watermark far above the log's end, so that no marker
    waits for followers. Return None for None."""
    if rows is None:
        return None
    return [*rows[:-2], rows[-1] | {"final": False, "high_watermark": NOT_OURS}]


def name_stable_while_open(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: before a commit is requested, the leader names a last stable offset above a
    record of the transaction."""
    return _shown_while_open(rows, rng, lambda victim: _answer(victim, victim["offset"] + 1))


def read_above_an_open_one(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: before a commit is requested, a read_committed reader receives a record
    above one of the transaction."""

    def read(victim: Row) -> Row | None:
        above = [
            row
            for row in data_rows(rows)
            if row["partition"] == victim["partition"] and row["offset"] > victim["offset"]
        ]
        return another_read(rng.choice(above), isolation="read_committed") if above else None

    return _shown_while_open(rows, rng, read)


def name_stable_before_a_lost_commit(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: before a commit is requested, the leader names a last stable offset above a
    record of the transaction, and nobody learns the commit's outcome. A raw read shows its
    marker."""
    marked = commit_markers(rows).keys() & sent_once(rows).keys()
    found = _committed_record(rows, rng, marked)
    if found is None:
        return None
    victim, asked_ns = found
    unknown = {"type": "info", "t_complete_ns": None}
    changed = [
        row | unknown if row["f"] == F.COMMIT and row["txn"] == victim["txn"] else row
        for row in rows
    ]
    return [*changed, _answer(victim, victim["offset"] + 1) | _just_before(asked_ns)]


def _shown_while_open(
    rows: list[Row], rng: Random, shown: Callable[[Row], Row | None]
) -> list[Row] | None:
    """Plant the row that `shown` makes of a victim (an acknowledged record of a committed
    transaction), just before the transaction's commit is requested. Return None if there is no
    victim, or `shown` returns None."""
    found = _committed_record(rows, rng)
    if found is None:
        return None
    victim, asked_ns = found
    row = shown(victim)
    return None if row is None else [*rows, row | _just_before(asked_ns)]


def _committed_record(
    rows: list[Row], rng: Random, among: Container[int] | None = None
) -> tuple[Row, int] | None:
    """Return an acknowledged record of a transaction whose commit was acknowledged, and when that
    commit was first requested. Return None if there is no such record. among: the values to choose
    from, or None for all."""
    committed = only_committed(rows)
    victims = [
        row
        for row in rows
        if is_acked(row) and row["txn"] in committed and (among is None or row["value"] in among)
    ]
    victims = above_log_starts(rows, victims)
    if not victims:
        return None
    victim = rng.choice(victims)
    return victim, committed[victim["txn"]]


def _just_before(asked_ns: int) -> Row:
    """Return the number and times of an operation of ours that ends just before this time."""
    return {"op_id": NOT_OURS, "t_invoke_ns": asked_ns - 2, "t_complete_ns": asked_ns - 1}


def _answer(victim: Row, stable: int) -> Row:
    """Return the answer of the leader of the victim's partition with this last stable offset, and a
    high watermark just above the victim. The caller adds its times."""
    return {
        "f": F.POLL.value,
        "type": "ok",
        "op_id": NOT_OURS,
        "process": NOT_OURS,
        "session": 0,
        "record_index": 0,
        "topic": victim["topic"],
        "topic_id": "id",
        "partition": victim["partition"],
        "leader_epoch": 0,
        "final": False,
        "high_watermark": victim["offset"] + 1,
        "last_stable_offset": stable,
    }


def _stuck_at(rows: list[Row], rng: Random, victims: list[Row], seconds: int) -> list[Row] | None:
    """Plant two answers in the final phase, this many seconds apart, whose last stable offset is a
    victim's offset. Return None without a victim."""
    victims = above_log_starts(rows, victims)
    if not victims:
        return None
    victim = rng.choice(victims)
    over_ns = max(max(row["t_invoke_ns"], row["t_complete_ns"] or 0) for row in rows) + 1
    answers = []
    for number, now_ns in enumerate((over_ns, over_ns + seconds * 1_000_000_000)):
        now = {"op_id": NOT_OURS - 1 + number, "t_invoke_ns": now_ns, "t_complete_ns": now_ns}
        answers.append(_answer(victim, victim["offset"]) | now | {"final": True})
    return [*rows, *answers]


CLAUSES: Clauses = {
    "the last stable offset stays at the first offset of an ended transaction": by(
        "ended-but-open", hang_on
    ),
    "in the final phase it stays for a minute after an acknowledged end": by(
        "open-for-too-long", hang_after_the_end
    ),
    "in the final phase it stays longer than any producer's transaction.timeout.ms": by(
        "open-for-too-long", hang_beyond_the_time_out
    ),
    "before the final phase it stays for a minute after an acknowledged end, without a fault": by(
        "open-after-its-end", hang_after_the_end_midway
    ),
    "before the final phase it stays longer than any transaction.timeout.ms, without a fault": by(
        "open-after-its-time-out", hang_beyond_the_time_out_midway
    ),
    "an offset is stable above a record of an open transaction": by(
        "stable-while-open", name_stable_while_open, read_above_an_open_one
    ),
    "an offset is stable above a record of a transaction before its commit, which is then lost": by(
        "stable-while-open", name_stable_before_a_lost_commit
    ),
    "a commit is accepted although the transaction had timed out": by(
        "committed-too-late", commit_too_late
    ),
}
