"""Judge `exactly_once` again, in plain loops over plain rows."""

from typing import Any

from linearizability.twins.facts import Found, Row, is_data, may_be_gone, operations
from linearizability.twins.readings import groups_of, moves_of, polls_lost_of, seeks_of, standing


def _is_below_what_was_sent(rows: list[Row], read: Row) -> bool:
    """Return whether the read is below an offset that its transaction sent and the coordinator
    accepted, or the transaction sent none of the partition."""
    sent = [
        r
        for r in rows
        if r["f"] == "send_offsets"
        and (r["place"], r["group"], r["txn"]) == (read["place"], read["group"], read["txn"])
    ]
    good = [r["offset"] for r in sent if r["type"] == "ok" and r["offset"] is not None]
    return not sent or any(read["offset"] < offset for offset in good)


def _set_back(rows: list[Row], place: Any, group: str) -> list[tuple[int, int, Any, bool]]:
    """Return (offset, operation, seeker, whether this concerns the positions of the other members)
    of each time that positions were set back. The seeker is the process that sought, or None if a
    commit outside of transactions, the group's first or one below an earlier offset, set all of
    them back."""
    here = [r for r in rows if (r["place"], r["group"]) == (place, group)]
    here.sort(key=lambda r: (r["op_id"], r["offset"] or 0))
    sent = [
        r
        for r in here
        if r["f"] in ("commit_offsets", "send_offsets")
        and r["type"] != "fail"
        and r["offset"] is not None
    ]
    found: list[tuple[int, int, Any, bool]] = []
    for number, row in enumerate(sent):
        most = max((r["offset"] for r in sent[:number]), default=None)
        if row["txn"] is None and (most is None or row["offset"] < most):
            found.append((row["offset"], row["op_id"], None, False))
    for seek in seeks_of(rows, place, group):
        found.append((seek["offset"], seek["op_id"], seek["process"], False))
        own = [
            r["op_id"]
            for r in sent
            if r["process"] == seek["process"]
            and r["op_id"] >= seek["op_id"]
            and r["txn_outcome"] != "aborted"
        ]
        if own:
            found.append((seek["offset"], min(own), seek["process"], True))
    return found


def _is_set_back(back: tuple[int, int, Any, bool], row: Row) -> bool:
    offset, op_id, seeker, of_others = back
    is_own: bool = seeker == row["process"]
    concerned = seeker is None or is_own != of_others
    is_before: bool = op_id < row["op_id"] and offset <= row["offset"]
    return concerned and is_before


def exactly_once(rows: list[Row]) -> Found:
    found: Found = set()
    for (place, group), reads in groups_of(rows).items():
        inputs: dict[Any, list[Row]] = {}
        for row in reads:
            if row["txn_outcome"] == "committed" and _is_below_what_was_sent(rows, row):
                back = [b for b in _set_back(rows, place, group) if _is_set_back(b, row)]
                inputs.setdefault((row["offset"], row["value"], len(back)), []).append(row)
        for readers in inputs.values():
            if len({r["txn"] for r in readers}) > 1:
                found.add(("consumed-twice", operations(*readers), place))
    return found | _consumed_never(rows)


def _consumed_never(rows: list[Row]) -> Found:
    found: Found = set()
    for (place, group), reads in groups_of(rows).items():
        here = [r for r in rows if (r["place"], r["group"]) == (place, group)]
        effects = {
            r["offset"]
            for r in here
            if is_data(r) and r["member_id"] is not None and r["txn_outcome"] != "aborted"
        }
        passing = [
            r for r in reads if r["txn_outcome"] == "committed" and _is_below_what_was_sent(rows, r)
        ]
        passing += [
            r
            for r in here
            if r["type"] == "ok"
            and r["offset"] is not None
            and (
                (r["f"] == "send_offsets" and r["txn_outcome"] == "committed")
                or (r["f"] == "fetch_offsets" and r["final"])
            )
        ]
        aborted: dict[Any, Row] = {}
        for row in reads:
            is_free = row["txn_outcome"] == "aborted" and row["offset"] not in effects
            is_free = is_free and not may_be_gone(rows, place, row["offset"])
            if is_free and _era(rows, row) is not None:
                aborted.setdefault((row["offset"], row["value"]), row)
        for (offset, _), row in aborted.items():
            later = [
                r for r in passing if r["op_id"] > row["op_id"] and _era(rows, r) == _era(rows, row)
            ]
            furthest = max(later, key=lambda r: (r["offset"], r["op_id"]), default=row)
            is_sought_over = any(
                row["op_id"] < seek["op_id"] < furthest["op_id"] and offset < seek["offset"]
                for seek in moves_of(rows, place, group)
            )
            if furthest["offset"] > offset and not is_sought_over:
                found.add(("consumed-never", operations(row, furthest), place))
    return found


def _era(rows: list[Row], row: Row) -> tuple[str | None, ...] | None:
    """Return, for each lost poll of the row's group, whether the row comes before or after it.
    Return None if the row overlaps one of them."""
    lost = polls_lost_of(rows, row["place"], row["group"])
    era = tuple(standing(rows, row, poll, ns) for poll, ns in lost)
    return None if None in era else era
