"""Ways to break `group_delivery`, each with the clause of its promise that it breaks."""

from collections.abc import Iterable
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
    return _skipped(rows, rng, between_sessions=False)


def _skipped(rows: list[Row], rng: Random, *, between_sessions: bool) -> list[Row] | None:
    """Return the rows without the reads of one record by a group, or None. between_sessions: take
    a record that none of the group's sessions received between two others."""
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
            and not (between_sessions and _is_amid_a_session(row, of_group))
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


def _is_amid_a_session(victim: Row, of_group: list[Row]) -> bool:
    """Return whether one session received records below and above this one."""

    def sessions(rows: Iterable[Row]) -> set[tuple[int, int]]:
        return {(row["process"], row["session"]) for row in rows}

    below = sessions(row for row in of_group if stands_before(row, victim))
    return not below.isdisjoint(sessions(row for row in of_group if stands_before(victim, row)))


@where_nothing_is_compacted
def skip_beside_a_lost_poll(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly as `skip_in_a_group` does, between two sessions of the only process that
    reads for the group; it owns the partitions. Meanwhile another member has a poll of unknown
    result. (The model's truth: it receives no records, since it is added here.)"""
    skipped = _skipped(rows, rng, between_sessions=True)
    if skipped is None:
        return None
    given = _given(skipped, failed=True)
    readers = {row["process"] for row in given if row["group"] == given[0]["group"]}
    if len(readers) != 1 or any(row["f"] == F.OWNED for row in rows):
        return None
    reader = {name: given[0][name] for name in ("process", "group")}
    places = {(row["topic"], row["topic_id"], row["partition"]) for row in given}
    over = over_ns(rows) + 2
    lost = {"process": NOT_OURS, "group": reader["group"], "member_id": "lost"}
    return [
        *(
            _row(F.OWNED, -2, number, reader | _known(given), topic=topic, topic_id=topic_id)
            | {"partition": partition}
            for number, (topic, topic_id, partition) in enumerate(sorted(places, key=str))
        ),
        _row(F.SUBSCRIBE, -2, 10, lost),
        *skipped,
        _row(F.POLL, 0, 11, lost) | {"type": "info", "t_complete_ns": 1},
        _row(F.POLL, over - 1, 12, lost),
        _row(F.COMMIT_OFFSETS, over, 13, reader | _known(given))
        | {name: given[0][name] for name in ("topic", "topic_id", "partition")}
        | {"offset": 0},
    ]


def _known(given: list[Row]) -> Row:
    """Return the member id and the generation of the group's only reader."""
    return {"member_id": given[0]["member_id"], "generation": 1}


def _row(f: F, at_ns: int, number: int, own: Row, **more: object) -> Row:
    """Return a row of an operation that lasts no time. number: to tell several such apart."""
    times = {"t_invoke_ns": at_ns, "t_complete_ns": at_ns}
    numbers = {"op_id": NOT_OURS - 20 + number, "record_index": 0, "session": 0}
    return {"f": f.value, "type": "ok", "final": False} | numbers | times | own | more


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
    "a group skips a record while a member that does not own the partition has a lost poll": by(
        "group-skip", skip_beside_a_lost_poll
    ),
    "a group commits a position behind a record that it never received": by(
        "group-skip", commit_beyond
    ),
}
