"""Ways to break `ends_honoured`, each with the clause of its promise that it breaks."""

from collections.abc import Callable, Iterator
from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    NOT_OURS,
    changed_row,
    is_acked,
    is_compacted,
    log_end_of,
    log_starts,
    sent_once,
)
from linearizability.self_test.model.world import Row
from linearizability.self_test.truth import is_raw

Place = tuple[int, int]
"""(transaction, partition)."""


def abort_a_committed(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a commit was acknowledged, but a partition of the transaction has an ABORT
    marker."""
    committed = _answered(rows, F.COMMIT)
    return _with_other_marker(rows, rng, lambda txn: txn in committed, "abort")


def commit_an_aborted(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: an abort was acknowledged, but a partition of the transaction has a COMMIT
    marker."""
    aborted = _answered(rows, F.ABORT) - _asked(rows, F.COMMIT)
    return _with_other_marker(rows, rng, lambda txn: txn in aborted, "commit")


def commit_unasked(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: no commit was requested, but a partition of the transaction has a COMMIT
    marker."""
    asked = _asked(rows, F.COMMIT) | _answered(rows, F.ABORT)
    return _with_other_marker(rows, rng, lambda txn: txn not in asked, "commit")


def leave_without_a_marker(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: no raw read shows a marker after a record, though readers had read past it
    before, or though a record of the producer's next transaction follows it. Return None for a
    compacted topic."""
    if is_compacted(rows):
        return None
    whole = {
        (row["op_id"], row["partition"]): row["t_invoke_ns"]
        for row in rows
        if row["f"] == F.READ_ALL and row["type"] == "ok" and row.get("client") == "raw"
    }
    victims = []
    for send, read, markers in _marked(rows):
        began_ns = whole.get((read["op_id"], read["partition"]))
        later = [
            row
            for row in rows
            if (row["op_id"], row.get("partition")) == (read["op_id"], read["partition"])
            and row.get("producer_id") == read["producer_id"]
            and row.get("replica") is None
            and row["offset"] > read["offset"]
            and row not in markers
        ]
        # A marker there, of a transaction that wrote nothing here, would pass for the missing one.
        behind = [row["_txn"] for row in later[:1] if not row.get("control")]
        is_next_another = bool(behind) and behind[0] not in (None, send["txn"])
        is_last = not any(row.get("control") for row in later)
        if is_next_another or (
            is_last and began_ns is not None and _was_beyond(rows, send, began_ns)
        ):
            victims.append(markers)
    if not victims:
        return None
    gone = rng.choice(victims)
    return [row for row in rows if row not in gone]


def join_after_the_end(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a record is sent and accepted, after everything else, in a transaction
    whose end was acknowledged."""
    ended = _answered(rows, F.COMMIT) | _answered(rows, F.ABORT)
    victims = [row for row in rows if is_acked(row) and row["txn"] in ended]
    if not victims:
        return None
    victim = rng.choice(victims)
    return [*rows, _sent_at_last(rows, victim) | {"txn": victim["txn"]}]


def arrive_after_the_end(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a send of unknown outcome is appended after the transaction's end was
    acknowledged and later records were written."""
    ended = _answered(rows, F.COMMIT) | _answered(rows, F.ABORT)
    once = sent_once(rows)
    seen = {row.get("value") for row in rows if row["f"] == F.POLL}
    victims = [
        row
        for row in once.values()
        if row["type"] == "info" and row["txn"] in ended and row["value"] not in seen
    ]
    acked = [row for row in once.values() if is_acked(row) and row["txn"] is None]
    if not victims or not acked:
        return None
    victim = rng.choice(victims)
    other = _sent_at_last(rows, rng.choice(acked) | {"partition": victim["partition"]})
    given = other | {
        "f": F.POLL.value,
        "op_id": NOT_OURS - 1,
        "process": NOT_OURS,
        "value": victim["value"],
        "offset": other["offset"] + 1,
        "isolation": "read_uncommitted",
        "client": "confluent",
    }
    return [*rows, other, given]


def commit_over_a_failed_send(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a client library reported that a send had failed, and committed its
    transaction nevertheless."""
    committed = _answered(rows, F.COMMIT)
    victims = [row for row in rows if is_acked(row) and row["txn"] in committed]
    if not victims:
        return None
    failed = {
        "op_id": NOT_OURS,
        "value": NOT_OURS,
        "offset": None,
        "type": rng.choice(["fail", "info"]),
        "client": rng.choice(["confluent", "java", "reference"]),
    }
    return [*rows, rng.choice(victims) | failed]


def forget_the_offsets(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: in the end a group has another position than its last transaction
    committed, or none."""
    return _told_otherwise(rows, rng, _answered(rows, F.COMMIT))


def tear_the_offsets(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a transaction of unknown end committed its records, but not its offsets.

    No other transaction of unknown end may have sent offsets of that group and partition, since it
    would then be unknown whose are missing.
    """
    unknown = _asked(rows, F.COMMIT) - _answered(rows, F.COMMIT)
    by_marker = {send["txn"] for send, _, _ in _marked(rows) if send["_end"] == "commit"}
    ended = _answered(rows, F.COMMIT) | _answered(rows, F.ABORT)
    sent = [row for row in rows if row["f"] == F.SEND_OFFSETS and row["type"] != "fail"]
    alone = {
        row["txn"]
        for row in sent
        if all(other["txn"] in ended | {row["txn"]} for other in sent if _of_one_group(row, other))
    }
    return _told_otherwise(rows, rng, unknown & by_marker & alone)


def show_offsets_late(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a transaction of unknown end has its offset in force in the end, but an
    answer just before, to a request after all ends, did not show it."""
    unknown = _asked(rows, F.COMMIT) - _answered(rows, F.COMMIT)
    sent = [row for row in rows if row["f"] == F.SEND_OFFSETS and row["type"] != "fail"]
    of_txns = {row["txn"] for row in sent}
    untold = {
        (row["group"], row["partition"])
        for row in rows
        if row["f"] == F.POLL
        and row.get("group")
        and row.get("partition") is not None
        and row["txn"] not in of_txns
    }
    victims = []
    for answer in _final_answers(rows):
        here = [row for row in sent if _of_one_group(row, answer)]
        own = [row for row in here if row["offset"] == answer["offset"]]
        is_alone = len(own) == 1 and own[0]["txn"] == answer["_txn"] and own[0]["type"] == "ok"
        is_told = (answer["group"], answer["partition"]) not in untold
        if is_alone and is_told and answer["_txn"] in unknown and here[-1] is own[0]:
            victims.append(answer)
    if not victims:
        return None
    victim = rng.choice(victims)
    earlier = {"t_invoke_ns": victim["t_invoke_ns"] - 1, "t_complete_ns": victim["t_invoke_ns"] - 1}
    return [*rows, victim | earlier | {"op_id": NOT_OURS, "offset": NOT_OURS}]


def keep_aborted_offsets(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: in the end a group has the position that an aborted transaction sent."""
    aborted = _answered(rows, F.ABORT) - _asked(rows, F.COMMIT)
    sent = [row for row in rows if row["f"] == F.SEND_OFFSETS and row["type"] != "fail"]
    victims = []
    for answer in _final_answers(rows):
        here = [row for row in sent if _of_one_group(row, answer)]
        for row in here[-1:]:
            alone = all(row["offset"] != other["offset"] for other in here[:-1])
            if row["txn"] in aborted and alone and row["t_invoke_ns"] < answer["t_invoke_ns"]:
                victims.append((answer, row["offset"]))
    if not victims:
        return None
    victim, offset = rng.choice(victims)
    return [changed_row(row, victim, {"offset": offset}) for row in rows]


def _told_otherwise(rows: list[Row], rng: Random, txns: set[int]) -> list[Row] | None:
    sent = {
        (row["txn"], row["partition"])
        for row in rows
        if row["f"] == F.SEND_OFFSETS and row["type"] == "ok"
    }
    victims = [
        row
        for row in _final_answers(rows)
        if row["_txn"] in txns and (row["_txn"], row["partition"]) in sent
    ]
    if not victims:
        return None
    other = rng.choice([None, NOT_OURS])
    victim = rng.choice(victims)
    return [changed_row(row, victim, {"offset": other}) for row in rows]


def _final_answers(rows: list[Row]) -> list[Row]:
    return [
        row
        for row in rows
        if row["f"] == F.FETCH_OFFSETS and row["type"] == "ok" and row["final"] and "_txn" in row
    ]


def _of_one_group(row: Row, other: Row) -> bool:
    return bool((row["group"], row["partition"]) == (other["group"], other["partition"]))


def _answered(rows: list[Row], end: F) -> set[int]:
    """Return the transactions for which an end of this kind (commit or abort) was acknowledged."""
    return {row["txn"] for row in rows if row["f"] == end.value and row["type"] == "ok"}


def _asked(rows: list[Row], end: F) -> set[int]:
    return {row["txn"] for row in rows if row["f"] == end.value}


def _with_other_marker(
    rows: list[Row], rng: Random, counts: Callable[[int], bool], end: str
) -> list[Row] | None:
    victims = [markers for send, _, markers in _marked(rows) if counts(send["txn"])]
    if not victims:
        return None
    changed = rng.choice(victims)
    return [row | {"control": end} if row in changed else row for row in rows]


def _marked(rows: list[Row]) -> Iterator[tuple[Row, Row, list[Row]]]:
    """Yield the send of an acknowledged record of a transaction, the row of the record in a raw
    read that also shows a marker of the transaction in its partition, and the rows of these markers
    in all raw reads; once for each such read."""
    starts = log_starts(rows)
    once = sent_once(rows)
    shown: dict[Place, list[Row]] = {}
    for row in rows:
        if row["f"] == F.POLL and row.get("control") and is_raw(row):
            shown.setdefault((row["_txn"], row["partition"]), []).append(row)
    for row in rows:
        if row["f"] != F.POLL or not is_raw(row) or row.get("replica") is not None:
            continue
        send = once.get(row["value"] or 0)
        if send is None or send["txn"] is None or not is_acked(send):
            continue
        markers = shown.get((send["txn"], row["partition"]), [])
        is_known = send["offset"] == row["offset"] >= starts[row["partition"]]
        if is_known and any(
            marker["op_id"] == row["op_id"] and marker.get("replica") is None for marker in markers
        ):
            yield send, row, markers


def _was_beyond(rows: list[Row], send: Row, began_ns: int) -> bool:
    """Return whether an operation that ended before began_ns showed a last stable offset above the
    record, or gave a later record to a read_committed reader."""
    for row in rows:
        done_ns = row.get("t_complete_ns")
        if row.get("partition") != send["partition"] or done_ns is None or done_ns >= began_ns:
            continue
        stable = row.get("last_stable_offset") or 0
        if row["f"] == F.POLL and row.get("isolation") == "read_committed":
            stable = max(stable, row.get("offset") or 0)
        if stable > send["offset"]:
            return True
    return False


def _sent_at_last(rows: list[Row], like: Row) -> Row:
    """Return a changed copy of the row `like`: the send of a new record at the end of its
    partition, sent and acknowledged after everything else."""
    later = max(max(row["t_invoke_ns"], row["t_complete_ns"] or 0) for row in rows) + 1
    return like | {
        "op_id": NOT_OURS,
        "value": NOT_OURS,
        "offset": log_end_of(rows, like["partition"]),
        "t_invoke_ns": later,
        "t_complete_ns": later + 1,
        "record_index": 0,
        "type": "ok",
    }


CLAUSES: Clauses = {
    "a commit was acknowledged, but a partition has an ABORT marker": by(
        "committed-but-not", abort_a_committed
    ),
    "a commit was acknowledged, but the offsets are not in force": by(
        "committed-but-not", forget_the_offsets
    ),
    "only an abort was asked for and acknowledged, but there is a COMMIT marker": by(
        "aborted-but-committed", commit_an_aborted
    ),
    "only an abort was asked for and acknowledged, but the offsets are in force": by(
        "aborted-but-committed", keep_aborted_offsets
    ),
    "the producer never asked to commit, but there is a COMMIT marker": by(
        "committed-unasked", commit_unasked
    ),
    "the last stable offset passed a record without a marker": by(
        "no-marker", leave_without_a_marker
    ),
    "a record joins a transaction after its end was acknowledged": by(
        "joined-after-its-end", join_after_the_end, arrive_after_the_end
    ),
    "a client library committed although it had failed to send a record": by(
        "committed-over-failed-send", commit_over_a_failed_send
    ),
    "the end is unknown, and only one of records and offsets is committed": by(
        "torn-offsets", tear_the_offsets
    ),
    "the end is unknown, and the offsets are in force only after an answer without them": by(
        "torn-offsets", show_offsets_late
    ),
}
