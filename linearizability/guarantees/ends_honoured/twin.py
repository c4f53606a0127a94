"""Judge `ends_honoured` again, in plain loops over plain rows."""

from typing import Any

from linearizability.bounds import NEVER, is_given
from linearizability.twins.facts import (
    Found,
    Row,
    is_acked,
    is_compacted,
    is_data,
    is_proof,
    is_read,
)
from linearizability.twins.transactions import counts, evidence

Shown = tuple[Any, ...]
"""A piece of evidence: (place, offset, kind, value, operations, send_op)."""


OLD_NS = 60 * 10**9
REFUSED_BY_CALL = {
    "_QUEUE_FULL",
    "_STATE",
    "_INVALID_ARG",
    "_UNKNOWN_PARTITION",
    "_UNKNOWN_TOPIC",
    "MESSAGE_TOO_LARGE",
}


KINDS = {
    ("commit", "abort"): "committed-but-not",
    ("commit", "not_in_force"): "committed-but-not",
    ("abort", "commit"): "aborted-but-committed",
    ("abort", "in_force"): "aborted-but-committed",
    ("unasked", "commit"): "committed-unasked",
    ("unasked", "delivered"): "committed-unasked",
    ("unasked", "in_force"): "committed-unasked",
}


def ends_honoured(rows: list[Row]) -> Found:
    found: Found = set()
    for txn in {row["txn"] for row in rows} - {None}:
        own = [row for row in rows if row["txn"] == txn]
        told, end_op = own[0]["told"], own[0]["end_op"]
        shown = _of_records(rows, own) + _late(rows, own) + _of_offsets(rows, txn)
        shown += _unsent(own) if told == "commit" else []
        anomalies: dict[str, list[Shown]] = {}
        kinds = {one[2] for one in shown}
        for one in shown:
            names = [KINDS.get((told, one[2]))]
            names += ["no-marker"] if one[2] == "unmarked" else []
            names += ["joined-after-its-end"] if one[2] == "joined" else []
            names += ["committed-over-failed-send"] if one[2] == "unsent" else []
            if told == "unknown":
                yes, no = {"commit", "delivered", "in_force"}, {"abort", "passed", "not_in_force"}
                torn = one[2] == "in_force" and kinds & no
                torn = torn or (one[2] == "not_in_force" and kinds & yes)
                names += ["torn-offsets"] if torn else []
            for name in filter(None, names):
                anomalies.setdefault(name, []).append(one)
        for name, some in anomalies.items():
            place, _, _, _, ops, send_op = min(some, key=_order)
            numbers = {*ops, send_op} | ({end_op} - {None})
            found.add((name, tuple(sorted(numbers)), (*place, txn)))
    return found


def _order(one: Shown) -> Shown:
    place, offset, kind, value, ops, send_op = one
    return (
        *place,
        -1 if offset is None else offset,
        kind,
        -1 if value is None else value,
        min(ops),
        max(ops),
        send_op,
    )


def _of_records(rows: list[Row], own: list[Row]) -> list[Shown]:
    found: list[Shown] = []
    for send in own:
        if send["f"] != "send" or not counts(rows, send):
            continue
        record = (send["place"], send["offset"])
        for kind, ops in evidence(rows, send) + _unmarked(rows, send) + _followed(rows, send):
            found.append((*record, kind, send["value"], ops, send["op_id"]))
    return found


def _unmarked(rows: list[Row], send: Row) -> list[tuple[str, list[int]]]:
    here, offset = send["place"], send["offset"]
    found: list[tuple[str, list[int]]] = []
    stable = []
    for r in rows:
        if r["place"] != here or r["t_complete_ns"] is None:
            continue
        given = is_data(r) and is_proof(r) and r["isolation"] == "read_committed"
        names = r["f"] in ("poll", "read_all") and r["offset"] is None and r["replica"] is None
        bound = r["offset"] if given else r["last_stable_offset"] if names else None
        if bound is not None and bound > offset:
            stable.append((r["t_complete_ns"], r["op_id"]))
    for whole in rows:
        is_whole = whole["f"] == "read_all" and whole["type"] == "ok" and whole["client"] == "raw"
        if not is_whole or whole["replica"] is not None or whole["place"] != here:
            continue
        raw = [
            r
            for r in rows
            if (r["op_id"], r["place"], r["replica"]) == (whole["op_id"], here, None)
            and is_read(r)
            and r["producer_id"] is not None
        ]
        shown = [
            r
            for r in raw
            if (r["offset"], r["value"], r["control"]) == (offset, send["value"], None)
            and r["producer_id"] >= 0
            and not any(
                m["control"] is not None
                and m["producer_id"] == r["producer_id"]
                and m["offset"] >= offset
                for m in raw
            )
        ]
        is_passed = stable and min(stable)[0] < whole["t_invoke_ns"]
        if shown and is_passed and not is_compacted(rows, here):
            found.append(("unmarked", [whole["op_id"], min(stable)[1]]))
    return found


def _followed(rows: list[Row], send: Row) -> list[tuple[str, list[int]]]:
    here, found = send["place"], []
    raw = [
        r
        for r in rows
        if r["place"] == here and is_read(r) and is_proof(r) and is_given(r["producer_id"])
    ]
    for row in raw:
        if (row["offset"], row["value"], row["control"]) != (send["offset"], send["value"], None):
            continue
        read = (row["op_id"], row["replica"], row["producer_id"])
        behind = [
            r
            for r in raw
            if (r["op_id"], r["replica"], r["producer_id"]) == read and r["offset"] > row["offset"]
        ]
        if behind and not is_compacted(rows, here):
            follower = min(behind, key=lambda r: r["offset"])
            writers = [
                r["txn"]
                for r in rows
                if r["f"] == "send"
                and r["txn"] is not None
                and (r["place"], r["value"]) == (here, follower["value"])
            ]
            is_data_row = follower["control"] is None and follower["value"] is not None
            if is_data_row and len(writers) == 1 and writers[0] != send["txn"]:
                found.append(("unmarked", [row["op_id"]]))
    return found


def _late(rows: list[Row], own: list[Row]) -> list[Shown]:
    found: list[Shown] = []
    sends = [r for r in rows if r["f"] == "send" and r["type"] != "fail" and r["value"] is not None]
    once = [
        r
        for r in sends
        if sum((r["place"], r["value"]) == (s["place"], s["value"]) for s in sends) == 1
    ]
    for send in once:
        end_ns, done_ns = send["end_ns"], send["t_complete_ns"]
        is_early = send["type"] == "ok" and done_ns is not None and end_ns and done_ns <= end_ns
        if send not in own or end_ns is None or is_early:
            continue
        seen = {
            r["offset"]
            for r in rows
            if is_data(r)
            and is_proof(r)
            and (r["place"], r["value"]) == (send["place"], send["value"])
        }
        places = {send["offset"]} if is_acked(send) else seen
        if len(places) != 1:
            continue
        (offset,) = places
        before = [
            (r["t_invoke_ns"], r["op_id"])
            for r in once
            if is_acked(r) and r["place"] == send["place"] and r["offset"] <= offset
        ]
        asked = (send["t_invoke_ns"], send["op_id"])
        if asked[0] <= end_ns:
            asked = max([asked, *before], key=lambda one: one[0])
        if asked[0] > end_ns:
            found.append(
                (send["place"], offset, "joined", send["value"], [asked[1]], send["op_id"])
            )
    return found


def _unsent(own: list[Row]) -> list[Shown]:
    return [
        (row["place"], row["offset"], "unsent", row["value"], [row["op_id"]], row["op_id"])
        for row in own
        if row["f"] == "send" and row["type"] != "ok"
        if row["client"] in ("confluent", "java", "reference")
        if row["client"] != "confluent" or row["error"] not in REFUSED_BY_CALL
        if row["commit_done_ns"] is not None and row["t_invoke_ns"] < row["commit_done_ns"]
    ]


def _of_offsets(rows: list[Row], txn: int) -> list[Shown]:
    found: list[Shown] = []
    for answer in rows:
        fetched = answer["f"] == "fetch_offsets"
        begun = answer["f"] == "position" and answer["asked"] == "committed"
        if not (fetched or begun) or answer["type"] != "ok" or answer["t_complete_ns"] is None:
            continue
        if answer["group"] is None:
            continue
        here = (answer["place"], answer["group"])
        told = answer["offset"] if fetched else answer["asked_offset"]
        as_of_ns = answer["t_invoke_ns"] - (0 if answer["final"] else OLD_NS)
        commits = [
            r
            for r in rows
            if r["f"] in ("commit_offsets", "send_offsets")
            and r["type"] != "fail"
            and r["offset"] is not None
            and (r["place"], r["group"]) == here
        ]
        spans: list[tuple[int, int, Row | None]] = [
            (r["t_invoke_ns"], _over(r), r)
            for r in commits
            if r["t_invoke_ns"] <= answer["t_complete_ns"]
        ]
        spans += [
            (begun_ns, over_ns, None)
            for begun_ns, over_ns in _untold(rows, here)
            if begun_ns <= answer["t_complete_ns"]
        ]
        certain = [r for r in commits if r["txn"] is None or r["told"] == "commit"]
        certain_ns = max((r["t_invoke_ns"] for r in _before(certain, as_of_ns)), default=0)
        writers = [
            c for _, over, c in spans if over >= certain_ns and (c is None or c["offset"] == told)
        ]
        if told is not None and writers and all(c and c["txn"] == txn for c in writers):
            send = min(c["op_id"] for c in writers if c)
            found.append((answer["place"], told, "in_force", None, [answer["op_id"]], send))
        lasting = [r for r in commits if r["txn"] is None or r["told"] != "abort"]
        lasts = [_last(certain, as_of_ns)]
        if fetched:
            last = _last(lasting, as_of_ns)
            lasts += [last] if last not in certain else []
            lasts += [
                r
                for r in _before(lasting, as_of_ns)
                if last not in certain and r not in (*certain, last)
                if r["t_invoke_ns"] > certain_ns
            ]
        for last in lasts:
            if last is None or last["txn"] != txn:
                continue
            is_explained = any(
                over >= last["t_invoke_ns"]
                and (c is None or (c in lasting and c["offset"] == told))
                for _, over, c in spans
            )
            if not is_explained:
                ops = [answer["op_id"]]
                record = (answer["place"], last["offset"], "not_in_force", None)
                found.append((*record, ops, last["op_id"]))
    return found


def _last(commits: list[Row], as_of_ns: int) -> Row | None:
    ended = _before(commits, as_of_ns)
    return min(ended, key=lambda r: (-r["t_invoke_ns"], _since(r), r["op_id"]), default=None)


def _over(commit: Row) -> int:
    done_ns: int | None = commit["t_complete_ns"]
    return done_ns if commit["type"] == "ok" and done_ns is not None else NEVER


def _since(commit: Row) -> int:
    must_wait = commit["txn"] is not None and commit["told"] == "commit"
    return max(_over(commit), commit["end_ns"] if must_wait else 0)


def _before(commits: list[Row], as_of_ns: int) -> list[Row]:
    return [r for r in commits if _over(r) < NEVER and _since(r) < as_of_ns]


def _untold(rows: list[Row], here: tuple[Any, str]) -> list[tuple[int, int]]:
    found = []
    for txn in {r["txn"] for r in rows} - {None}:
        own = [r for r in rows if r["txn"] == txn and (r["place"], r["group"]) == here]
        polls = [r for r in own if r["f"] == "poll" and r["told"] in ("commit", "unknown")]
        sent = [r for r in own if r["f"] == "send_offsets" and r["offset"] is not None]
        if polls and not sent:
            end_ns = polls[0]["end_ns"]
            begun_ns = min(r["t_invoke_ns"] for r in polls)
            found.append((begun_ns, NEVER if end_ns is None else end_ns))
    return found
