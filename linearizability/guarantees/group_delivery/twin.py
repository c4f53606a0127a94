"""Judge `group_delivery` again, in plain loops over plain rows."""

from typing import Any

from linearizability.twins.facts import Found, Row, is_data, is_proof, may_be_gone
from linearizability.twins.readings import (
    groups_of,
    is_over,
    moves_of,
    polls_lost_of,
    standing,
    visible,
)


def _stands_to_own(row: Row, lost: Row) -> str | None:
    if is_over(row, lost):
        return "before"
    return "after" if row["t_invoke_ns"] > lost["t_invoke_ns"] else None


def _edges(rows: list[Row], place: Any, group: str) -> list[Row]:
    """Return copies of the rows that show where the group stood: `low`, behind which it must have
    received everything, and `high`, to which it went; either may be None."""
    found = []
    for row in rows:
        if (row["place"], row["group"]) != (place, group) or row["member_id"] is None:
            continue
        low = high = None
        if row["type"] == "ok" and is_data(row):
            low = high = row["offset"]
        elif row["type"] == "ok" and row["f"] == "position" and row["offset"] is not None:
            low = row["offset"] - 1 if row["asked"] in ("earliest", "committed") else None
            high = row["asked_offset"] if row["asked"] == "committed" else None
        elif row["type"] == "ok" and (
            (row["f"] == "commit_offsets" and row["txn"] is None)
            or (row["f"] == "send_offsets" and row["txn_outcome"] == "committed")
        ):
            high = row["offset"]
        else:
            continue
        found.append(row | {"low": low, "high": high})
    return found


def _together(
    rows: list[Row], edges: list[Row], place: Any, group: str
) -> list[tuple[bool, list[Row]]]:
    """Return lists of the edges of the group that have no lost poll between them: (True, edges) for
    each era of the whole group, (False, edges) for each session with an edge that overlaps a lost
    poll."""
    lost = polls_lost_of(rows, place, group)
    eras: dict[Any, list[Row]] = {}
    sessions: dict[Any, list[Row]] = {}
    alone = set()
    for row in edges:
        era = tuple(standing(rows, row, poll, ns) for poll, ns in lost)
        own = tuple(
            _stands_to_own(row, poll) for poll, _ in lost if poll["process"] == row["process"]
        )
        session = (row["process"], row["session"], own)
        if None in era:
            alone.add(session[:2])
        else:
            eras.setdefault(era, []).append(row)
        if None not in own:
            sessions.setdefault(session, []).append(row)
    of_sessions = [some for key, some in sessions.items() if key[:2] in alone]
    return [*((True, some) for some in eras.values()), *((False, some) for some in of_sessions)]


def _lost_between(
    rows: list[Row], edges: list[Row], place: Any, group: str
) -> list[tuple[int, int]]:
    """Return pairs (until, after): a lost poll may have delivered every offset between the two,
    `until` being the highest that the group received before, and `after` the first higher one that
    it received later."""
    lost = polls_lost_of(rows, place, group)
    given: list[tuple[int, int, int]] = []
    for row in edges:
        if is_data(row):
            stands = [standing(rows, row, poll, ns) for poll, ns in lost]
            if None not in stands:
                given.append((stands.count("after"), row["op_id"], row["offset"]))
    found = []
    for era in {number for number, _, _ in given}:
        until = max(offset for number, _, offset in given if number <= era)
        later = [(op, offset) for number, op, offset in given if number > era and offset > until]
        if later:
            found.append((until, min(later)[1]))
    return found


def _left_out(rows: list[Row], place: Any, group: str) -> list[tuple[int, int]]:
    """Return pairs (reached, sought): the group may have left out every offset between the two,
    because a seek, a reset or a start at the log's end moved it there."""
    given = groups_of(rows).get((place, group), [])
    told = [(r["op_id"], 0, 0, r["offset"]) for r in given]
    told += [(r["op_id"], 1, r["offset"], r["offset"] - 1) for r in moves_of(rows, place, group)]
    found, reached = [], -1
    for _, is_move, sought, offset in sorted(told):
        if is_move:
            found.append((reached, sought))
        reached = offset if is_move else max(reached, offset)
    return found


def group_delivery(rows: list[Row]) -> Found:
    found: Found = set()
    for place, group in groups_of(rows):
        edges = _edges(rows, place, group)
        given = {
            r["offset"]
            for r in rows
            if is_data(r)
            and r["place"] == place
            and r["group"] == group
            and r["member_id"] is not None
        }
        log: dict[Any, list[Row]] = {}
        for row in filter(is_proof, rows):
            if row["place"] == place and row["control"] is None and row["value"] is not None:
                log.setdefault((row["offset"], row["value"]), []).append(row)
        for (offset, _), proofs in log.items():
            if may_be_gone(rows, place, offset) or offset in given or not visible(proofs):
                continue
            if any(low < offset < high for low, high in _left_out(rows, place, group)):
                continue
            first = min(proofs, key=lambda r: r["op_id"])
            lost = _lost_between(rows, edges, place, group)
            may_be_lost = any(until < offset < after for until, after in lost)
            around = []
            for over_an_era, some in _together(rows, edges, place, group):
                if over_an_era and may_be_lost:
                    continue
                lows = [(r["low"], r["op_id"]) for r in some if r["low"] is not None]
                highs = [(r["high"], r["op_id"]) for r in some if r["high"] is not None]
                if lows and highs and min(lows)[0] < offset < max(highs)[0]:
                    around.append((min(lows)[1], max(highs)[1]))
            if around:
                numbers = {first["op_id"], *min(around)}
                found.add(("group-skip", tuple(sorted(numbers)), place))
    return found
