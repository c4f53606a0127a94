"""Judge one piece of a history, and combine the opinions on all pieces.

Both engines call `judge` on pieces that hold whole scopes (polars: one piece; Spark: one per bucket
of scopes) and give its rows to `opinions`. So a verdict cannot depend on the engine.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import polars as pl

from linearizability.bounds import NOTHING_STATED, Bounds
from linearizability.checkers.base import Checker, Needs, Scope
from linearizability.checkers.table import CHECKERS
from linearizability.cycles.evidence import run_evidence
from linearizability.evidence.fencing import fencing_evidence
from linearizability.evidence.groups import group_evidence
from linearizability.evidence.transactions import transaction_evidence
from linearizability.ingest import NO_TOPIC_ID, PLACE, places
from linearizability.plans import collect, collect_all, once, sharing, whole
from linearizability.reads.waiting import waiting
from linearizability.verdict import Anomaly, CheckerVerdict, Validity

MAX_ANOMALIES = 100
"""The most anomalies of one checker and kind in a verdict: those come first that only a large error
of a clock can explain, then the first by place and operations. The limit is per kind, since an
excuse for one kind (`clocks`) must see the other kinds."""

ANOMALY, JUDGED, NEED, ERROR = "anomaly", "judged", "need", "error"
_COLUMNS: dict[str, Any] = {
    "checker": pl.String,  # or the name of a need
    "row": pl.String,  # ANOMALY, JUDGED, NEED or ERROR
    "kind": pl.String,
    "op_ids": pl.List(pl.Int64),
    "message": pl.String,
    "blame": pl.String,
    "off_ms": pl.Int64,
    "place": pl.String,  # JSON: the columns that say where
    "checked": pl.Int64,
    "anomalies": pl.Int64,
    "excused": pl.Int64,
}
ROWS = pl.Schema(_COLUMNS)
"""The columns of the result of `judge`: anomalies (the first MAX_ANOMALIES of each kind), and
counts."""

_DESCRIPTION = ("kind", "op_ids", "message", "blame", "off_ms")
_ORDER = ("place", "op_ids", "kind", "message")


_EVIDENCE = {Scope.TRANSACTION: transaction_evidence, Scope.RUN: run_evidence}


def frame_of(events: pl.DataFrame, scope: Scope, bounds: Bounds = NOTHING_STATED) -> pl.LazyFrame:
    """Return the rows that kernels of this scope are given, for a whole resolved history: its
    events, or for some scopes evidence computed from them. The frame is lazy where a copy of the
    events for each scope would double the memory."""
    if scope in (Scope.PARTITION, Scope.TRANSACTION):
        rows = once(_of_partitions, events)
    else:
        rows = events.lazy().filter(scope.rows)
    if scope is Scope.READER:
        return waiting(rows, bounds.stale_after_ns).lazy()
    if scope is Scope.GROUP:
        return group_evidence(rows).rechunk().lazy()
    if scope is Scope.PRODUCER:  # made of small pieces: see `plans.whole`
        return collect(fencing_evidence(rows)).rechunk().lazy()
    tells = _EVIDENCE.get(scope)
    return rows if tells is None else whole(collect(tells(rows))).lazy()


def _of_partitions(events: pl.DataFrame) -> pl.LazyFrame:
    return events.lazy().filter(Scope.PARTITION.rows)


def judge(
    events: pl.LazyFrame,
    scope: Scope,
    checkers: Sequence[str],
    absent: Collection[Needs] = (),
    is_cut: bool = False,
) -> pl.DataFrame:
    """Run all named checkers of this scope over a piece of resolved events, and return ROWS. A
    checker that fails gets a row with its error instead of raising it. absent: needs that do not
    occur in the whole history (`absent_from`). A checker with such a need finds nothing, and only
    counts. is_cut: whether the rows are pieces of partitions that other checkers judge as a whole
    elsewhere; then needs are not counted."""
    counts = [] if is_cut else _needs(events, scope)
    found = []
    names = places(events) if scope is Scope.PARTITION else pl.DataFrame()
    with sharing():
        for name in checkers:
            if CHECKERS[name].scope is not scope:
                continue
            try:
                anomalies, total = _judge_one(events, CHECKERS[name], names, absent)
            except (Exception, pl.exceptions.PanicException) as error:
                problem = f"{type(error).__name__}: {error}".splitlines()[0]
                counts.append({"checker": name, "row": ERROR, "message": problem})
            else:
                counts.append(total)
                if anomalies is not None:
                    found.append(anomalies)
    return pl.concat([_rows(counts), *found])


def _rows(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=ROWS, orient="row")


def _needs(events: pl.LazyFrame, scope: Scope) -> list[dict[str, Any]]:
    """Return a row for each need, with the number of rows of the piece that fulfil it. Return []
    for other scopes than partitions, so that each row counts once."""
    if scope is not Scope.PARTITION:
        return []
    sums = (need.rows.sum().cast(pl.Int64).alias(need.name) for need in Needs)
    found = collect(events.select(sums))
    return [{"checker": n.name, "row": NEED, "checked": found[n.name][0]} for n in Needs]


def _judge_one(
    events: pl.LazyFrame, checker: Checker, names: pl.DataFrame, absent: Collection[Needs]
) -> tuple[pl.DataFrame | None, dict[str, Any]]:
    """Return (the first MAX_ANOMALIES anomalies of each kind as ROWS, or None if there are none;
    the row of counts). names: the partitions' names (`ingest.places`). A checker with a need in
    `absent` finds nothing, and its counts are 0 if that need is in `counted_under`."""
    if not checker.counted_under.isdisjoint(absent):
        return None, _total(checker, 0, 0, 0)
    if not checker.needs.isdisjoint(absent):
        return None, _total(checker, _counted(collect(checker.checked(events))), 0, 0)
    found, judged, left_out = collect_all(
        [checker.anomalies(events), checker.checked(events), checker.excused(events)]
    )
    total = _total(checker, _counted(judged), found.height, _counted(left_out))
    if found.is_empty():
        return None, total
    found = named(found, names)
    where = [name for name in found.columns if name not in _DESCRIPTION]
    rows = found.select(
        *_DESCRIPTION,
        checker=pl.lit(checker.name),
        row=pl.lit(ANOMALY),
        place=pl.struct(where).struct.json_encode(),
        checked=pl.lit(None, dtype=pl.Int64),
        anomalies=pl.lit(None, dtype=pl.Int64),
        excused=pl.lit(None, dtype=pl.Int64),
    ).select(pl.col(name).cast(dtype) for name, dtype in ROWS.items())
    few = _in_order(rows).group_by("kind", maintain_order=True).head(MAX_ANOMALIES)
    return few.select(ROWS.names()), total


def _in_order(anomalies: pl.DataFrame) -> pl.DataFrame:
    """Return the anomalies in the order in which a verdict keeps them: by checker, and first those
    that only a large error of a clock can explain."""
    worst_first = -pl.col("off_ms").fill_null(0)
    return anomalies.sort("checker", worst_first, *_ORDER)


def _counted(judged: pl.DataFrame) -> int:
    checked: int = judged["checked"][0]
    return checked


def _total(checker: Checker, checked: int, anomalies: int, excused: int) -> dict[str, Any]:
    return {
        "checker": checker.name,
        "row": JUDGED,
        "checked": checked,
        "anomalies": anomalies,
        "excused": excused,
    }


def anomalies_of(checker: Checker, events: pl.DataFrame) -> pl.DataFrame:
    """Return every anomaly that one checker finds in a whole resolved history, with the partitions'
    names."""
    found = collect(checker.anomalies(frame_of(events, checker.scope)))
    return named(found, places(events.lazy()))


def named(found: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Return anomalies with the partition's topic, topic_id and number (`ingest.places`) instead of
    its `place`, or unchanged if they have no `place`."""
    if PLACE not in found.columns:
        return found
    return names.join(found, on=PLACE, how="right").drop(PLACE)


def absent_from(events: pl.DataFrame) -> set[Needs]:
    """Return the needs that do not occur in a whole history."""
    found = events.select(need.rows.any().alias(need.name) for need in Needs).row(0, named=True)
    return {need for need in Needs if not found[need.name]}


def opinions(
    rows: pl.DataFrame, checkers: Sequence[str], failed: str | None = None
) -> list[CheckerVerdict]:
    """Return one opinion per checker from the rows of all pieces. failed: why the engine could not
    judge all pieces, if it could not; every checker that found no anomaly is then UNKNOWN."""
    anomalies: dict[str, list[Anomaly]] = defaultdict(list)
    kept: Counter[tuple[str, str]] = Counter()
    for row in _in_order(rows.filter(row=ANOMALY)).iter_rows(named=True):
        kept[row["checker"], row["kind"]] += 1
        if kept[row["checker"], row["kind"]] <= MAX_ANOMALIES:
            anomalies[row["checker"]].append(_anomaly(row))
    occurs: set[str] = set()
    totals: dict[str, tuple[int, int, int]] = {}
    problems: dict[str, str] = {}
    told = (
        rows.filter(pl.col("row") != ANOMALY)
        .group_by("checker", "row")
        .agg(pl.col("checked", "anomalies", "excused").sum(), pl.col("message").min())
    )
    for name, row, checked, total, excused, message in told.iter_rows():
        if row == JUDGED:
            totals[name] = checked, total, excused
        elif row == ERROR:
            problems[name] = message
        elif checked > 0:
            occurs.add(name)
    return [
        _opinion(
            name,
            totals.get(name, (0, 0, 0)),
            tuple(anomalies[name]),
            occurs,
            failed or problems.get(name),
        )
        for name in checkers
    ]


def _opinion(
    name: str,
    totals: tuple[int, int, int],
    anomalies: tuple[Anomaly, ...],
    occurs: set[str],
    problem: str | None,
) -> CheckerVerdict:
    checked, total, excused = totals
    absent = [need.value for need in CHECKERS[name].needs if need.name not in occurs]
    if absent and not problem:  # a judge of one piece may not have known that
        total, excused, anomalies = 0, 0, ()
    left_out = f"{excused:,} left out: {CHECKERS[name].excuse}" if excused else None
    if total:
        validity, reason = Validity.INVALID, problem or left_out
    elif problem:
        validity, reason = Validity.UNKNOWN, problem
    elif absent:
        validity, reason = Validity.NOT_APPLICABLE, f"no {'; no '.join(sorted(absent))}"
    elif checked:
        validity, reason = Validity.VALID, left_out
    elif excused:
        validity, reason = Validity.UNKNOWN, f"all {left_out}"
    else:
        validity, reason = Validity.NOT_APPLICABLE, "nothing to judge"
    return CheckerVerdict(name, validity, checked, anomalies, total, reason, excused)


def _anomaly(row: dict[str, Any]) -> Anomaly:
    place = {k: v for k, v in json.loads(row["place"]).items() if v not in (None, NO_TOPIC_ID)}
    where = (
        f"{place['topic']}-{place['partition']}: " if {"topic", "partition"} <= set(place) else ""
    )
    return Anomaly(
        row["kind"],
        tuple(row["op_ids"]),
        where + row["message"],
        place,
        row["blame"],
        off_ms=row["off_ms"],
    )
