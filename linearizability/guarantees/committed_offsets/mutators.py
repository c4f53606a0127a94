"""Ways to break `committed_offsets`, each with the clause of its promise that it breaks."""

import json
from random import Random

from linearizability.history import NO_GENERATION, F
from linearizability.self_test.clause import Clauses, by
from linearizability.self_test.lookup import (
    NOT_OURS,
    PAST_ITS_TIME_NS,
    changed_row,
    only_committed,
    over_ns,
)
from linearizability.self_test.model.world import Row

HOUR_NS = 3_600_000_000_000


def forget_a_commit(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a group gets a position that was never committed, or at the end none
    although one was acknowledged."""
    asked = [r for r in rows if r["f"] == F.FETCH_OFFSETS and r["type"] == "ok"]
    victims: list[tuple[Row, int | None]] = [(row, NOT_OURS) for row in asked]
    victims += [(row, None) for row in asked if row["final"] and _before(rows, row)]
    if not victims:
        return None
    victim, offset = rng.choice(victims)
    return [changed_row(row, victim, {"offset": offset}) for row in rows]


def commit_for_a_past_generation(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a commit is accepted from a generation that was over when the commit was
    invoked."""
    commits = [r for r in rows if r["f"] == F.COMMIT_OFFSETS and r["type"] == "ok"]
    pairs = [(before, row) for row in commits for before in _before(rows, row)]
    if not pairs:
        return None
    before, victim = rng.choice(pairs)
    older = {"generation": before["generation"] - 1}
    return [changed_row(row, victim, older) for row in rows]


def commit_for_its_own_past(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: a member of a classic group commits with an older generation of its own,
    and the commit is accepted. All commits become those of this one member."""
    broken = commit_for_a_past_generation(rows, rng)
    if broken is None:
        return None
    own = {"member_id": "own"}
    settings = {"settings": json.dumps({"group.protocol": "classic"})}
    commits = [row for row in broken if row["f"] == F.COMMIT_OFFSETS]
    places = {row["partition"]: row for row in commits}
    owned = [
        row | own | settings | {"f": F.OWNED.value, "op_id": NOT_OURS - n, "offset": None}
        for n, row in enumerate(places.values())
    ]
    return [*(row | own if row in commits else row for row in broken), *owned]


def commit_after_losing_the_partition(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: after the end of the run a partition passes from one member to another,
    each in a new generation, and a commit of the first one is accepted."""
    commits = [r for r in rows if r["f"] == F.COMMIT_OFFSETS and r["type"] == "ok"]
    if not commits:
        return None
    victim = rng.choice(commits)
    place = {column: victim[column] for column in ("topic", "partition", "group")}
    newest = max(row.get("generation") or 0 for row in rows)
    settings = json.dumps({"group.protocol": rng.choice(["classic", "consumer"])})
    first = {"generation": newest + 1, "member_id": "first"}
    told = [
        first | {"f": F.OWNED.value, "settings": settings},
        {"generation": newest + 2, "member_id": "second", "f": F.OWNED.value, "settings": settings},
        first | {"offset": 1 + max(row.get("offset") or 0 for row in rows)},
    ]
    return [*rows, *_in_turn(told, place, over_ns(rows) + 1)]


def take_effect_though_fenced(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: after the end of the run two members commit, each in a new generation. Then
    the first one's next commit gets no answer, but takes effect."""
    commits = [r for r in rows if r["f"] == F.COMMIT_OFFSETS and r["type"] == "ok"]
    if not commits:
        return None
    victim = rng.choice(commits)
    place = {column: victim[column] for column in ("topic", "partition", "group")}
    offset = 1 + max(row.get("offset") or 0 for row in rows)
    newest = max(row.get("generation") or 0 for row in commits)
    told = [
        {"generation": newest + 1, "member_id": "first", "offset": offset},
        {"generation": newest + 2, "member_id": "second", "offset": offset + 1},
        {"generation": newest + 1, "member_id": "first", "offset": offset + 2, "type": "info"},
        {"f": F.FETCH_OFFSETS.value, "offset": offset + 2, "final": True},
    ]
    return [*rows, *_in_turn(told, place, over_ns(rows) + 1)]


def _in_turn(told: list[Row], place: Row, at_ns: int) -> list[Row]:
    """Return the rows as operations that no other row belongs to, one after another from the time
    `at_ns` on. told: what each row has besides the columns of a commit in this place."""
    late = [
        {"op_id": NOT_OURS - n, "t_invoke_ns": at_ns + 2 * n, "t_complete_ns": at_ns + 2 * n + 1}
        for n in range(len(told))
    ]
    return [
        _of_nobody(F.COMMIT_OFFSETS) | place | time | row
        for row, time in zip(told, late, strict=True)
    ]


def commit_without_a_member(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: after the end of the run a member commits twice in a new generation, and a
    commit that names no member is accepted in between."""
    commits = [r for r in rows if r["f"] == F.COMMIT_OFFSETS and r["type"] == "ok"]
    if not commits:
        return None
    victim = rng.choice(commits)
    place = {column: victim[column] for column in ("topic", "partition", "group")}
    offset = {"offset": 1 + max(row.get("offset") or 0 for row in rows)}
    newest = max(row.get("generation") or 0 for row in rows)
    own: Row = {"generation": newest + 1, "member_id": "only"} | offset
    nobody: Row = {"generation": NO_GENERATION, "member_id": None} | offset
    told = [own, nobody, own]
    return [*rows, *_in_turn(told, place, over_ns(rows) + 1)]


def commit_after_a_successor(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: two members commit for a partition in one generation, and then the first
    commits once more."""
    commits = [r for r in rows if r["f"] == F.COMMIT_OFFSETS and r["type"] == "ok"]
    pairs = [(before, row) for row in commits for before in _before(rows, row)]
    chains = [(first, *pair) for pair in pairs for first in _before(rows, pair[0])[:1]]
    if not chains:
        return None
    generation = max(row["generation"] for row in commits) + 1
    for victim, member in zip(rng.choice(chains), ("first", "second", "first"), strict=True):
        change = {"generation": generation, "member_id": member}
        rows = [changed_row(row, victim, change) for row in rows]
    return rows


def begin_where_nobody_committed(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: after the end of the run a member begins at an offset, as its group's
    committed one, that nobody has committed."""
    fetches = [r for r in rows if r["f"] == F.FETCH_OFFSETS and r["type"] == "ok"]
    if not fetches:
        return None
    victim = rng.choice(fetches)
    place = {column: victim[column] for column in ("topic", "partition", "group")}
    offset = 1 + max(row.get("offset") or 0 for row in rows)
    told = {"offset": offset, "asked": "committed", "asked_offset": offset, "member_id": "new"}
    at_ns = over_ns(rows) + 1
    time = {"t_invoke_ns": at_ns, "t_complete_ns": at_ns + 1}
    return [*rows, _of_nobody(F.POSITION) | place | told | time]


def take_effect_an_hour_late(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: an hour after the end of the run a position is committed once more, and
    then the group gets the one of an earlier commit of unknown outcome."""
    commits = [row for row in rows if row["f"] == F.COMMIT_OFFSETS and row["type"] == "info"]
    return _replaced_and_back(rows, rng, commits)


def take_effect_after_a_transaction(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: an hour after the end of the run a transaction commits a position, and then
    the group gets the one of an earlier commit of unknown outcome."""
    broken = take_effect_an_hour_late(rows, rng)
    if broken is None:
        return None
    *others, replaced, asked = broken
    of_txn = {"f": F.SEND_OFFSETS.value, "txn": NOT_OURS}
    nowhere = {"topic": None, "partition": None, "group": None, "offset": None}
    over = {"t_invoke_ns": asked["t_invoke_ns"] - 1, "t_complete_ns": asked["t_invoke_ns"] - 1}
    commit = replaced | {"f": F.COMMIT.value, "op_id": NOT_OURS - 2, "txn": NOT_OURS} | nowhere
    sent = replaced | of_txn | {"t_complete_ns": replaced["t_invoke_ns"]}
    return [*others, sent, commit | over, asked]


def put_a_transaction_above_a_later_commit(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: an hour after the end of the run a position is committed once more, and
    then the group gets the one that an earlier transaction had sent."""
    sent = [row for row in rows if row["f"] == F.SEND_OFFSETS and row["type"] == "ok"]
    return _replaced_and_back(rows, rng, sent)


def _replaced_and_back(rows: list[Row], rng: Random, victims: list[Row]) -> list[Row] | None:
    if not victims:
        return None
    victim = rng.choice(victims)
    place = {column: victim[column] for column in ("topic", "partition", "group")}
    at_ns = over_ns(rows) + HOUR_NS
    replaced = {
        "f": F.COMMIT_OFFSETS.value,
        "type": "ok",
        "offset": NOT_OURS,
        "op_id": NOT_OURS - 1,
    }
    later = {"t_invoke_ns": at_ns, "t_complete_ns": at_ns + 1}
    told = {"offset": victim["offset"], "final": True}
    asked = {"t_invoke_ns": at_ns + 2, "t_complete_ns": at_ns + 3}
    return [
        *rows,
        _of_nobody(F.COMMIT_OFFSETS) | place | replaced | later,
        _of_nobody(F.FETCH_OFFSETS) | place | told | asked,
    ]


def _before(rows: list[Row], row: Row) -> list[Row]:
    """Return the commits of the row's group for its partition that were accepted before the row's
    operation was invoked."""
    return [
        r
        for r in rows
        if r["f"] == F.COMMIT_OFFSETS
        and r["type"] == "ok"
        and (r["group"], r["partition"]) == (row["group"], row["partition"])
        and r["t_complete_ns"] < row["t_invoke_ns"]
    ]


def tell_while_undecided(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: OffsetFetch returns an offset that an undecided transaction has sent."""
    asked = only_committed(rows)
    victims = [
        row
        for row in rows
        if row["f"] == F.SEND_OFFSETS
        and row["type"] == "ok"
        and asked.get(row["txn"], 0) > row["t_complete_ns"] + 2
    ]
    if not victims:
        return None
    victim = rng.choice(victims)
    told = {column: victim[column] for column in ("topic", "partition", "group", "offset")}
    times = {"t_invoke_ns": victim["t_complete_ns"] + 1, "t_complete_ns": asked[victim["txn"]] - 1}
    return [*rows, _of_nobody(F.FETCH_OFFSETS) | told | times]


def stay_undecided_for_ever(rows: list[Row], rng: Random) -> list[Row] | None:
    """Plant an anomaly: OffsetFetch says that an offset is not stable, minutes after all
    transactions that had sent one for it were acknowledged as ended."""
    ends = [row for row in rows if row["f"] in (F.COMMIT, F.ABORT)]
    ended = {row["txn"] for row in ends if row["type"] == "ok"}
    sent = [row for row in rows if row["f"] == F.SEND_OFFSETS and row["type"] != "fail"]
    undecided = {_place(row) for row in sent if row["txn"] not in ended}
    victims = [row for row in sent if row["type"] == "ok" and _place(row) not in undecided]
    if not victims:
        return None
    victim = rng.choice(victims)
    told = {column: victim[column] for column in ("topic", "partition", "group")}
    asked_ns = over_ns(rows) + PAST_ITS_TIME_NS
    late = {"t_invoke_ns": asked_ns, "t_complete_ns": asked_ns + 1}
    refused = {"type": "fail", "error": "UNSTABLE_OFFSET_COMMIT", "final": True}
    return [*rows, _of_nobody(F.FETCH_OFFSETS) | told | refused | late]


def _place(row: Row) -> tuple[str, int, str]:
    return row["topic"], row["partition"], row["group"]


def _of_nobody(f: F) -> Row:
    own = {"op_id": NOT_OURS, "process": NOT_OURS, "session": 0, "record_index": 0, "final": False}
    return own | {"f": f.value, "type": "ok"}


CLAUSES: Clauses = {
    "a group gets an offset that no commit explains, or none after a commit": by(
        "unexplained-offset forgotten-offset", forget_a_commit
    ),
    "a member begins at an offset that no commit of its group explains": by(
        "unexplained-offset", begin_where_nobody_committed
    ),
    "a commit takes effect after a later commit had replaced it": by(
        "commit-took-effect-late unexplained-offset",
        take_effect_an_hour_late,
        take_effect_after_a_transaction,
        put_a_transaction_above_a_later_commit,
    ),
    "a commit in an older generation is accepted": by(
        "old-generation-commits",
        commit_for_a_past_generation,
        commit_for_its_own_past,
        commit_after_losing_the_partition,
    ),
    "a commit of unknown outcome takes effect although its generation was over": by(
        "unexplained-offset", take_effect_though_fenced
    ),
    "a commit that names no member is accepted while the group has one": by(
        "commit-without-member", commit_without_a_member
    ),
    "a member commits after its successor within a generation": by(
        "two-owners", commit_after_a_successor
    ),
    "a group gets an offset while the transaction that sent it is undecided": by(
        "told-while-undecided", tell_while_undecided
    ),
    "a group is told that an offset is not stable although all transactions have ended": by(
        "undecided-for-ever", stay_undecided_for_ever
    ),
}
