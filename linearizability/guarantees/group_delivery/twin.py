"""Judge `group_delivery` again, in plain loops over plain rows."""

from typing import Any

from linearizability.twins.facts import Found, Row, is_data, is_proof, may_be_gone, operations
from linearizability.twins.readings import (
    groups_of,
    is_over,
    moves_of,
    polls_lost,
    standing,
    visible,
)


def _stands_to_own(row: Row, lost: Row) -> str | None:
    if is_over(row, lost):
        return "before"
    return "after" if row["t_invoke_ns"] > lost["t_invoke_ns"] else None


def _together(rows: list[Row], reads: list[Row]) -> list[list[Row]]:
    """Return the records that the group received without a lost poll between, once for the whole
    group and once for each session."""
    lost = [(p, ns) for p, ns in polls_lost(rows) if p["group"] == reads[0]["group"]]
    eras: dict[Any, list[Row]] = {}
    sessions: dict[Any, list[Row]] = {}
    alone = set()
    for row in reads:
        era = tuple(standing(rows, row, poll, ns) for poll, ns in lost)
        own = tuple(
            _stands_to_own(row, poll) for poll, _ in lost if poll["process"] == row["process"]
        )
        session = (row["process"], row["session"], own)
        if None in era:
            alone.add(session)
        else:
            eras.setdefault(era, []).append(row)
        if None not in own:
            sessions.setdefault(session, []).append(row)
    return [*eras.values(), *(some for key, some in sessions.items() if key in alone)]


def group_delivery(rows: list[Row]) -> Found:
    found: Found = set()
    for (place, group), reads in groups_of(rows).items():
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
            if any(
                max([r["offset"] for r in reads if r["op_id"] <= seek["op_id"]], default=-1)
                < offset
                < seek["offset"]
                for seek in moves_of(rows, place, group)
            ):
                continue
            first = min(proofs, key=lambda r: r["op_id"])
            around = [
                (low["op_id"], high["op_id"], low, high)
                for some in _together(rows, reads)
                for low in [min(some, key=lambda r: (r["offset"], r["op_id"]))]
                for high in [max(some, key=lambda r: (r["offset"], r["op_id"]))]
                if low["offset"] < offset < high["offset"]
            ]
            if around:
                _, _, low, high = min(around, key=lambda found: found[:2])
                found.add(("group-skip", operations(first, low, high), place))
    return found
