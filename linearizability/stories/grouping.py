"""Group anomalies by their cause, and rank the groups.

Two anomalies belong together if they name the same record, the same offset of a partition or of the
same transaction; if they happened in the same partition while the same faults were under way; or if
they are of one family and happened while the same faults were under way. Where no fault explains
them, those of one family in one partition belong together.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from linearizability.guarantees.about import Family
from linearizability.stories.cases import Case, cases_of, faults_of
from linearizability.stories.families import base_of, precedence
from linearizability.stories.model import Group
from linearizability.stories.scene import Record, Scene, scene_of
from linearizability.stories.telling import context, headline, story
from linearizability.verdict import CheckerVerdict, Validity, Verdict


def with_groups(verdict: Verdict, history: pl.LazyFrame) -> Verdict:
    """Return the verdict with its anomalies in groups, each told as a story, and each anomaly with
    its context. history: the one that was judged. Excused anomalies are in no group."""
    anomalies = [anomaly for _, anomaly in verdict.anomalies]
    if not anomalies:
        return replace(verdict, groups=())
    scene = scene_of(history, anomalies)
    cases = list(cases_of(verdict.checkers, scene))
    proven = [c for c in cases if verdict.checkers[c.checker].validity is Validity.INVALID]
    told = iter(
        [context(case.anomaly, case.records, scene, faults_of(case, scene)) for case in cases]
    )
    checkers = {
        name: replace(
            opinion, anomalies=tuple(replace(a, context=next(told)) for a in opinion.anomalies)
        )
        for name, opinion in verdict.checkers.items()
    }
    groups = tuple(groups_of(proven, checkers, scene))
    return replace(verdict, checkers=checkers, groups=groups)


def groups_of(
    cases: Sequence[Case], checkers: Mapping[str, CheckerVerdict], scene: Scene
) -> Iterator[Group]:
    """Yield the groups of these cases, the most serious first, numbered from 1. checkers: the
    opinions that the cases come from."""
    parts = sorted(_together(cases), key=_rank)
    first: dict[tuple[str, Family], int] = {}
    for number, part in enumerate(parts, start=1):
        example = part[0]
        like = first.setdefault((base_of(example.checker), example.family), number)
        members: dict[str, list[int]] = {}
        for case in part:
            members.setdefault(case.checker, []).append(case.position)
        leading = [case for case in part if case.family is example.family]
        records = {_record_key(r) for case in leading for r in case.records}
        faults = faults_of(example, scene)
        yield Group(
            number=number,
            family=example.family.value,
            headline=headline(leading, len(records), is_cut=_is_cut(leading, checkers)),
            story=story(part, len(records), checkers, scene, faults),
            members={name: tuple(sorted(some)) for name, some in members.items()},
            example=(example.checker, example.position),
            partitions=tuple(f"{t}-{p}" for t, p in sorted({p for c in part for p in c.places})),
            records=len(records),
            from_s=scene.seconds(min(case.when_ns[0] for case in part)),
            to_s=scene.seconds(max(case.when_ns[1] for case in part)),
            fault="; ".join(fault.label for fault in faults) or None,
            like=None if like == number else like,
        )


def _is_cut(cases: Sequence[Case], checkers: Mapping[str, CheckerVerdict]) -> bool:
    """Return whether the verdict keeps only some of the anomalies of a checker of these cases."""
    opinions = [checkers[name] for name in {case.checker for case in cases}]
    return any(opinion.anomaly_count > len(opinion.anomalies) for opinion in opinions)


def _together(cases: Sequence[Case]) -> list[list[Case]]:
    """Return the cases grouped by common cause. The first case of a group is the one that the story
    describes."""
    parent = list(range(len(cases)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    first: dict[Hashable, int] = {}
    for i, case in enumerate(cases):
        for key in _causes(case):
            other = root(first.setdefault(key, i))
            parent[max(root(i), other)] = min(root(i), other)
    parts: dict[int, list[Case]] = {}
    for i, case in enumerate(cases):
        parts.setdefault(root(i), []).append(case)
    return [sorted(part, key=_telling_first) for part in parts.values()]


def _causes(case: Case) -> Iterator[Hashable]:
    """Yield the keys of an anomaly; two anomalies that share a key belong to one story."""
    for record in case.records:
        yield "value", record.place, record.value
        yield "offset", record.place, record.offset
    if case.anomaly.scope.get("txn") is not None:
        yield "txn", case.anomaly.scope["txn"]
    if case.episode is not None:
        yield "episode", case.episode, case.family
        yield from (("episode", case.episode, place) for place in case.places)
    else:
        yield from (("family", case.family, place) for place in case.places)
    if not case.places:
        yield "nowhere", case.episode, case.family


def _telling_first(case: Case) -> tuple[object, ...]:
    """Return a sort key that puts the most informative case first: the most serious, then one
    proven against the broker, then one whose record is known from its send to its place, then the
    checker that says it best, then the earliest."""
    way = [record.send is not None and record.offset is not None for record in case.records]
    return (
        case.family.rank,
        case.anomaly.blame != "broker",
        not any(way),
        precedence(case.checker),
        case.when_ns[0],
        case.checker,
        case.position,
    )


def _rank(part: Sequence[Case]) -> tuple[object, ...]:
    """Return the sort key of a group: the most serious groups come first, then those that are
    proven by more."""
    example = part[0]
    records = {_record_key(r) for c in part if c.family is example.family for r in c.records}
    return (
        example.family.rank,
        example.anomaly.blame != "broker",
        -len(records),
        -len(part),
        example.when_ns[0],
        example.checker,
        example.position,
    )


def _record_key(record: Record) -> tuple[object, ...]:
    """Return the identity of a record: its value, or its offset if the value cannot be read."""
    return (
        (*record.place, "value", record.value)
        if record.value is not None
        else (*record.place, "offset", record.offset)
    )
