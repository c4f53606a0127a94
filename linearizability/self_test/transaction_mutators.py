"""Ways to break what transactions are promised (see `mutators`)."""

from __future__ import annotations

from collections import defaultdict
from random import Random

from linearizability.history import F
from linearizability.self_test.lookup import (
    NOT_OURS,
    another_read,
    between_others,
    data_rows,
    is_acked,
    is_compacted,
    log_starts,
    sent_once,
    where_nothing_is_compacted,
)
from linearizability.self_test.processing import GROUP as PROCESSORS
from linearizability.self_test.truth import ends_told, outcome_of
from linearizability.self_test.world import Row

COMMITTED = "read_committed"


@where_nothing_is_compacted
def deliver_half(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a reader goes over one record of a transaction of which another was
    delivered, and nobody under read_committed is given it."""
    starts = log_starts(rows)
    records = _records_of_transactions(rows)
    delivered = {row["value"] for row in data_rows(rows) if row["isolation"] == COMMITTED}
    halves = {
        record["value"]
        for of_txn in records.values()
        for record in of_txn
        if any(other["value"] in delivered for other in of_txn if other is not record)
    }
    victims = [
        row
        for row in between_others(rows)
        if row["isolation"] == COMMITTED
        and row["value"] in halves
        and row["offset"] >= starts[row["partition"]]
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    record = {column: victim[column] for column in ("f", "partition", "value", "isolation")}
    return [row for row in rows if not record.items() <= row.items()]


def abort_half(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: one partition of a committed transaction has an ABORT marker."""
    behind = _commit_markers(rows)
    pairs = [
        (behind[one["value"]], behind[other["value"]])
        for of_txn in _records_of_transactions(rows).values()
        for one in of_txn
        for other in of_txn
        if one["partition"] != other["partition"]
        and one["value"] in behind
        and other["value"] in behind
    ]
    if not pairs:
        return None
    victim, _ = rng.choice(pairs)
    marker = {column: victim[column] for column in ("partition", "offset", "control")}
    on_all_replicas = [row for row in rows if marker.items() <= row.items()]
    return [row | {"control": "abort"} if row in on_all_replicas else row for row in rows]


def read_each_other(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: two transactions are given each other's records before either asks for its
    commit."""
    once = sent_once(rows)
    sends = [row for row in once.values() if is_acked(row) and row["txn"] is not None]
    pairs = [(a, b) for a in sends for b in sends if a["txn"] < b["txn"]]
    if not pairs:
        return None
    one, other = rng.choice(pairs)
    template = next((row for row in data_rows(rows) if row["isolation"] == COMMITTED), None)
    if template is None:
        return None
    record = ("topic", "topic_id", "partition", "offset", "value")
    return [
        *rows,
        *(
            another_read(
                template,
                **{column: sent[column] for column in record},
                txn=reader["txn"],
                op_id=NOT_OURS - number,
                process=reader["process"],
                type="ok",
                t_invoke_ns=reader["t_invoke_ns"],
                t_complete_ns=reader["t_invoke_ns"],
            )
            for number, (sent, reader) in enumerate([(one, other), (other, one)])
        ),
    ]


def lose_an_effect(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: the transaction that consumed an input aborted, and the group goes on after
    the input."""
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
        if row["f"] == F.FETCH_OFFSETS.value
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
    is_lost = row["f"] == F.POLL.value and row["type"] == "info" and row.get("offset") is None
    return is_lost and row.get("group") is not None


def _records_of_transactions(rows: list[Row]) -> dict[int, list[Row]]:
    """Return txn -> its sends whose place is known, where it was not aborted."""
    starts = log_starts(rows)
    once = sent_once(rows)
    found: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        if (
            is_acked(row)
            and row["txn"] is not None
            and once.get(row["value"]) is row
            and outcome_of(row) != "aborted"
            and row["offset"] >= starts[row["partition"]]
        ):
            found[row["txn"]].append(row)
    return {txn: sends for txn, sends in found.items() if len(sends) > 1}


def _commit_markers(rows: list[Row]) -> dict[int, Row]:
    """Return value -> the COMMIT marker that a raw read found for it."""
    found: dict[int, Row] = {}
    waiting: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    raw = [
        row
        for row in rows
        if row["f"] == F.POLL.value
        and (row.get("producer_id") or -1) >= 0
        and row.get("offset") is not None
    ]
    for row in sorted(raw, key=lambda r: (r["op_id"], r["partition"], r["offset"])):
        of_producer = (row["op_id"], row["partition"], row["producer_id"])
        if not row.get("control"):
            waiting[of_producer].append(row["value"])
            continue
        for value in waiting.pop(of_producer, []):
            if row["control"] == "commit":
                found[value] = row
    return found
