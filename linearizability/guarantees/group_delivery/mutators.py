"""Ways to break `group_delivery`, each with the clause of its promise that it breaks."""

from random import Random

from linearizability.history import F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    NOT_OURS,
    data_rows,
    is_acked,
    log_starts,
    over_ns,
    stands_before,
    where_nothing_is_compacted,
)
from linearizability.self_test.model.world import Row
from linearizability.self_test.truth import outcome_of


@where_nothing_is_compacted
def skip_in_a_group(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: no member of a group received a record, though members of that group
    received records below and above it. Return None if any group has a poll of unknown result."""
    if any(map(_may_have_been_given_anything, rows)):
        return None
    starts, durable = log_starts(rows), _durable(rows)
    given = _given(rows)
    victims = []
    for row in given:
        of_group = [r for r in given if r["group"] == row["group"]]
        if (
            (row["partition"], row["offset"]) in durable
            and row["offset"] >= starts[row["partition"]]
            and any(stands_before(r, row) for r in of_group)
            and any(stands_before(row, r) for r in of_group)
        ):
            victims.append(row)
    if not victims:
        return None
    victim = rng.choice(victims)
    place = (victim["partition"], victim["offset"])
    return [
        row
        for row in rows
        if not (row.get("group") and (row.get("partition"), row.get("offset")) == place)
    ]


@where_nothing_is_compacted
def commit_beyond(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a member commits a position behind a record that no member received. Return
    None if any group has a poll of unknown result."""
    if any(map(_may_have_been_given_anything, rows)):
        return None
    starts, of_group = log_starts(rows), _given(rows)
    given = {(row["group"], row["partition"], row["offset"]) for row in _given(rows, failed=True)}
    pairs = [
        (last, offset)
        for last in of_group
        for partition, offset in sorted(_durable(rows))
        if partition == last["partition"]
        and last["offset"] < offset
        and starts[partition] <= offset
        and (last["group"], partition, offset) not in given
    ]
    if not pairs:
        return None
    last, offset = rng.choice(pairs)
    own = {"f": F.COMMIT_OFFSETS.value, "op_id": NOT_OURS, "offset": offset + 1, "type": "ok"}
    nothing = {"record_index": 0, "value": None, "isolation": None, "txn": None}
    at_ns = over_ns(rows) + 1
    return [*rows, last | own | nothing | {"t_invoke_ns": at_ns, "t_complete_ns": at_ns}]


def _may_have_been_given_anything(row: Row) -> bool:
    """Return whether nobody knows what this poll of a group delivered."""
    return (
        row["f"] == F.POLL
        and bool(row.get("group"))
        and not row.get("topic")
        and row["type"] == "info"
    )


def _durable(rows: list[Row]) -> set[tuple[int, int]]:
    """Return the (partition, offset) of the acknowledged records that are plain or committed, which
    every group must receive."""
    return {
        (row["partition"], row["offset"])
        for row in rows
        if is_acked(row) and outcome_of(row) in ("plain", "committed")
    }


def _given(rows: list[Row], failed: bool = False) -> list[Row]:
    """Return the records that groups received; failed: also those of polls that failed."""
    return [r for r in data_rows(rows) if r.get("group") and (failed or r["type"] == "ok")]


CLAUSES: Clauses = {
    "a group skips a visible record": by("group-skip", skip_in_a_group),
    "a group commits a position behind a record that it never received": by(
        "group-skip", commit_beyond
    ),
}
