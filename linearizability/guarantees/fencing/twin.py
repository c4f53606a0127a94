"""Judge `fencing` again, in plain loops over plain rows."""

import json
from typing import Any

from linearizability.bounds import NEVER, is_given
from linearizability.twins.facts import Found, Row, is_acked, is_data, is_proof, markers_behind
from linearizability.twins.logs import of_producers, raw_reads
from linearizability.twins.readings import undisturbed_times


def fencing(rows: list[Row]) -> Found:
    found: Found = set()
    for read in raw_reads(rows):
        for own in of_producers(read):
            newest = -1
            for row in own:
                if row["producer_epoch"] is None or row["producer_epoch"] < 0:
                    continue
                if row["producer_epoch"] < newest:
                    found.add(("fenced-epoch-writes", (row["op_id"],), row["place"]))
                newest = max(newest, row["producer_epoch"])
    used = _epochs_written(rows) + _epochs_answered(rows) + _epochs_accepted(rows)
    for kind, producer, epoch, _, _, asked, place in used + _ends_of(rows, used):
        out = [u for u in used if u[1] == producer and u[4] is not None and u[4][0] < asked[0]]
        newest = max((u[2] for u in out), default=-1)
        if epoch < newest or (kind == "reused-epoch" and epoch == newest):
            first = min(u[4] for u in out if u[2] == newest)
            found.add((kind, tuple(sorted({asked[1], first[1]})), place))
    return found | _other_producers(rows) | _fenced_early(rows) | _superseded(rows)


def _other_producers(rows: list[Row]) -> Found:
    found: Found = set()
    if _is_unclean(rows):
        return found
    requests = ("init_producer", "send_offsets", "commit", "abort")
    raised = 2 * (len({r["txn"] for r in rows}) + sum(r["f"] in requests for r in rows))
    inits = [
        r
        for r in rows
        if (r["f"], r["type"]) == ("init_producer", "ok")
        and None not in (r["transactional_id"], r["t_complete_ns"])
        and None not in (r["producer_id"], r["producer_epoch"])
        and r["producer_id"] >= 0
        and r["producer_epoch"] >= 0
    ]
    for init in inits:
        before = [
            r
            for r in inits
            if r["transactional_id"] == init["transactional_id"]
            and r["t_complete_ns"] < init["t_invoke_ns"]
        ]
        last = max(before, key=lambda r: (r["t_complete_ns"], r["op_id"]), default=None)
        if last is None or last["producer_id"] == init["producer_id"]:
            continue
        is_recent = init["t_complete_ns"] - last["t_invoke_ns"] < 60 * 10**9
        if is_recent and last["producer_epoch"] + raised < 2**15 - 2:
            ops = tuple(sorted({last["op_id"], init["op_id"]}))
            found.add(("other-producer-id", ops, init["place"]))
    return found


def _superseded(rows: list[Row]) -> Found:
    """Return an anomaly for each request of a transaction (an end, a sending of offsets, or the
    last send to a partition) that was invoked after InitProducerId had returned to another process.
    That process must have asked after the transaction's own producer was ready, and before its own
    process asked again."""
    found: Found = set()
    if _is_unclean(rows):
        return found
    for begin in rows:
        if (begin["f"], begin["type"]) != ("begin", "ok") or begin["transactional_id"] is None:
            continue
        of_id = [
            r
            for r in rows
            if r["f"] == "init_producer" and r["transactional_id"] == begin["transactional_id"]
        ]
        of_id.sort(key=lambda r: (r["t_invoke_ns"], r["op_id"]))
        mine = [r for r in of_id if r["process"] == begin["process"]]
        before = [r for r in mine if r["t_invoke_ns"] <= begin["t_invoke_ns"]]
        after = [r["t_invoke_ns"] for r in mine if r["t_invoke_ns"] > begin["t_invoke_ns"]]
        is_ready = bool(before) and before[-1]["type"] == "ok"
        since_ns = begin["t_complete_ns"]
        if is_ready and before[-1]["t_complete_ns"] is not None:
            since_ns = before[-1]["t_complete_ns"]
        until_ns = min(after, default=NEVER)
        came = [
            r
            for r in of_id
            if r["process"] != begin["process"]
            and r["type"] == "ok"
            and r["t_complete_ns"] is not None
            and since_ns is not None
            and since_ns < r["t_invoke_ns"] < until_ns
        ]
        if came and begin["txn"] is not None:
            for row in _requests(rows, begin["txn"]):
                if came[0]["t_complete_ns"] < row["t_invoke_ns"] < until_ns:
                    ops = tuple(sorted({row["op_id"], came[0]["op_id"]}))
                    found.add(("superseded-producer", ops, row["place"]))
    return found


def _requests(rows: list[Row], txn: int) -> list[Row]:
    """Return what the broker accepted of a transaction: its last send to each partition that was
    acknowledged or read, its offsets, and its ends if it was not empty and all were acknowledged.
    If no end was acknowledged, but the first commit took effect, add that commit, in no
    partition."""
    own = [r for r in rows if r["txn"] == txn]
    good = [r for r in own if r["type"] == "ok" and r["t_complete_ns"] is not None]
    sends: dict[Any, Row] = {}
    for row in sorted((r for r in own if _is_accepted(rows, r)), key=_when):
        sends[row["place"]] = row
    filling = [*sends.values(), *(r for r in good if r["f"] == "send_offsets")]
    ends = [r for r in own if r["f"] in ("commit", "abort")]
    certain = ends if filling and all(r["type"] == "ok" for r in ends) else []
    commits = [r for r in ends if r["f"] == "commit"]
    if commits and not any(r["type"] == "ok" for r in ends):
        first = min(commits, key=_when)
        if any(_has_taken_effect(rows, send, first) for send in own if _is_sent_once(rows, send)):
            filling.append(first | {"place": (None, "", None)})
    return filling + [r for r in certain if r["t_complete_ns"] is not None]


def _when(row: Row) -> tuple[int, int, int]:
    return row["t_invoke_ns"], row["op_id"], -1 if row["offset"] is None else row["offset"]


def _is_accepted(rows: list[Row], send: Row) -> bool:
    if send["f"] != "send":
        return False
    is_acknowledged = send["type"] == "ok" and send["acks"] == -1
    return is_acknowledged or (_is_sent_once(rows, send) and bool(_reads(rows, send)))


def _is_sent_once(rows: list[Row], send: Row) -> bool:
    record = ("send", send["place"], send["value"])
    same = [r for r in rows if (r["f"], r["place"], r["value"]) == record]
    return send["f"] == "send" and send["value"] is not None and len(same) == 1


def _reads(rows: list[Row], send: Row) -> list[Row]:
    """Return the reads of a record, raw or not."""
    record = (send["place"], send["value"])
    return [r for r in rows if is_data(r) and (r["place"], r["value"]) == record]


def _has_taken_effect(rows: list[Row], send: Row, commit: Row) -> bool:
    """Return whether a read of this record proves that its transaction was committed."""
    for read in _reads(rows, send):
        shown = markers_behind(rows, (read["place"], read["offset"], read["value"]))
        ended_ns = read["t_invoke_ns"] if read["t_complete_ns"] is None else read["t_complete_ns"]
        is_committed = (read["type"], read["isolation"]) == ("ok", "read_committed")
        if (is_committed and ended_ns > commit["t_invoke_ns"]) or "commit" in dict(shown):
            return True
    return False


def _is_unclean(rows: list[Row]) -> bool:
    topics = [json.loads(r["settings"]) for r in rows if r["f"] == "topic" and r["settings"]]
    return any(t.get("unclean.leader.election.enable", "").lower() == "true" for t in topics)


def _fenced_early(rows: list[Row]) -> Found:
    found: Found = set()
    for commit in rows:
        fenced = commit["error"] in ("INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED", "_FENCED")
        done, txn = commit["t_complete_ns"], commit["txn"]
        if commit["f"] != "commit" or commit["type"] == "ok" or not fenced or None in (done, txn):
            continue
        own = [r for r in rows if r["txn"] == txn]
        begins = [r for r in own if (r["f"], r["type"]) == ("begin", "ok")]
        begins = [r for r in begins if r["transactional_id"] is not None]
        asked = any(r["f"] == "abort" and r["t_invoke_ns"] <= done for r in own)
        if not begins or asked or not any(map(is_acked, own)):
            continue
        begin = max(begins, key=lambda r: (r["t_invoke_ns"], r["op_id"]))
        beside = [
            r
            for r in rows
            if r["f"] in ("begin", "init_producer")
            and r["transactional_id"] == begin["transactional_id"]
            and r["t_invoke_ns"] <= done
        ]
        inits = [r for r in beside if r["f"] == "init_producer"]
        ready = [r for r in inits if r["type"] == "ok" and r["t_invoke_ns"] <= begin["t_invoke_ns"]]
        if not ready:
            continue
        init = max(ready, key=lambda r: (r["t_invoke_ns"], r["op_id"]))
        until = {id(r): r["t_complete_ns"] or NEVER for r in beside}
        later = [r for r in inits if r is not init and until[id(r)] >= init["t_invoke_ns"]]
        later += [
            r
            for r in beside
            if r["type"] != "ok" and until[id(r)] >= init["t_invoke_ns"] - 60 * 10**9
        ]
        told = json.loads(init["settings"] or "{}").get("transaction.timeout.ms")
        span = (init["t_invoke_ns"] - 60 * 10**9, done)
        quiet = any(a < span[0] and span[1] < b for a, b in undisturbed_times(rows))
        if told is None or later or not quiet:
            continue
        if done - begin["t_invoke_ns"] < int(told) * 10**6:
            ops = tuple(sorted({commit["op_id"], begin["op_id"]}))
            found.add(("fenced-early", ops, commit["place"]))
    return found


def _epochs_written(rows: list[Row]) -> list[Any]:
    """Return one tuple for the records of each transaction in each partition: the kind of anomaly
    that a later record of an older epoch would be, producer id, epoch, transaction, (time,
    operation) of the first acknowledgement or None, (time, operation) of the last request invoked
    before an append (`_before_append`), place. Leave out records sent more than once, and those
    that raw reads show in no epoch or in several."""
    written: dict[Any, list[Row]] = {}
    for send in rows:
        if send["f"] != "send" or send["txn"] is None or send["value"] is None:
            continue
        record = (send["place"], send["value"])
        times = sum(r["f"] == "send" and (r["place"], r["value"]) == record for r in rows)
        shown = {
            (r["producer_id"], r["producer_epoch"])
            for r in rows
            if is_data(r)
            and is_proof(r)
            and (r["place"], r["value"]) == record
            and is_given(r["producer_id"])
            and is_given(r["producer_epoch"])
        }
        if times == 1 and len(shown) == 1:
            written.setdefault((send["place"], send["txn"], *shown.pop()), []).append(send)
    found = []
    for (place, txn, producer, epoch), sends in written.items():
        acked = [
            (r["t_complete_ns"], r["op_id"])
            for r in sends
            if is_acked(r) and r["t_complete_ns"] is not None
        ]
        asked = max(_before_append(rows, r) for r in sends)
        out = min(acked, default=None)
        found.append(("zombie-writes", producer, epoch, txn, out, asked, place))
    return found


def _before_append(rows: list[Row], send: Row) -> tuple[int, int]:
    """Return (time, operation) of the last request that was certainly invoked before the append of
    this record: the send itself or, if nobody acknowledged it, an acknowledged send of a record at
    or before its place in the log."""
    own = (send["t_invoke_ns"], send["op_id"])
    places = {
        r["offset"]
        for r in rows
        if is_data(r)
        and is_proof(r)
        and is_given(r["producer_id"])
        and is_given(r["producer_epoch"])
        and (r["place"], r["value"]) == (send["place"], send["value"])
    }
    if send["type"] == "ok" or len(places) != 1:
        return own
    (offset,) = places
    before = [r for r in rows if is_acked(r) and r["place"] == send["place"]]
    before = [r for r in before if r["offset"] <= offset]
    latest = min(before, key=lambda r: (-r["t_invoke_ns"], r["offset"], r["op_id"]), default=send)
    return max(own, (latest["t_invoke_ns"], latest["op_id"]), key=lambda each: each[0])


def _epochs_answered(rows: list[Row]) -> list[Any]:
    """Return a tuple in the form of `_epochs_written` for each successful InitProducerId and each
    successful sending of offsets whose producer id and epoch are known."""
    kinds = {"init_producer": "reused-epoch", "send_offsets": "zombie-commits-offsets"}
    return [
        (
            kinds[r["f"]],
            r["producer_id"],
            r["producer_epoch"],
            r["txn"],
            (r["t_complete_ns"], r["op_id"]),
            (r["t_invoke_ns"], r["op_id"]),
            r["place"],
        )
        for r in rows
        if r["f"] in kinds
        and r["type"] == "ok"
        and r["t_complete_ns"] is not None
        and (-1 if r["producer_id"] is None else r["producer_id"]) >= 0
        and (-1 if r["producer_epoch"] is None else r["producer_epoch"]) >= 0
    ]


def _epochs_accepted(rows: list[Row]) -> list[Any]:
    """Return tuples as `_epochs_answered` does, for the epochs that InitProducerId accepted from
    producers that continued after an error (KIP-360); no client learns an epoch from those."""
    return [
        (
            "zombie-rejoins",
            r["producer_id"],
            r["asked_offset"],
            None,
            None,
            (r["t_invoke_ns"], r["op_id"]),
            r["place"],
        )
        for r in rows
        if (r["f"], r["type"], r["asked"]) == ("init_producer", "ok", "epoch")
        and r["t_complete_ns"] is not None
        and (-1 if r["producer_id"] is None else r["producer_id"]) >= 0
        and (-1 if r["asked_offset"] is None else r["asked_offset"]) >= 0
    ]


def _ends_of(rows: list[Row], used: list[Any]) -> list[Any]:
    """Return tuples as `_epochs_answered` does, for the acknowledged ends of transactions whose one
    producer id the tuples in `used` tell; no client learns an epoch from those."""
    found = []
    for end in rows:
        if end["f"] not in ("commit", "abort") or end["type"] != "ok" or end["txn"] is None:
            continue
        own = [u for u in used if u[3] == end["txn"] and u[0] != "reused-epoch"]
        if len({u[1] for u in own}) == 1 and end["t_complete_ns"] is not None:
            asked = (end["t_invoke_ns"], end["op_id"])
            epoch = max(u[2] for u in own)
            found.append(("zombie-ends", own[0][1], epoch, end["txn"], None, asked, end["place"]))
    return found
