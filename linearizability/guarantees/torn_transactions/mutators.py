"""Ways to break `torn_transactions`, each with the clause of its promise that it breaks."""

from collections import defaultdict
from random import Random

from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    COMMITTED,
    between_others,
    commit_markers,
    data_rows,
    is_acked,
    log_starts,
    sent_once,
    where_nothing_is_compacted,
)
from linearizability.self_test.model.world import Row
from linearizability.self_test.truth import outcome_of


@where_nothing_is_compacted
def deliver_half(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: one record of a transaction was delivered, but a reader skips another one,
    and no read_committed reader receives that."""
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
    behind = commit_markers(rows)
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


def _records_of_transactions(rows: list[Row]) -> dict[int, list[Row]]:
    """Return txn -> its sends with known offsets at or above the log start, for transactions with
    at least two of them that were not aborted."""
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


CLAUSES: Clauses = {
    "readers received one record of a transaction but skipped another": by(
        "torn-transaction", deliver_half
    ),
    "one partition of a transaction has a COMMIT marker, another ABORT": by(
        "torn-transaction", abort_half
    ),
}
