"""Find the duties that groups did not perform in time for their members: the rows that
`group_liveness` judges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from linearizability.bounds import NEVER
from linearizability.evidence.group_life import (
    BOUND_NS,
    LONG_AGO,
    Group,
    Life,
    Pause,
    Place,
    Span,
    live_at,
    lives,
    places_of,
    within,
)
from linearizability.evidence.sessions import Judged, judged_sessions

COLUMNS: Mapping[str, Any] = {
    "kind": pl.String,
    "group": pl.String,
    "topic": pl.String,
    "partition": pl.Int32,
    "process": pl.Int32,
    "seconds": pl.Int64,
    "op_ids": pl.List(pl.Int64),
}
"""The columns of the evidence. kind: WATCHED (a partition of a group, or a member, that was watched
for longer than the limit), or the duty that was not performed."""
WATCHED = "watched"
NO_OWNER, NO_PART = "partition-without-owner", "member-without-part"
STARVED, TWO_OWNERS = "group-starved", "assigned-twice"
NANOSECONDS = 1_000_000_000
Row = dict[str, Any]


def group_evidence(rows: pl.LazyFrame) -> pl.DataFrame:
    """Return the evidence about groups as rows of COLUMNS, from a whole history: the duties that
    groups did not perform, and those that were watched."""
    life = lives(rows)
    found = [row for group in life.groups for row in _of_group(group, life)]
    found += [_of_session(judged) for judged in judged_sessions(rows)]
    return pl.DataFrame(found, schema=pl.Schema(COLUMNS), orient="row")


def _of_session(judged: Judged) -> Row:
    """Return the evidence row for two consecutive requests of a member: the seconds between them if
    they are suspicious, else only that they were checked."""
    seconds = (judged.span_ns[1] - judged.span_ns[0]) // NANOSECONDS
    return {
        "kind": judged.kind or WATCHED,
        "group": judged.group,
        "process": judged.process,
        "seconds": seconds if judged.kind else 0,
        "op_ids": sorted(set(judged.op_ids)) if judged.kind else [],
    }


def _of_group(group: Group, life: Life) -> Iterator[Row]:
    is_watched = any(end - start > group.limit_ns for start, end in group.watched)
    starved: set[Place] = set()
    for pause in group.pauses:
        if pause.place[0] in life.partitions and pause.place not in starved:
            for row in _starved(group, pause):
                starved.add(pause.place)
                yield row
    places = sorted(place for place in places_of(group, life) if place[0] in life.partitions)
    for place in places:
        if is_watched:
            yield _row(WATCHED, group, place=place)
        if group.reports and place not in starved:
            yield from _without_owner(group, place, life.made_ns.get(place, LONG_AGO))
        yield from _assigned_twice(group, place)
    if group.reports:
        topics = {topic for topic, _ in places}
        if topics:
            largest = max(topics, key=lambda topic: (life.partitions[topic], topic))
            yield from _without_part(group, largest, life.partitions[largest])


def _row(
    kind: str,
    group: Group,
    *,
    place: tuple[str, int | None],
    process: int | None = None,
    span: Span = (0, 0),
    op_ids: tuple[int, ...] = (),
) -> Row:
    topic, partition = place
    seconds = (span[1] - span[0]) // NANOSECONDS
    return {
        "kind": kind,
        "group": group.name,
        "topic": topic,
        "partition": partition,
        "process": process,
        "seconds": seconds,
        "op_ids": sorted(set(op_ids)),
    }


def _starved(group: Group, pause: Pause) -> Iterator[Row]:
    """Yield at most one row for a pause: its first watched time, longer than the limit, in which a
    record was waiting in the partition and at whose end the members had received nothing else
    either, so that no backlog explains it."""
    for span in within((max(pause.since_ns, pause.known_ns), pause.until_ns), group.watched):
        if span[1] - span[0] > group.limit_ns and (polls := _drained(group, span[1])):
            yield _row(STARVED, group, place=pause.place, span=span, op_ids=(pause.op_id, *polls))
            return


def _drained(group: Group, end_ns: int) -> tuple[int, ...]:
    """Return the last empty poll of each process that was a member at the end of the pause, or ()
    unless every member had one shortly before."""
    lately = pl.col("at_ns").is_between(end_ns - BOUND_NS, end_ns)
    empty = group.polls.filter("nothing", lately).group_by("process").agg(pl.col("op_id").last())
    last = dict(empty.iter_rows())
    live = live_at(group, end_ns)
    return tuple(last[process] for process in live) if live and live <= set(last) else ()


def _owned(group: Group, place: Place) -> list[tuple[Span, int, int, int | None]]:
    """Return the spans in which each process owned the partition, in the order of their beginnings,
    with the process, and the operation and generation of the report. A span that did not end ends
    at NEVER."""
    by_process = defaultdict(list)
    for report in sorted(group.reports, key=lambda report: report.at_ns):
        by_process[report.process].append(report)
    found = []
    for process, reports in by_process.items():
        ends = [m.until_ns for m in group.members if m.process == process]
        for number, report in enumerate(reports):
            # The next one may be of the same moment, and counts.
            over = [r.at_ns for r in reports[number + 1 : number + 2]]
            over += [ns for ns in ends if ns > report.at_ns]
            if place in report.places:
                span = report.at_ns, min(over, default=NEVER)
                found.append((span, process, report.op_id, report.generation))
    return sorted(found, key=lambda owned: owned[0])


def _without_owner(group: Group, place: Place, made_ns: int) -> Iterator[Row]:
    """Yield one row for the first time in which the group was watched and no member owned the
    partition for longer than a rebalance may take, if there was one. For a partition that was added
    to the topic, the time begins when the group must know of it."""
    owned = _owned(group, place)
    since = min(report.at_ns for report in group.reports)
    if made_ns > since:
        # Once a member has owned it, the group knows of it.
        first = min((start for (start, _), *_ in owned), default=NEVER)
        since = min(made_ns + group.metadata_age_ns, first)
    op_id: int | None = None
    for (start, end), _, number, _ in [*owned, ((NEVER, NEVER), -1, -1, None)]:
        for span in within((since, start), group.watched):
            if span[1] - span[0] > group.limit_ns:
                proof = _polled(group, span[1])
                operations = (*proof, *(() if op_id is None else (op_id,)))
                yield _row(NO_OWNER, group, place=place, span=span, op_ids=operations)
                return
        if end > since:
            since, op_id = end, number


def _polled(group: Group, at_ns: int) -> tuple[int, ...]:
    """Return (operation,) of the group's last poll up to this time, or () if there is none."""
    return tuple(group.polls.filter(pl.col("at_ns") <= at_ns)["op_id"].tail(1))


def _without_part(group: Group, topic: str, partitions: int) -> Iterator[Row]:
    """Yield a row for each watched time, longer than a rebalance may take, in which a member that
    polls owned no partition, although `topic` has more partitions than there are processes that
    were ever members."""
    if partitions <= len({member.process for member in group.members}):
        return
    for member in group.members:
        in_life = (pl.col("at_ns") >= member.since_ns) & (pl.col("at_ns") < member.until_ns)
        polls = group.polls.filter(in_life, process=member.process).tail(1)
        if polls.is_empty():
            continue
        last_op, last_ns = polls.select("op_id", "at_ns").row(0)
        told = [r for r in group.reports if r.process == member.process]
        told = [r for r in told if member.since_ns <= r.at_ns < member.until_ns]
        edges = [member.since_ns, *(r.at_ns for r in told), last_ns]
        owns = [False, *(bool(r.places) for r in told)]
        for start, end, has_part in zip(edges, edges[1:], owns, strict=False):
            for span in within((start, end), group.watched):
                if not has_part and span[1] - span[0] > group.limit_ns:
                    operations = (member.op_id, last_op)
                    yield _row(
                        NO_PART,
                        group,
                        place=(topic, None),
                        process=member.process,
                        span=span,
                        op_ids=operations,
                    )


def _assigned_twice(group: Group, place: Place) -> Iterator[Row]:
    """Yield one row for the first time in which two members owned the partition in one generation
    (KIP-848: epoch), if there was one. Members that were fenced do not count: a static member that
    takes another's place has the same generation (KIP-345), and the other one learns it from its
    next request."""
    owned = [one for one in _owned(group, place) if one[1] not in group.fenced]
    for number, (span, process, op_id, generation) in enumerate(owned):
        for other, other_process, other_op, other_generation in owned[number + 1 :]:
            if other[0] >= span[1]:
                break
            same = generation is not None and generation == other_generation
            if same and process != other_process:
                yield _row(TWO_OWNERS, group, place=place, span=span, op_ids=(op_id, other_op))
                return
