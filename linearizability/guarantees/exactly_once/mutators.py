"""Ways to break `exactly_once`, each with the clause of its promise that it breaks."""

from collections import defaultdict
from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    NOT_OURS,
    another_read,
    data_rows,
    is_acked,
    is_compacted,
    log_starts,
    only_committed,
    over_ns,
    sent_once,
)
from linearizability.self_test.model.processing import GROUP as PROCESSORS
from linearizability.self_test.model.world import Row
from linearizability.self_test.truth import ends_told, is_raw, outcome_of


def consume_twice(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: two committed transactions of one group received the same record."""
    ends = [r["txn"] for r in rows if r["f"] == F.COMMIT and r["type"] == "ok"]
    committed = [
        txn
        for txn in dict.fromkeys(ends)
        if all(outcome_of(r) == "committed" for r in rows if r.get("txn") == txn and "acks" in r)
    ]
    reads = data_rows(rows)
    if len(committed) < 2 or not reads:
        return None
    member = {"group": "inputs", "member_id": "m", "type": "ok", "isolation": "read_committed"}
    victim = rng.choice(reads)
    return [
        *rows,
        *(
            another_read(victim, **member, txn=txn, op_id=NOT_OURS - n)
            for n, txn in enumerate(rng.sample(committed, 2))
        ),
    ]


def consume_twice_after_a_lost_commit(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: two committed transactions of one group received the same record. Nobody
    learns how the first one ended, but a read_committed reader receives a record of it."""
    committed = only_committed(rows)
    shown = [r for r in sent_once(rows).values() if is_acked(r) and r["txn"] in committed]
    if not shown or len(committed) < 2:
        return None
    send = rng.choice(shown)
    other = rng.choice([txn for txn in committed if txn != send["txn"]])
    unknown = {"type": "info", "t_complete_ns": None}
    late = {"t_invoke_ns": over_ns(rows) + 1, "t_complete_ns": over_ns(rows) + 1}
    reader = {"f": F.POLL.value, "process": NOT_OURS, "session": 0, "record_index": 0}
    given = {name: send[name] for name in ("topic", "partition", "offset", "value")}
    received = given | {"type": "ok", "isolation": "read_committed", "final": False} | reader | late
    member = {"group": "inputs", "member_id": "m"}
    return [
        *(
            row | unknown if row["f"] == F.COMMIT and row["txn"] == send["txn"] else row
            for row in rows
            if not is_raw(row)
        ),
        received | {"op_id": NOT_OURS - 2, "group": "late"},
        *(
            received | member | {"op_id": NOT_OURS - 1 + n, "txn": txn}
            for n, txn in enumerate((send["txn"], other))
        ),
    ]


def consume_twice_beside_a_seek(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: two committed transactions of one group received the same record. Between
    them a third member seeks back to the record but reads nothing, so its seek excuses nothing."""
    broken = consume_twice(rows, rng)
    if broken is None:
        return None
    first, second = broken[-2:]
    seeker = {"process": NOT_OURS - 1, "member_id": "n", "f": F.POSITION.value, "asked": "offset"}
    sought = {"record_index": 0, "txn": None, "value": None, "isolation": None}
    seek = first | seeker | sought | {"op_id": NOT_OURS - 1}
    first, second = first | {"op_id": NOT_OURS - 2}, second | {"op_id": NOT_OURS}
    return [*broken[:-2], first, seek, second]


def lose_an_effect(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: the transaction that consumed an input aborted, and the group continues
    after that input. Return None for a compacted topic, or if any group has a lost poll."""
    if is_compacted(rows) or any(map(_may_have_been_given_anything, rows)):
        return None
    starts = log_starts(rows)
    ends = ends_told(rows)
    aborted = [txn for txn, end in ends.items() if end == "abort"]
    polls: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for row in data_rows(rows):
        if row.get("group") == PROCESSORS:
            polls[row["partition"], row["offset"]].append(row)
    answers = [
        row
        for row in rows
        if row["f"] == F.FETCH_OFFSETS
        and row["final"]
        and row.get("offset") is not None
        and row.get("group") == PROCESSORS
    ]
    victims = [
        given
        for (partition, offset), given in polls.items()
        if offset >= starts[partition]
        and any(row["type"] == "ok" for row in given)
        and any(a["partition"] == partition and a["offset"] > offset for a in answers)
    ]
    if not victims or not aborted:
        return None
    victim, txn = rng.choice(victims), rng.choice(aborted)
    return [row | {"txn": txn} if row in victim else row for row in rows]


def _may_have_been_given_anything(row: Row) -> bool:
    """Return whether the row is a member's poll of unknown result."""
    is_lost = row["f"] == F.POLL and row["type"] == "info" and row.get("offset") is None
    return is_lost and row.get("group") is not None


CLAUSES: Clauses = {
    "two committed transactions of a group consumed one input": by(
        "consumed-twice",
        consume_twice,
        consume_twice_beside_a_seek,
        consume_twice_after_a_lost_commit,
    ),
    "a group moves past an input that only aborted transactions consumed": by(
        "consumed-never", lose_an_effect
    ),
}
