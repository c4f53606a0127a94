"""Record what really happened in a history of the model, besides the facts that its rows show.

The model writes it into its own rows, under keys that no history has: they begin with "_", and
`stripped` removes them before anything is judged. Mutators use only these keys and the rows
themselves. No file of this folder except the runner may use a judge, since a wrong judge would then
make its own test wrong (`ci/checks/imports.py` enforces that).

- `_txn`: on polls of a record or marker, the transaction that wrote it; on answers to a group, the
one whose offset is in force. - `_end`: on every row of a transaction, and of a record that one
wrote: `commit` or `abort`, as its coordinator decided; None, it stays open. - `_given`: on polls
whose rows show no record, the (partition, offset) of the records that they were given.
"""

from __future__ import annotations

from collections.abc import Iterable

from linearizability.history import F
from linearizability.self_test.model.world import Row

PLAIN, COMMITTED, ABORTED, UNKNOWN = "plain", "committed", "aborted", "unknown"
_OUTCOMES = {"commit": COMMITTED, "abort": ABORTED}


def with_truth(rows: Iterable[Row], ends: dict[int, str]) -> list[Row]:
    """Return the rows, changed in place, with `_txn` on polls, the transaction that wrote the row's
    record, and `_end`, that transaction's true outcome (on other rows: the own transaction's).
    ends: the outcomes of the transactions that ended."""
    found = list(rows)
    writers = {row["value"]: row["txn"] for row in found if row["f"] == F.SEND}
    for row in found:
        if row["f"] == F.POLL:
            row.setdefault("_txn", writers.get(row.get("value") or 0))
            row["_end"] = ends.get(row["_txn"] or 0)
        else:
            row["_end"] = ends.get(row.get("txn") or 0)
    return found


def stripped(rows: list[Row]) -> list[Row]:
    """Return the rows without the columns that only the model knows, as a recorder would have
    written them."""
    return [{k: v for k, v in row.items() if not k.startswith("_")} for row in rows]


def ends_told(rows: Iterable[Row]) -> dict[int, str]:
    """Return transaction -> its true outcome (`_end`), for those whose end these rows prove: a
    commit, by its acknowledgement; an abort, by its acknowledgement if no commit was ever asked
    for; either, by one raw read that shows a record of the transaction and its marker."""
    ends: dict[int, str] = {}
    answered: dict[str, set[int]] = {"commit": set(), "abort": set()}
    commits_asked: set[int] = set()
    records: set[tuple[int, ...]] = set()
    markers: set[tuple[int, ...]] = set()
    for row in rows:
        if row["f"] in answered:
            if row["type"] == "ok":
                answered[row["f"]].add(row["txn"])
            if row["f"] == F.COMMIT:
                commits_asked.add(row["txn"])
            ends[row["txn"]] = row["_end"]
        elif row["f"] == F.POLL and row.get("_txn") is not None and is_raw(row):
            place = (row["_txn"], row["op_id"], row.get("replica") or 0, row["partition"])
            (markers if row.get("control") else records).add(place)
            ends[row["_txn"]] = row["_end"]
    by_marker = {txn for txn, *_ in records & markers}
    told = answered["commit"] | (answered["abort"] - commits_asked) | by_marker
    return {txn: ends[txn] for txn in told}


def is_raw(row: Row) -> bool:
    """Return whether the row shows the batch's header."""
    return row.get("producer_id") is not None


def with_outcomes(rows: list[Row]) -> list[Row]:
    """Return the rows with `_outcome`: plain, committed or aborted, as the record's transaction
    truly ended, unknown if these rows do not show its end, and None in rows without a record."""
    told = ends_told(rows)
    return [row | {"_outcome": _outcome(row, told)} for row in rows]


def _outcome(row: Row, told: dict[int, str]) -> str | None:
    if row.get("value") is None:
        return None
    txn: int | None = row["_txn"] if row["f"] == F.POLL else row["txn"]
    return PLAIN if txn is None else _OUTCOMES.get(told.get(txn, ""), UNKNOWN)


def outcome_of(row: Row) -> str | None:
    """Return the `_outcome` that `with_outcomes` gave the row; it is None for a row without a
    record."""
    outcome: str | None = row["_outcome"]
    return outcome
