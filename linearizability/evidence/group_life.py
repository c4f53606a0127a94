"""The life of consumer groups: their members, the partitions that each owned, and the records that
the group received.

It is evidence for `Scope.GROUP`. It is computed from a whole history at once, since a group spans
many partitions, and reads only a few columns, and only records of groups and of plain sends.

A group is *watched* while its members poll (at most WATCHED_GAP_NS apart) and there is no fault. If
a duty then takes longer than `limit_ns`, the group is at fault. Whichever members join, leave or
crash, a rebalance ends when all others have joined again, which they do when they poll, or after
the rebalance time-out (max.poll.interval.ms); a member that has crashed is removed after its
session time-out.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import polars as pl

from linearizability.bounds import NEVER
from linearizability.evidence.owed_records import AT, owed, with_positions
from linearizability.excuses.faults import disturbed, faults_of
from linearizability.history import F
from linearizability.ingest import HAS_RECORD, IS_FINAL, IS_OK, IS_POLL
from linearizability.plans import collect, collect_all
from linearizability.reads.inferred_log import ACKNOWLEDGED

NS_PER_MS = 1_000_000
BOUND_NS = 15 * 1_000_000_000
"""The nanoseconds added to the time that the settings allow, since machines are slow and clients
retry."""
HEARTBEAT_NS = 5 * 1_000_000_000
"""The default of group.consumer.heartbeat.interval.ms in nanoseconds: a member that polls learns of
a rebalance within this time."""
SESSION_MS, MAX_POLL_MS = 45_000, 300_000
"""Defaults of session.timeout.ms and max.poll.interval.ms (ConsumerConfig)."""
METADATA_AGE_MS = 300_000
"""The default of metadata.max.age.ms (CommonClientConfigs)."""
LONG_AGO = -(2**60)
"""A time before any other. The difference between it and NEVER still fits into 64 bits."""
WATCHED_GAP_NS = 12 * 1_000_000_000
"""The longest pause between polls, in nanoseconds, during which a group counts as watched. No group
removes a member sooner for not polling."""
FENCED = "FENCED_INSTANCE_ID"
ENDS = (F.LEAVE.value, F.CRASH.value)
Place = tuple[str, int]
Span = tuple[int, int]
OF_GROUP = pl.col("group").is_not_null()


class Member(NamedTuple):
    """One membership of a process, from its subscription until it left, crashed or subscribed
    again. until_ns is NEVER if it did none of these."""

    process: int
    op_id: int
    since_ns: int
    until_ns: int


class Report(NamedTuple):
    """All partitions that a member reported as its own, at one time."""

    process: int
    op_id: int
    at_ns: int
    generation: int | None
    places: frozenset[Place]


class Group(NamedTuple):
    """All that is known of a group, in order of time."""

    name: str
    limit_ns: int
    metadata_age_ns: int
    """The longest time in nanoseconds for which members may not know of a new partition."""
    members: list[Member]
    reports: list[Report]
    polls: pl.DataFrame
    """The columns process, op_id, at_ns (when the poll was invoked), nothing (whether it succeeded
    without a record)."""
    watched: list[Span]
    pauses: list[Pause]
    fenced: frozenset[int]
    """The processes that were told that another one has taken their place (KIP-345)."""


class Pause(NamedTuple):
    """A time, longer than the limit, in which the group received nothing of a partition. highest:
    the highest offset that it had received. known_ns, op_id: the time from which a later record was
    known to be there, and the operation that showed it."""

    place: Place
    highest: int
    since_ns: int
    until_ns: int
    known_ns: int
    op_id: int


class Life(NamedTuple):
    """All groups, the number of partitions of each topic (without topics that were deleted and made
    again), and the time since which each partition is known to exist."""

    groups: list[Group]
    partitions: dict[str, int]
    made_ns: dict[Place, int]


def lives(rows: pl.LazyFrame) -> Life:
    """Return the life of each group of a history, sorted by name. Without any member that
    subscribed, left or crashed before the final phase, all parts of it are empty."""
    before_the_end = ~IS_FINAL
    is_member = pl.col("f").is_in([F.SUBSCRIBE.value, *ENDS]) & OF_GROUP & before_the_end
    members = collect(
        rows.filter(is_member)
        .select("group", "process", "op_id", "f", "t_invoke_ns", "settings", at_ns=AT)
        .sort("t_invoke_ns", "op_id")
    )
    if members.is_empty():
        return Life([], {}, {})
    asked = [
        rows.filter((pl.col("f") == F.OWNED.value) & OF_GROUP)
        .select(
            "group",
            "process",
            "op_id",
            "record_index",
            "topic",
            "partition",
            "generation",
            "t_invoke_ns",
        )
        .sort("process", "op_id", "t_invoke_ns", "record_index"),
        rows.filter(IS_POLL & OF_GROUP)
        .group_by("group", "process", "op_id")
        .agg(
            at_ns=pl.col("t_invoke_ns").min(),
            nothing=(pl.col("offset").is_null() & IS_OK).all(),
            lost_ns=AT.filter(pl.col("offset").is_null() & ~IS_OK).max(),
        )
        .sort("at_ns", "op_id"),
        faults_of(rows),
        rows.filter(pl.col("topic").is_not_null() & pl.col("partition").is_not_null())
        .group_by("topic")
        .agg(count=pl.col("partition").max() + 1, ids=pl.col("topic_id").n_unique()),
        rows.filter((pl.col("f") == F.TOPIC.value) & IS_OK | ACKNOWLEDGED)
        .group_by("topic", "partition")
        .agg(made_ns=pl.col("t_complete_ns").min())
        .drop_nulls(),
        rows.filter(OF_GROUP & (pl.col("error") == FENCED)).select("group", "process").unique(),
    ]
    owned, polls, faults, topics, made, fenced = collect_all(asked)
    disturbances = disturbed(faults)
    groups = [
        _group(
            name,
            members.filter(group=name),
            owned.filter(group=name),
            polls.filter(group=name),
            disturbances,
            frozenset(fenced.filter(group=name)["process"]),
        )
        for name in sorted(set(members["group"]))
    ]
    paused = _pauses(rows, groups, polls)
    return Life(
        [group._replace(pauses=paused.get(group.name, [])) for group in groups],
        {topic: count for topic, count, ids in topics.iter_rows() if ids == 1},
        {(topic, partition): ns for topic, partition, ns in made.iter_rows()},
    )


def _group(
    name: str,
    members: pl.DataFrame,
    owned: pl.DataFrame,
    polls: pl.DataFrame,
    disturbances: list[Span],
    fenced: frozenset[int],
) -> Group:
    return Group(
        name,
        _limit_ns(members["settings"], _longest_without_a_poll(members, polls)),
        _metadata_age_ns(members.filter(pl.col("f") == F.SUBSCRIBE.value)["settings"]),
        list(_members(members)),
        list(_reports(owned)),
        polls,
        _watched(polls["at_ns"], disturbances),
        [],
        fenced,
    )


def _pauses(rows: pl.LazyFrame, groups: list[Group], polls: pl.DataFrame) -> dict[str, list[Pause]]:
    """Return the pauses, by name of the group, in which a record was waiting for the group. Groups
    that were never watched for longer than their limit are left out."""
    limits = {group.name: group.limit_ns for group in groups if _longest(group) > group.limit_ns}
    if not limits:
        return {}
    paused = ["group", "topic", "partition"]
    limit = pl.col("group").replace_strict(limits, default=NEVER, return_dtype=pl.Int64)
    given = rows.filter(HAS_RECORD & OF_GROUP & pl.col("group").is_in(list(limits)))
    lost = polls.lazy().filter(pl.col("lost_ns").is_not_null()).select("group", at_ns="lost_ns")
    # A member that owns a partition of a topic, or may, has subscribed to the whole topic.
    of_groups = rows.filter(
        OF_GROUP & pl.col("topic").is_not_null() & pl.col("group").is_in([*limits])
    )
    subscribed = of_groups.filter(HAS_RECORD | (pl.col("f") == F.OWNED.value)).select(
        "group", "topic"
    )
    partitions = rows.filter(pl.col("partition").is_not_null()).select("topic", "partition")
    places = subscribed.unique().join(partitions.unique(), on="topic").select(paused)
    begun = places.with_columns(offset=pl.lit(-1, dtype=pl.Int64), at_ns=pl.lit(LONG_AGO))
    moments = pl.concat(
        [
            given.select(*paused, "offset", at_ns=AT),
            begun.select(*paused, "offset", pl.col("at_ns").cast(pl.Int64)),
            lost.join(places, on="group").select(
                *paused, pl.lit(-1, dtype=pl.Int64).alias("offset"), "at_ns"
            ),
        ]
    )
    until = pl.col("at_ns").shift(-1).over(paused).fill_null(NEVER)
    pauses = (
        moments.sort("at_ns")
        .with_columns(highest=pl.col("offset").cum_max().over(paused), until_ns=until)
        .filter(pl.col("until_ns") - pl.col("at_ns") > limit)
    )
    # A poll of unknown outcome may have been given all that was there.
    may_have_it = (
        (pl.col("offset") < 0)
        & (pl.col("at_ns") > LONG_AGO)
        & (pl.col("known_ns") <= pl.col("at_ns"))
    )
    known = with_positions(pauses, rows).join(owed(rows), on=["topic", "partition"])
    known = known.filter(
        (pl.col("acked") > pl.max_horizontal("highest", "before_start"))
        & (pl.col("known_ns") > pl.col("untold_ns").fill_null(LONG_AGO))
        & (pl.col("known_ns") < pl.col("until_ns")),
        ~may_have_it,
    )
    first = (
        known.sort("known_ns", "sent_op")
        .group_by(*paused, "at_ns", maintain_order=True)
        .agg(pl.col("highest", "until_ns", "known_ns", "sent_op").first())
    )
    found: dict[str, list[Pause]] = defaultdict(list)
    for group, topic, partition, *told in collect(first.sort(*paused, "at_ns")).iter_rows():
        since_ns, highest, until_ns, known_ns, op_id = told
        pause = Pause((topic, partition), highest, since_ns, until_ns, known_ns, op_id)
        found[group].append(pause)
    return found


def _longest(group: Group) -> int:
    return max((end - start for start, end in group.watched), default=0)


def places_of(group: Group, life: Life) -> set[Place]:
    """Return the partitions that members of a group owned or may have been given. A member that
    owns one partition of a topic has subscribed to the whole topic."""
    owned = {place for report in group.reports for place in report.places}
    topics = {topic for topic, _ in owned}
    others = {place for place in life.made_ns if place[0] in topics}
    return owned | others | {pause.place for pause in group.pauses}


def _limit_ns(settings: pl.Series, slowest_ns: int) -> int:
    """Return the longest time in nanoseconds that a rebalance may take: the longest session
    time-out, plus the time that the slowest member takes to join again (the rebalance time-out at
    most), plus BOUND_NS. slowest_ns: the longest time without a poll."""
    told = [_told(text) for text in settings.drop_nulls().unique()] or [{}]
    session = max(_milliseconds(each, "session.timeout.ms", SESSION_MS) for each in told)
    rebalance = max(_milliseconds(each, "max.poll.interval.ms", MAX_POLL_MS) for each in told)
    joining_ns = min(rebalance * NS_PER_MS, max(slowest_ns, HEARTBEAT_NS))
    return session * NS_PER_MS + joining_ns + BOUND_NS


def _metadata_age_ns(settings: pl.Series) -> int:
    """Return the longest time in nanoseconds that a group may not know of a new partition: 0 if all
    members use the consumer protocol, whose coordinator notices at once (KIP-848), else the default
    of metadata.max.age.ms, since a classic member must refresh its metadata first."""
    told = [_told(text) for text in settings.fill_null("{}").unique()]
    told = [one if isinstance(one, dict) else {} for one in told]
    is_consumer = [one.get("group.protocol") == "consumer" for one in told]
    return 0 if all(is_consumer) else METADATA_AGE_MS * NS_PER_MS


def _longest_without_a_poll(members: pl.DataFrame, polls: pl.DataFrame) -> int:
    """Return the longest time in nanoseconds between two polls of a member, before its first one,
    or after its last one while others still polled. Return NEVER if no member polled."""
    over_ns = polls["at_ns"].max()
    if not isinstance(over_ns, int):
        return NEVER
    longest = 0
    for member in _members(members):
        end_ns = min(member.until_ns, over_ns)
        own = polls.filter(
            pl.col("at_ns").is_between(member.since_ns, end_ns), process=member.process
        )
        edges = [member.since_ns, *own["at_ns"], end_ns]
        longest = max(longest, *(after - before for before, after in pairwise(edges)))
    return longest


def _told(text: str) -> Any:
    """Return the value of a JSON text, usually a dict of settings, or an empty dict if the text is
    not valid JSON or nested too deep."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {}


def _milliseconds(told: Any, name: str, default: int) -> int:
    value = str(told.get(name, "")) if isinstance(told, dict) else ""
    return int(value) if value.isascii() and value.isdigit() and len(value) < 12 else default


def _members(rows: pl.DataFrame) -> Iterator[Member]:
    under_way: dict[int, Member] = {}
    for process, op_id, f, invoked_ns, at_ns in rows.select(
        "process", "op_id", "f", "t_invoke_ns", "at_ns"
    ).iter_rows():
        if before := under_way.pop(process, None):
            yield before._replace(until_ns=invoked_ns)
        if f == F.SUBSCRIBE.value:
            under_way[process] = Member(process, op_id, at_ns, NEVER)
    yield from under_way.values()


def _reports(rows: pl.DataFrame) -> Iterator[Report]:
    """Yield each report. The rows of one operation are one report as long as their partitions
    ascend; a row that does not ascend begins the next report. A row without a topic is a report
    without partitions."""
    report: Report | None = None
    last: Place | None = None
    for process, op_id, topic, partition, generation, at_ns in rows.select(
        "process", "op_id", "topic", "partition", "generation", "t_invoke_ns"
    ).iter_rows():
        place = None if topic is None else (topic, partition)
        same = report is not None and (report.process, report.op_id) == (process, op_id)
        if same and report is not None and last is not None and place is not None and place > last:
            report = report._replace(places=report.places | {place})
        else:
            if report is not None:
                yield report
            names = frozenset() if place is None else frozenset({place})
            report = Report(process, op_id, at_ns, generation, names)
        last = place
    if report is not None:
        yield report


def _watched(polls: pl.Series, disturbances: list[Span]) -> list[Span]:
    """Return the spans in which some member polled without a long break and no fault was in
    progress. polls: the times of all polls, in order."""
    begins = (polls.diff() > WATCHED_GAP_NS).fill_null(True)
    starts, ends = polls.filter(begins), polls.filter(begins.shift(-1, fill_value=True))
    spans = list(zip(starts, ends, strict=True))
    for begun_ns, ended_ns in disturbances:
        spans = [
            part
            for start, end in spans
            for part in ((start, min(end, begun_ns)), (max(start, ended_ns), end))
            if part[0] < part[1]
        ]
    return spans


def within(span: Span, spans: list[Span]) -> Iterator[Span]:
    """Yield the parts of `span` that lie within any of `spans`, in their order."""
    for start, end in spans:
        if max(start, span[0]) < min(end, span[1]):
            yield max(start, span[0]), min(end, span[1])


def live_at(group: Group, at_ns: int) -> set[int]:
    """Return the processes that were members of a group at this time."""
    return {m.process for m in group.members if m.since_ns <= at_ns < m.until_ns}
