"""Ways to break `compaction`, each with the clause of its promise that it breaks."""

import json
from collections import Counter
from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    KNOWN,
    NOT_OURS,
    TEN_MINUTES_MS,
    changed_row,
    data_rows,
    if_still_durable,
    is_acked,
    is_compacted,
    is_whole,
    log_end_of,
    log_starts,
    sent_once,
)
from linearizability.self_test.model.world import Row
from linearizability.self_test.truth import UNKNOWN, outcome_of

_OF_READING = (
    "op_id",
    "process",
    "session",
    "client",
    "replica",
    "partition",
    "isolation",
    "high_watermark",
    "final",
    "type",
    "t_invoke_ns",
    "t_complete_ns",
)
"""The columns that are equal in all rows of one read of one log."""


def clean_too_much(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a complete read of a compacted topic lacks the last record of a key, a
    value."""
    return without_a_last_record(rows, rng, tombstones=False) if is_compacted(rows) else None


def without_a_last_record(rows: list[Row], rng: Random, tombstones: bool) -> list[Row] | None:
    """Return the rows without the last record of a key in one complete read; tombstones: whether
    that record is a tombstone, or else a value. Return None if no read covers such a record, or if
    without it nothing would tell how its transaction ended."""
    victims = _covered_by_a_read(_last_of_keys(rows, tombstones), rows)
    rng.shuffle(victims)
    for send, end in victims:
        gone = [
            row
            for row in rows
            if row["op_id"] == end["op_id"]
            and row["f"] == F.POLL
            and (row["partition"], row["value"]) == (end["partition"], send["value"])
        ]
        broken = [row for row in rows if not any(row is other for other in gone)]
        # Only the removed rows may have shown how the transaction of the send ended.
        if if_still_durable(broken, send) is not None:
            return broken
    return None


def clean_for_an_open_transaction(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a complete read shows nothing of a key's last record, a value, and the only
    later record of the key belongs to a transaction whose commit is never requested."""
    broken = clean_too_much(rows, rng)
    if broken is None:
        return None
    kept = {id(row) for row in broken}
    gone = next(row for row in rows if id(row) not in kept)
    send = sent_once(rows).get(gone["value"])
    if send is None or not is_acked(send):
        return None
    numbers = [row[name] or 0 for row in rows for name in ("value", "txn") if row.get(name)]
    free = max(numbers) + 1
    later = send | {"op_id": NOT_OURS, "record_index": 0, "value": free, "txn": free}
    offset = log_end_of(rows, send["partition"])
    return [*broken, later | {"offset": offset, "_outcome": UNKNOWN, "_end": None}]


def clean_above_the_last_stable_offset(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a complete raw read of a compacted topic lacks an acknowledged record at or
    above the last stable offset that the leader named."""
    if not is_compacted(rows):
        return None
    acked = [row for row in rows if is_acked(row)]
    victims = [
        (send, end)
        for send, end in _covered_by_a_read(acked, rows)
        if end.get("replica") is None
        and end.get("last_stable_offset") is not None
        and end["last_stable_offset"] <= send["offset"]
        and send["offset"] >= log_starts(rows)[send["partition"]]
    ]
    if not victims:
        return None
    send, end = rng.choice(victims)
    return [
        row
        for row in rows
        if (row["op_id"], row.get("partition"), row.get("replica"), row.get("value"))
        != (end["op_id"], end["partition"], None, send["value"])
    ]


def _covered_by_a_read(sends: list[Row], rows: list[Row]) -> list[tuple[Row, Row]]:
    """Return each send with the last row of each complete raw read, of the leader or a follower,
    that began after its acknowledgement and covers its offset."""
    ends = [
        row
        for row in rows
        if row["f"] == F.READ_ALL and row["type"] == "ok" and row.get("client") == "raw"
    ]
    return [
        (send, end)
        for send in sends
        for end in ends
        if send["partition"] == end["partition"]
        and end["log_start"] <= send["offset"] < end["high_watermark"]
        and send["t_complete_ns"] < end["t_invoke_ns"]
    ]


def bring_back_a_key(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a complete read lacks a key's last record, an expired tombstone that every
    reader saw, but shows an older value of the key. The last record becomes a tombstone if it was a
    value, and delete.retention.ms one millisecond. Return None without a compacted topic of known
    settings."""
    if not is_compacted(rows) or not any(row["f"] == F.TOPIC for row in rows):
        return None
    once = sent_once(rows)
    last = [
        send
        for tombstones in (True, False)
        for send in _last_of_keys(rows, tombstones)
        if send["idempotent"] and send["value"] in once
    ]
    victims = [
        (send, end, old)
        for send, end in _covered_by_a_read(last, rows)
        for old in data_rows(rows)
        if all(old[c] == send[c] for c in ("partition", "key"))
        and end["log_start"] <= old["offset"] < send["offset"]
        and not old["tombstone"]
        and outcome_of(old) in KNOWN
    ]
    rng.shuffle(victims)
    for send, end, old in victims:
        reading = {c: end.get(c) for c in _OF_READING}
        kept = [
            row
            for row in rows
            if any(row.get(c) != reading[c] for c in ("op_id", "replica", "partition"))
            or row.get("value") not in (send["value"], old["value"])
        ]
        broken = [*kept, {**old, **reading, "record_index": NOT_OURS}]
        if if_still_durable(broken, send) is not None:
            return [_as_told(row, send) for row in broken]
    return None


def _as_told(row: Row, send: Row) -> Row:
    """Return the row changed so that a topic keeps tombstones for one millisecond, and rows of the
    value that `send` sent say that it is a tombstone; other rows as they are."""
    if row["f"] == F.TOPIC:
        told = {"cleanup.policy": "compact", "delete.retention.ms": "1"}
        return row | {"settings": json.dumps(told)}
    return row | {"tombstone": True} if row.get("value") == send["value"] else row


def _last_of_keys(rows: list[Row], tombstones: bool) -> list[Row]:
    """Return the sends of the last records of keys: those that are tombstones if `tombstones` is
    set, or else those that are values. Keys with a tombstone whose offset is not known are left
    out."""
    found = []
    for send in rows:
        durable = is_acked(send) and outcome_of(send) in KNOWN
        if not durable or send["key"] is None or bool(send["tombstone"]) != tombstones:
            continue
        same = [
            row
            for row in rows
            if row.get("key") == send["key"]
            and row["partition"] == send["partition"]
            and outcome_of(row) != "aborted"
        ]
        seen = {row["value"] for row in same if row["f"] == F.POLL}
        once = Counter(row["value"] for row in same if row["f"] == F.SEND)
        open_tombstones = [
            row
            for row in same
            if row["f"] == F.SEND
            and row["tombstone"]
            and row["type"] != "fail"
            and not (
                row["idempotent"]
                and outcome_of(row) in KNOWN
                and (is_acked(row) or (row["value"] in seen and once[row["value"]] == 1))
            )
        ]
        placed = [row["offset"] for row in same if row["offset"] is not None]
        if not open_tombstones and max(placed) == send["offset"]:
            found.append(send)
    return found


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
    """Plant an anomaly: a complete read lacks a key's last tombstone, although delete.retention.ms
    is a day, the default: the topic's settings no longer name it."""
    return _without_a_tombstone(rows, rng, {"cleanup.policy": "compact"})


def remove_a_tombstone_early(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a complete read lacks a key's last tombstone, although delete.retention.ms
    is ten minutes, as the topic's settings now say."""
    kept = {"cleanup.policy": "compact", "delete.retention.ms": str(TEN_MINUTES_MS)}
    return _without_a_tombstone(rows, rng, kept)


def _without_a_tombstone(
    rows: list[Row], rng: Random, settings: dict[str, str]
) -> list[Row] | None:
    if not any(row["f"] == F.TOPIC for row in rows):
        return None
    told = {"settings": json.dumps(settings)}
    broken = without_a_last_record(rows, rng, tombstones=True)
    return broken and [row | told if row["f"] == F.TOPIC else row for row in broken]


def _complete_read(rows: list[Row], record: Row) -> Row | None:
    """Return the row that ends the raw read of the leader's whole log to which the record's row
    belongs, or None if it belongs to another read."""
    place = (record["op_id"], record["partition"])
    wholes = (row for row in rows if is_whole(row))
    return next((row for row in wholes if (row["op_id"], row["partition"]) == place), None)


CLAUSES: Clauses = {
    "a record at or above the last stable offset is gone": by(
        "removed-above-stable", clean_above_the_last_stable_offset
    ),
    "the last value of a key is gone": by("last-value-lost removed-above-stable", clean_too_much),
    "a record of an open transaction removes the last value of its key": by(
        "last-value-lost removed-above-stable", clean_for_an_open_transaction
    ),
    "a key's last tombstone is gone before delete.retention.ms": by(
        "tombstone-lost-early tombstone-lost-hours-early removed-above-stable",
        remove_a_tombstone_early,
        remove_a_tombstone_hours_early,
    ),
    "a tombstone is gone, but a value that it had removed is back": by(
        "key-resurrected", bring_back_a_key
    ),
    "a record is stored at another offset than it was acknowledged at": by(
        "record-moved", move_a_record
    ),
}
