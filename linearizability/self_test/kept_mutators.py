"""Ways to break what replicas, cleaners, deletions and groups must keep (see `mutators`)."""

from __future__ import annotations

import json
from collections import Counter
from random import Random

from linearizability.history import F
from linearizability.self_test.lookup import (
    NOT_OURS,
    changed_row,
    data_rows,
    if_still_durable,
    is_acked,
    is_compacted,
    sent_once,
    where_nothing_is_compacted,
)
from linearizability.self_test.truth import outcome_of
from linearizability.self_test.world import Row

KNOWN = ("plain", "committed")
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
"""The columns that all rows of one reading of one log share."""


@where_nothing_is_compacted
def lose_on_a_follower(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a follower lacks a record that its leader has, and knows to be
    replicated."""
    victims = on_both(rows)
    if not victims:
        return None
    victim = rng.choice(victims)
    return [row for row in rows if row is not victim]


def differ_on_a_follower(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a follower has a record from another leader than its leader has it."""
    victims = on_both(rows)
    if not victims:
        return None
    victim = rng.choice(victims)
    other = {"leader_epoch": victim["leader_epoch"] + 1}
    return [changed_row(row, victim, other) for row in rows]


@where_nothing_is_compacted
def differ_in_another_reading(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: an operation that reads a follower alone finds a record of another leader
    than the leader has it from."""
    broken = differ_on_a_follower(rows, rng)
    changed = [row for row in broken or [] if not any(row is other for other in rows)]
    if broken is None or not changed:
        return None
    whose = ("op_id", "partition", "replica")
    (victim,) = changed
    return [
        row | {"op_id": NOT_OURS} if all(row.get(c) == victim[c] for c in whose) else row
        for row in broken
    ]


def on_both(rows: list[Row]) -> list[Row]:
    """Return the followers' records that their leaders hold too."""
    on_leaders = {
        (row["op_id"], row["partition"], row["offset"])
        for row in rows
        if row["f"] == F.POLL.value and row.get("offset") is not None and row.get("replica") is None
    }
    ends = {
        (row["op_id"], row["partition"]): row["type"]
        for row in rows
        if row["f"] == F.READ_ALL.value and row.get("replica") is None
    }
    return [
        row
        for row in rows
        if row["f"] == F.POLL.value
        and row.get("replica") is not None
        and row["offset"] < row["high_watermark"]
        and (row["op_id"], row["partition"], row["offset"]) in on_leaders
        and ends.get((row["op_id"], row["partition"])) == "ok"
    ]


def clean_too_much(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a complete read shows nothing of a key, though its last record is a
    value."""
    return without_a_last_record(rows, rng, tombstones=False) if is_compacted(rows) else None


def without_a_last_record(rows: list[Row], rng: Random, tombstones: bool) -> list[Row] | None:
    """Return the rows without the last record of a key (a tombstone, or a value) in one complete
    read."""
    victims = _covered_by_a_read(_last_of_keys(rows, tombstones), rows)
    rng.shuffle(victims)
    for send, end in victims:
        gone = [
            row
            for row in rows
            if row["op_id"] == end["op_id"]
            and row["f"] == F.POLL.value
            and (row["partition"], row["value"]) == (end["partition"], send["value"])
        ]
        broken = [row for row in rows if not any(row is other for other in gone)]
        # What was removed may be all that told how the send's transaction ended.
        if if_still_durable(broken, send) is not None:
            return broken
    return None


def _covered_by_a_read(sends: list[Row], rows: list[Row]) -> list[tuple[Row, Row]]:
    """Return the sends, each with the end of a complete raw read that began after it and covers
    it."""
    ends = [
        row
        for row in rows
        if row["f"] == F.READ_ALL.value and row["type"] == "ok" and row.get("client") == "raw"
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
    """Plant an anomaly: a complete read lacks a key's last record, which everybody saw as a
    tombstone and whose time is over, but shows an older value of the key."""
    if not is_compacted(rows) or not any(row["f"] == F.TOPIC.value for row in rows):
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
    """Return the row of a topic that keeps tombstones for a millisecond, of which this is one."""
    if row["f"] == F.TOPIC.value:
        told = {"cleanup.policy": "compact", "delete.retention.ms": "1"}
        return row | {"settings": json.dumps(told)}
    return row | {"tombstone": True} if row.get("value") == send["value"] else row


def _last_of_keys(rows: list[Row], tombstones: bool) -> list[Row]:
    """Return the sends of the last records of keys, which are tombstones, or values, if the place
    of every tombstone is known."""
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
        seen = {row["value"] for row in same if row["f"] == F.POLL.value}
        once = Counter(row["value"] for row in same if row["f"] == F.SEND.value)
        open_tombstones = [
            row
            for row in same
            if row["f"] == F.SEND.value
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


def delete_too_much(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a log starts after an acknowledged record, though nobody asked for that."""
    known = [row for row in rows if row["f"] == F.TOPIC.value]
    if not known or any(word in known[0]["settings"] for word in ('"5"', "bytes")):
        return None
    asked = [row for row in rows if row["f"] == F.DELETE_RECORDS.value and row["type"] != "fail"]
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
        and row["f"] != F.DELETE_RECORDS.value
        and row["t_complete_ns"] is not None
    ]
    if not told:
        return None
    send, answer = rng.choice(told)
    return [changed_row(row, answer, {"log_start": send["offset"] + 1}) for row in rows]


def forget_a_commit(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a group gets a position that was never committed, or at the end none
    although one was acknowledged."""
    asked = [r for r in rows if r["f"] == F.FETCH_OFFSETS.value and r["type"] == "ok"]
    victims: list[tuple[Row, int | None]] = [(row, NOT_OURS) for row in asked]
    victims += [(row, None) for row in asked if row["final"] and _before(rows, row)]
    if not victims:
        return None
    victim, offset = rng.choice(victims)
    return [changed_row(row, victim, {"offset": offset}) for row in rows]


def commit_for_a_past_generation(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a commit is accepted of a generation that was over when it was asked
    for."""
    commits = [r for r in rows if r["f"] == F.COMMIT_OFFSETS.value and r["type"] == "ok"]
    pairs = [(before, row) for row in commits for before in _before(rows, row)]
    if not pairs:
        return None
    before, victim = rng.choice(pairs)
    older = {"generation": before["generation"] - 1}
    return [changed_row(row, victim, older) for row in rows]


def commit_for_its_own_past(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a commit is accepted of a generation that its member, of a classic group,
    had left behind."""
    broken = commit_for_a_past_generation(rows, rng)
    if broken is None:
        return None
    own = {"member_id": "own"}
    settings = {"settings": json.dumps({"group.protocol": "classic"})}
    commits = [row for row in broken if row["f"] == F.COMMIT_OFFSETS.value]
    places = {row["partition"]: row for row in commits}
    owned = [
        row | own | settings | {"f": F.OWNED.value, "op_id": NOT_OURS - n, "offset": None}
        for n, row in enumerate(places.values())
    ]
    return [*(row | own if row in commits else row for row in broken), *owned]


def commit_after_a_successor(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: of one generation, two members commit for a partition, and the first does
    once more."""
    commits = [r for r in rows if r["f"] == F.COMMIT_OFFSETS.value and r["type"] == "ok"]
    pairs = [(before, row) for row in commits for before in _before(rows, row)]
    chains = [(first, *pair) for pair in pairs for first in _before(rows, pair[0])[:1]]
    if not chains:
        return None
    generation = max(row["generation"] for row in commits) + 1
    for victim, member in zip(rng.choice(chains), ("first", "second", "first"), strict=True):
        change = {"generation": generation, "member_id": member}
        rows = [changed_row(row, victim, change) for row in rows]
    return rows


def _before(rows: list[Row], row: Row) -> list[Row]:
    """Return the commits for the partition that were accepted before this one was sent."""
    return [
        r
        for r in rows
        if r["f"] == F.COMMIT_OFFSETS.value
        and r["type"] == "ok"
        and (r["group"], r["partition"]) == (row["group"], row["partition"])
        and r["t_complete_ns"] < row["t_invoke_ns"]
    ]
