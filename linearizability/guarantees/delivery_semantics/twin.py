"""Judge `delivery_semantics` again, in plain loops over plain rows."""

from collections.abc import Iterator
from typing import Any

from linearizability.twins.facts import Found, Row, is_acked, is_leader_answer, may_be_gone
from linearizability.twins.readings import is_given


def delivery_semantics(rows: list[Row]) -> Found:
    found: Found = set()
    for reading, start, end in _readings(rows):
        place, op_id = reading["place"], reading["op_id"]
        given = [
            r["value"] for r in rows if is_given(r) and (r["place"], r["op_id"]) == (place, op_id)
        ]
        sends = [r for r in rows if r["f"] == "send" and r["place"] == place]
        for send in sends:
            if send["value"] is None or [r["value"] for r in sends].count(send["value"]) > 1:
                continue
            copies = given.count(send["value"])
            numbers = tuple(sorted({send["op_id"], op_id}))
            durable = is_acked(send) and send["outcome"] in ("plain", "committed")
            durable = durable or (_is_acked_by_leader(send) and _never_led_by_another(rows, place))
            if (
                durable
                and copies == 0
                and start <= send["offset"] < end
                and send["t_complete_ns"] < reading["t_invoke_ns"]
                and not may_be_gone(rows, place, send["offset"])
            ):
                found.add(("not-delivered", numbers, place))
            if (send["idempotent"] or send["acks"] == 0) and copies > 1:
                found.add(("delivered-twice", numbers, place))
    return found


def _is_acked_by_leader(send: Row) -> bool:
    done = send["type"] == "ok" and send["offset"] is not None
    return bool(done and send["acks"] == 1 and send["outcome"] == "plain")


def _never_led_by_another(rows: list[Row], place: Any) -> bool:
    here = [r for r in rows if r["place"] == place and r["leader_epoch"] is not None]
    said = any(is_leader_answer(r) and r["final"] and r["leader_epoch"] == 0 for r in here)
    return said and all(r["leader_epoch"] <= 0 for r in here)


def _readings(rows: list[Row]) -> Iterator[tuple[Row, int, int]]:
    for row in rows:
        if row["f"] != "read_all" or row["type"] != "ok" or row["replica"] is not None:
            continue
        transactional = any(
            r["f"] == "send" and r["txn"] is not None and r["place"] == row["place"] for r in rows
        )
        ends = [row["high_watermark"]]
        if row["isolation"] == "read_committed" and transactional:
            if row["last_stable_offset"] is None:
                continue
            ends.append(row["last_stable_offset"])
        known = [end for end in ends if end is not None]
        if known:
            yield row, row["log_start"] or 0, min(known)
