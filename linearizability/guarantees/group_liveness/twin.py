"""Judge `group_liveness` again, in plain loops over plain rows."""

import json
from itertools import pairwise
from typing import Any

from linearizability.bounds import NEVER
from linearizability.twins.facts import Row, is_acked
from linearizability.twins.readings import undisturbed_times

SECOND = 1_000_000_000


Span = tuple[int, int]


Place = tuple[str, int]


Told = set[tuple[Any, ...]]
"""A set of (kind, group, topic, partition, process, seconds, op_ids)."""


TURNS = ("subscribe", "leave", "crash")


def group_liveness(rows: list[Row]) -> Told:
    """Return the rows that `group_evidence` returns, including the `watched` ones, computed in
    plain loops."""
    names = {row["group"] for row in rows if _turns(rows, row["group"])}
    return {told for name in names for told in _of_group(rows, name)} | _sessions(rows)


def _of_group(rows: list[Row], group: str) -> Told:
    limit = _limit(rows, group)
    spans = [span for span in _watched(rows, group) if span[1] - span[0] > limit]
    ids: dict[str, set[Any]] = {}
    for row in rows:
        if row["topic"] is not None and row["partition"] is not None:
            ids.setdefault(row["topic"], set()).add(row["topic_id"])
    known = {topic for topic, own in ids.items() if len(own) == 1}
    pauses = _pauses(rows, group, limit) if spans else []
    owned = {place for _, _, _, _, places in _reports(rows, group) for place in places}
    made = _made(rows)
    beside = {place for place in made if place[0] in {topic for topic, _ in owned}}
    paused = {place for place, *_ in pauses}
    places = {place for place in owned | beside | paused if place[0] in known}
    found: Told = set()
    for place in places:
        if spans:
            found.add(("watched", group, *place, None, 0, ()))
        starved = _starved(rows, group, limit, [pause for pause in pauses if pause[0] == place])
        found |= starved
        if not starved:
            found |= _without_owner(rows, group, limit, place, made.get(place, -(2**60)))
        found |= _assigned_twice(rows, group, place)
    if _reports(rows, group) and places:
        found |= _without_part(rows, group, limit, {topic for topic, _ in places})
    return found


# --- members, polls, reports ----------------------------------------------------------------------


def _at(row: Row) -> int:
    done: int | None = row["t_complete_ns"]
    return row["t_invoke_ns"] if done is None else done


def _turns(rows: list[Row], group: str | None) -> list[Row]:
    own = [r for r in rows if r["f"] in TURNS and r["group"] == group and not r["final"]]
    return sorted(own, key=lambda r: (r["t_invoke_ns"], r["op_id"])) if group else []


def _members(rows: list[Row], group: str) -> list[tuple[int, int, int, int]]:
    """Return process, op_id, since and until of each membership. It lasts from the answer to a
    subscribe until the process's next subscribe, leave or crash, else until NEVER."""
    found = []
    for row in _turns(rows, group):
        if row["f"] == "subscribe":
            own = [r for r in _turns(rows, group) if r["process"] == row["process"]]
            later = [r["t_invoke_ns"] for r in own[own.index(row) + 1 :]]
            found.append((row["process"], row["op_id"], _at(row), (later or [NEVER])[0]))
    return found


def _polls(rows: list[Row], group: str) -> list[tuple[int, int, int, bool, int | None]]:
    """Return, for each poll in the order of time, when it was invoked, its operation, its process,
    whether it was answered without records, and when it ended if it failed or had no answer, else
    None."""
    by_op: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        if row["f"] == "poll" and row["group"] == group:
            by_op.setdefault((row["process"], row["op_id"]), []).append(row)
    found = []
    for (process, op_id), own in by_op.items():
        nothing = all(r["offset"] is None and r["type"] == "ok" for r in own)
        lost = [_at(r) for r in own if r["offset"] is None and r["type"] != "ok"]
        asked = min(r["t_invoke_ns"] for r in own)
        found.append((asked, op_id, process, nothing, max(lost, default=None)))
    return sorted(found, key=lambda poll: poll[:2])


def _reports(
    rows: list[Row], group: str
) -> list[tuple[int, int, int, int | None, frozenset[Place]]]:
    """Return process, op_id, time, generation and partitions (maybe none) of each report, process
    by process. Rows of one operation that add partitions are one report."""
    order = ("process", "op_id", "t_invoke_ns", "record_index")
    own = [r for r in rows if r["f"] == "owned" and r["group"] == group]
    runs: list[list[Row]] = []
    for row in sorted(own, key=lambda r: [r[name] for name in order]):
        last = runs[-1][-1] if runs else None
        goes_on = (
            last is not None
            and (last["process"], last["op_id"]) == (row["process"], row["op_id"])
            and None not in (last["topic"], row["topic"])
            and (last["topic"], last["partition"]) < (row["topic"], row["partition"])
        )
        if goes_on:
            runs[-1].append(row)
        else:
            runs.append([row])
    return [
        (
            run[0]["process"],
            run[0]["op_id"],
            run[0]["t_invoke_ns"],
            run[0]["generation"],
            frozenset((r["topic"], r["partition"]) for r in run if r["topic"] is not None),
        )
        for run in runs
    ]


def _owned(rows: list[Row], group: str, place: Place) -> list[tuple[Span, int, int, int | None]]:
    """Return the spans in which a process owned the partition, each with the process, the report
    and its generation. A span ends with the next report of the process, or with its membership,
    else at NEVER."""
    found = []
    for process in {report[0] for report in _reports(rows, group)}:
        own = sorted((r for r in _reports(rows, group) if r[0] == process), key=lambda r: r[2])
        ends = [until for who, _, _, until in _members(rows, group) if who == process]
        for number, (_, op_id, at, generation, places) in enumerate(own):
            over = [ns for ns in ends if ns > at] + [r[2] for r in own[number + 1 : number + 2]]
            if place in places:
                span = at, min(over, default=NEVER)
                found.append((span, process, op_id, generation, own[0][2]))
    found.sort(key=lambda one: (one[0], one[4], one[1]))
    return [one[:4] for one in found]


# --- times ----------------------------------------------------------------------------------------


def _limit(rows: list[Row], group: str) -> int:
    texts = [r["settings"] for r in _turns(rows, group) if r["settings"] is not None]
    told = [json.loads(text) for text in texts] or [{}]
    session = max(int(one.get("session.timeout.ms", 45_000)) for one in told)
    rebalance = max(int(one.get("max.poll.interval.ms", 300_000)) for one in told)
    asked = _polls(rows, group)
    slowest = 5 * SECOND if asked else NEVER
    for process, _, since, until in _members(rows, group):
        end = min(until, asked[-1][0]) if asked else since
        own = [at for at, _, who, _, _ in asked if who == process and since <= at <= end]
        slowest = max([slowest, *(b - a for a, b in pairwise([since, *own, end]))])
    return session * 1_000_000 + min(rebalance * 1_000_000, slowest) + 15 * SECOND


def _watched(rows: list[Row], group: str) -> list[Span]:
    """Return the spans of polls at most 12 s apart in which there was no fault."""
    asked = [at for at, *_ in _polls(rows, group)]
    begins = [b for a, b in pairwise([-NEVER, *asked]) if b - a > 12 * SECOND]
    ends = [a for a, b in pairwise([*asked, NEVER]) if b - a > 12 * SECOND]
    runs = list(zip(begins, ends, strict=True))
    return [span for run in runs for span in _common(run, undisturbed_times(rows))]


def _common(span: Span, others: list[Span]) -> list[Span]:
    both = [(max(span[0], low), min(span[1], high)) for low, high in others]
    return [(low, high) for low, high in both if low < high]


# --- what may be wrong ----------------------------------------------------------------------------


def _pauses(rows: list[Row], group: str, limit: int) -> list[tuple[Place, int, int, int]]:
    """Return (partition, since, until, send) of each span longer than `limit` in which the group
    received nothing of a partition, and no poll got lost, although a record was waiting. send: the
    operation that sent the first such record; since: not before that was acknowledged."""
    of_group = [r for r in rows if r["group"] == group and r["topic"] is not None]
    given = [r for r in of_group if r["f"] == "poll" and r["offset"] is not None]
    topics = {r["topic"] for r in [*given, *(r for r in of_group if r["f"] == "owned")]}
    places = {(r["topic"], r["partition"]) for r in rows if r["topic"] in topics}
    lost = [over for *_, over in _polls(rows, group) if over is not None]
    found = []
    for place in sorted(place for place in places if place[1] is not None):
        here = [(_at(r), r["offset"]) for r in given if (r["topic"], r["partition"]) == place]
        moments = sorted([(-(2**60), -1), *here, *((ns, -1) for ns in lost), (NEVER, -1)])
        for number, ((since, first), (until, _)) in enumerate(pairwise(moments)):
            is_lost = first < 0 and since > -(2**60)
            highest = max(offset for _, offset in moments[: number + 1])
            waiting = [
                (done, op_id)
                for offset, done, op_id in _acked(rows, place)
                if offset > highest and done < until and not (is_lost and done <= since)
                if not _is_passed(rows, group, place, until, offset, done)
            ]
            if until - since > limit and waiting:
                done, op_id = min(waiting)
                found.append((place, max(since, done), until, op_id))
    return found


def _is_passed(
    rows: list[Row], group: str, place: Place, until: int, offset: int, done: int
) -> bool:
    """Return whether a member began above this record before `until`, or at an untold offset when
    the record was there. offset, done: the record's offset, and when it was acknowledged."""
    for row in rows:
        own = (row["f"], row["type"], row["group"]) == ("position", "ok", group)
        if not own or (row["topic"], row["partition"]) != place or _at(row) > until:
            continue
        start = row["offset"]
        if row["asked"] == "earliest" and None not in (start, row["log_start"]):
            start = min(start, row["log_start"])
        if start is None and row["asked"] in ("offset", "committed"):
            start = row["asked_offset"]
        if done <= _at(row) if start is None else offset < start:
            return True
    return False


def _acked(rows: list[Row], place: Place) -> list[tuple[int, int, int]]:
    here = [r for r in rows if (r["topic"], r["partition"]) == place]
    if any((r["f"] == "send" and r["txn"] is not None) or r["key"] is not None for r in here):
        return []
    start = max((r["log_start"] for r in here if r["log_start"] is not None), default=0)
    return [
        (r["offset"], r["t_complete_ns"], r["op_id"])
        for r in here
        if is_acked(r) and r["t_complete_ns"] is not None and r["offset"] >= start
    ]


def _starved(
    rows: list[Row], group: str, limit: int, pauses: list[tuple[Place, int, int, int]]
) -> Told:
    for place, since, until, op_id in pauses:
        for start, end in _common((since, until), _watched(rows, group)):
            live = {who for who, _, a, b in _members(rows, group) if a <= end < b}
            empty = {
                who: op
                for at, op, who, nothing, _ in _polls(rows, group)
                if nothing and end - 15 * SECOND <= at <= end and who in live
            }
            if end - start > limit and live and set(empty) == live:
                proof = tuple(sorted({op_id, *empty.values()}))
                return {("group-starved", group, *place, None, (end - start) // SECOND, proof)}
    return set()


def _made(rows: list[Row]) -> dict[Place, int]:
    """Return partition -> the time since which it is known to exist: when the first topic row for
    it, or the first acknowledgement of a record in it, was complete, whichever came earlier."""
    found: dict[Place, int] = {}
    for row in rows:
        is_told = row["f"] == "topic" and row["type"] == "ok"
        place, done = (row["topic"], row["partition"]), row["t_complete_ns"]
        if (is_told or is_acked(row)) and None not in (*place, done):
            found[place] = min(done, found.get(place, NEVER))
    return found


def _metadata_age(rows: list[Row], group: str) -> int:
    texts = [r["settings"] or "{}" for r in _turns(rows, group) if r["f"] == "subscribe"]
    protocols = {json.loads(text).get("group.protocol") for text in texts}
    return 0 if protocols == {"consumer"} else 300 * SECOND


def _without_owner(rows: list[Row], group: str, limit: int, place: Place, made: int) -> Told:
    reports, owned = _reports(rows, group), _owned(rows, group, place)
    if not reports:
        return set()
    first = min(at for _, _, at, _, _ in reports)
    if made > first:
        first = min([made + _metadata_age(rows, group), *(span[0] for span, *_ in owned)])
    for since in sorted({first, *(span[1] for span, *_ in owned)}):
        if since < first or any(a <= since < b for (a, b), *_ in owned):
            continue
        until = min((a for (a, _), *_ in owned if since < a), default=NEVER)
        before = [op_id for span, _, op_id, _ in owned if span[1] == since > first]
        for start, end in _common((since, until), _watched(rows, group)):
            if end - start > limit:
                polled = [op for at, op, *_ in _polls(rows, group) if at <= end][-1:]
                proof = tuple(sorted({*polled, *before[:1]}))
                seconds = (end - start) // SECOND
                return {("partition-without-owner", group, *place, None, seconds, proof)}
    return set()


def _without_part(rows: list[Row], group: str, limit: int, topics: set[str]) -> Told:
    sizes = {
        topic: 1 + max(r["partition"] for r in rows if r["topic"] == topic) for topic in topics
    }
    largest = max(topics, key=lambda topic: (sizes[topic], topic))
    members = _members(rows, group)
    if sizes[largest] <= len({process for process, *_ in members}):
        return set()
    found: Told = set()
    for process, op_id, since, until in members:
        own = [p for p in _polls(rows, group) if p[2] == process and since <= p[0] < until]
        if not own:
            continue
        told = [
            (r[2], bool(r[4]))
            for r in _reports(rows, group)
            if r[0] == process and since <= r[2] < until
        ]
        steps = [(since, False), *told, (own[-1][0], True)]
        for (begun, has_part), (ended, _) in pairwise(steps):
            for start, end in _common((begun, ended), _watched(rows, group)):
                if not has_part and end - start > limit:
                    proof = tuple(sorted({op_id, own[-1][1]}))
                    told_of = (largest, None, process, (end - start) // SECOND, proof)
                    found.add(("member-without-part", group, *told_of))
    return found


def _assigned_twice(rows: list[Row], group: str, place: Place) -> Told:
    told = [r for r in rows if (r["group"], r["error"]) == (group, "FENCED_INSTANCE_ID")]
    fenced = {r["process"] for r in told}
    owned = [one for one in _owned(rows, group, place) if one[1] not in fenced]
    for number, (span, process, op_id, generation) in enumerate(owned):
        for other, other_process, other_op, other_generation in owned[number + 1 :]:
            alike = generation is not None and generation == other_generation
            if alike and process != other_process and other[0] < span[1]:
                proof = tuple(sorted({op_id, other_op}))
                seconds = (span[1] - span[0]) // SECOND
                return {("assigned-twice", group, *place, None, seconds, proof)}
    return set()


# --- sessions -------------------------------------------------------------------------------------


def _sessions(rows: list[Row]) -> Told:
    """Return a row (of `Told`) for each pair of consecutive requests of a member that no fault
    disturbed: one of the kind of the broken promise, or else of `watched`."""
    found: Told = set()
    own: dict[tuple[str, int, str], list[Row]] = {}
    for row in sorted(rows, key=lambda r: (r["t_invoke_ns"], r["op_id"])):
        who = (row["group"], row["process"], row["member_id"])
        if row["f"] in ("heartbeat", "leave") and None not in (*who, row["t_complete_ns"]):
            own.setdefault(who, []).append(row)
    for (group, process, _), requests in own.items():
        first = requests[0]["t_invoke_ns"]
        for one, other in pairwise(requests):
            span = (first, other["t_complete_ns"])
            quiet = any(a < span[0] and span[1] < b for a, b in undisturbed_times(rows))
            if requests[0]["f"] != "heartbeat" or not quiet:
                continue
            kind = _broken(one, other)
            seconds = (other["t_complete_ns"] - one["t_invoke_ns"]) // SECOND
            told = (seconds, tuple(sorted({one["op_id"], other["op_id"]}))) if kind else (0, ())
            found.add((kind or "watched", group, None, None, process, *told))
    return found


def _broken(one: Row, other: Row) -> str | None:
    is_in = other["type"] == "ok"
    if one["type"] != "ok" or other["f"] != "heartbeat":
        return None
    if one["f"] == "leave":
        return "member-after-leaving" if is_in else None
    session_ms = json.loads(one["settings"] or "{}").get("session.timeout.ms")
    if session_ms is None:
        return None
    session = int(session_ms) * 1_000_000
    if other["type"] == "fail" and other["t_complete_ns"] < one["t_invoke_ns"] + session:
        return "session-cut-short"
    if is_in and other["asked"] == "joining" and (other["asked_offset"] or 0) >= 10_000:
        return "not-told-to-rejoin"
    silence = other["t_invoke_ns"] - one["t_complete_ns"]
    return "session-outlived" if is_in and silence > session + 10 * SECOND else None
