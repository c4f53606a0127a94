"""Ways to break `fencing`, each with the clause of its promise that it breaks."""

from collections import Counter
from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    NOT_OURS,
    changed_row,
    is_acked,
    neighbours_of_producers,
    sent_once,
)
from linearizability.self_test.model.world import Row
from linearizability.self_test.truth import is_raw

MINUTE_NS = 60 * 1_000_000_000
Epoch = tuple[int, int]
"""(producer id, epoch)."""


def write_elsewhere_though_fenced(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a record is sent in an older epoch after another partition acknowledged one
    of a newer epoch of the same producer id."""
    sends = _transactional(rows)
    epochs = {send["value"]: epoch for send, epoch in sends}
    pairs = [
        (newer, older)
        for newer, (producer, _) in sends
        for older, (other, _) in sends
        if producer == other
        and newer["partition"] != older["partition"]
        and is_acked(newer)
        and newer["t_complete_ns"] < older["t_invoke_ns"]
    ]
    if not pairs:
        return None
    newer, older = rng.choice(pairs)
    raised = {"producer_epoch": epochs[older["value"]][1] + 1}
    return [
        row | raised if is_raw(row) and row.get("value") == newer["value"] else row for row in rows
    ]


def write_after_a_successor(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a record is sent after InitProducerId has returned a newer epoch."""
    return _with_successor(rows, rng, _transactional(rows))


def arrive_though_fenced(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a send of unknown outcome is appended after InitProducerId has returned a
    newer epoch, since it follows a record that was sent only then."""
    places = {row["value"]: row["offset"] for row in rows if is_raw(row) and row.get("value")}
    acked = [row for row in sent_once(rows).values() if is_acked(row)]
    pairs = [
        (epoch, other)
        for send, epoch in _transactional(rows)
        for other in acked
        if send["type"] == "info"
        and other["partition"] == send["partition"]
        and other["offset"] < places[send["value"]]
        and send["t_invoke_ns"] < other["t_invoke_ns"]
    ]
    if not pairs:
        return None
    (producer_id, epoch), other = rng.choice(pairs)
    return [*rows, _answered(producer_id, epoch + 1, other["t_invoke_ns"] - 1)]


def commit_offsets_though_fenced(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: an offset is sent in an older epoch than InitProducerId has returned just
    before."""
    victims = [
        (row, (row["producer_id"], row["producer_epoch"]))
        for row in rows
        if row["f"] == F.SEND_OFFSETS and row["type"] == "ok"
    ]
    return _with_successor(rows, rng, victims)


def end_though_fenced(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a transaction ends after InitProducerId has returned a newer epoch than its
    records have."""
    epochs = {send["txn"]: epoch for send, epoch in _transactional(rows)}
    victims = [
        (row, epochs[row["txn"]])
        for row in rows
        if row["f"] in (F.COMMIT, F.ABORT) and row["type"] == "ok" and row["txn"] in epochs
    ]
    return _with_successor(rows, rng, victims)


def go_on_after_a_successor(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: just before a record or the end of a transaction was requested,
    InitProducerId returned to another producer of its transactional id. No row tells the ids and
    epochs of producers any more."""
    begins = {row["txn"]: row for row in rows if row["f"] == F.BEGIN}
    filled = {row["txn"] for row in rows if is_acked(row)}
    ends = (F.COMMIT, F.ABORT)
    unsure = {row["txn"] for row in rows if row["f"] in ends and row["type"] != "ok"}
    victims = [
        row
        for row in rows
        if row.get("txn") in begins
        and (is_acked(row) or (row["f"] in ends and row["txn"] in filled - unsure))
        and row["t_invoke_ns"] - 1 > begins[row["txn"]]["t_complete_ns"]
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    came = _answered(NOT_OURS, 0, victim["t_invoke_ns"] - 1)
    of_id = {"transactional_id": begins[victim["txn"]]["transactional_id"]}
    untold = {"producer_id": None, "producer_epoch": None}
    return [
        row | untold if row["f"] in (F.INIT_PRODUCER, F.SEND_OFFSETS) else row
        for row in [*(row for row in rows if not is_raw(row)), came | of_id]
    ]


def give_an_epoch_again(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: InitProducerId returns the same epoch to two clients."""
    given = [row for row in rows if row["f"] == F.INIT_PRODUCER]
    if not given:
        return None
    victim = rng.choice(given)
    later_ns = max(row["t_complete_ns"] or row["t_invoke_ns"] for row in rows) + 1
    again = {
        "op_id": NOT_OURS,
        "process": NOT_OURS,
        "t_invoke_ns": later_ns,
        "t_complete_ns": later_ns,
    }
    return [*rows, victim | again]


def forget_a_transactional_id(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: right after an InitProducerId, another one returns a new producer id for
    the same transactional id."""
    given = [
        row
        for row in rows
        if (row["f"], row["type"]) == (F.INIT_PRODUCER.value, "ok") and row["t_complete_ns"]
    ]
    if not given:
        return None
    victim = rng.choice(given)
    of_id = {"transactional_id": victim["transactional_id"]}
    return [*rows, _answered(NOT_OURS, 0, victim["t_complete_ns"] + 1) | of_id]


def rejoin_though_fenced(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: after the end of the run InitProducerId accepts an epoch after it has
    returned a newer one."""
    epochs: dict[int, int] = {}
    for row in rows:
        if row.get("producer_id") is not None and row.get("producer_epoch") is not None:
            producer_id = row["producer_id"]
            epochs[producer_id] = max(epochs.get(producer_id, 0), row["producer_epoch"])
    given = sorted(
        {row["producer_id"] for row in rows if row["f"] == F.INIT_PRODUCER} & epochs.keys()
    )
    if not given:
        return None
    producer_id = rng.choice(given)
    newest = epochs[producer_id]
    later_ns = max(row["t_complete_ns"] or row["t_invoke_ns"] for row in rows) + 1
    successor = _answered(producer_id, newest + 1, later_ns)
    asked = {"asked": "epoch", "asked_offset": newest, "op_id": NOT_OURS - 1}
    return [*rows, successor, _answered(producer_id, newest + 2, later_ns + 1) | asked]


def fence_within_the_time_out(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: the first commit of the only producer of a transactional id is refused as
    fenced, although its transaction is younger than a minute, the model's time-out."""
    begins = {row["txn"]: row for row in rows if row["f"] == F.BEGIN}
    inits = Counter(r["transactional_id"] for r in rows if r["f"] == F.INIT_PRODUCER)
    acked = {row["txn"] for row in rows if is_acked(row)}
    ends = Counter(row["txn"] for row in rows if row["f"] in (F.COMMIT, F.ABORT))
    victims = [
        row
        for row in rows
        if row["f"] == F.COMMIT
        and row["t_complete_ns"] is not None
        and (row["txn"] in acked and ends[row["txn"]] == 1)
        and inits[begins[row["txn"]]["transactional_id"]] == 1
        and row["t_complete_ns"] - begins[row["txn"]]["t_invoke_ns"] < MINUTE_NS
    ]
    if not victims:
        return None
    fenced = {"type": rng.choice(["fail", "info"]), "error": "PRODUCER_FENCED"}
    return [changed_row(row, victims[0], fenced) for row in rows]


def _transactional(rows: list[Row]) -> list[tuple[Row, Epoch]]:
    """Return the sends in transactions, each of a value sent once that raw reads of the leader show
    in exactly one epoch, with that epoch."""
    epochs: dict[int, set[Epoch]] = {}
    for row in rows:
        if is_raw(row) and row.get("value") is not None and row.get("replica") is None:
            epoch = row["producer_id"], row["producer_epoch"]
            epochs.setdefault(row["value"], set()).add(epoch)
    return [
        (send, min(epochs[value]))
        for value, send in sent_once(rows).items()
        if send["txn"] is not None and len(epochs.get(value, ())) == 1
    ]


def _with_successor(
    rows: list[Row], rng: Random, victims: list[tuple[Row, Epoch]]
) -> list[Row] | None:
    """Return the rows with an InitProducerId that returned the next epoch just before one of the
    victims was sent, or None if there is no victim. victims: rows, each with its (producer id,
    epoch)."""
    if not victims:
        return None
    victim, (producer_id, epoch) = rng.choice(victims)
    return [*rows, _answered(producer_id, epoch + 1, victim["t_invoke_ns"] - 1)]


def _answered(producer_id: int, epoch: int, at_ns: int) -> Row:
    """Return the row of an InitProducerId that another client sent, with this answer, invoked and
    answered at this time."""
    return {
        "f": F.INIT_PRODUCER.value,
        "type": "ok",
        "op_id": NOT_OURS,
        "process": NOT_OURS,
        "session": 0,
        "record_index": 0,
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "t_invoke_ns": at_ns,
        "t_complete_ns": at_ns,
    }


def write_though_fenced(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a record follows one of a newer epoch of its producer."""
    pairs = neighbours_of_producers(rows)
    if not pairs:
        return None
    before, victim = rng.choice(pairs)
    newer = {"producer_epoch": victim["producer_epoch"] + 1}
    return [changed_row(row, before, newer) for row in rows]


CLAUSES: Clauses = {
    "a log holds an older epoch of a producer behind a newer one": by(
        "fenced-epoch-writes", write_though_fenced
    ),
    "a record is sent in an older epoch than one acknowledged on another partition": by(
        "zombie-writes", write_elsewhere_though_fenced
    ),
    "a record is sent in an older epoch than InitProducerId had returned": by(
        "zombie-writes", write_after_a_successor
    ),
    "a record is appended in an older epoch after InitProducerId had returned a newer one": by(
        "zombie-writes", arrive_though_fenced
    ),
    "an offset is committed in an older epoch than InitProducerId had returned": by(
        "zombie-commits-offsets", commit_offsets_though_fenced
    ),
    "a transaction is ended in an older epoch than InitProducerId had returned": by(
        "zombie-ends", end_though_fenced
    ),
    "a transaction goes on after another producer of its transactional id has come": by(
        "superseded-producer", go_on_after_a_successor
    ),
    "InitProducerId returns an epoch that was known before": by(
        "reused-epoch", give_an_epoch_again
    ),
    "InitProducerId returns another producer id although the former has epochs left": by(
        "other-producer-id", forget_a_transactional_id
    ),
    "InitProducerId accepts an older epoch from a producer that wants to go on": by(
        "zombie-rejoins", rejoin_though_fenced
    ),
    "a producer is fenced before its time-out, although no other one came": by(
        "fenced-early", fence_within_the_time_out
    ),
}
