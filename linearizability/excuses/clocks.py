"""Withdraw verdicts that may be explained by faults that moved brokers' clocks. Some rules judge
brokers by the judge's clock: brokers may delete old records and end long transactions, but measure
age by their own clocks. If faults have set a broker's clock, or changed its speed, by as much as
explains an anomaly (as much as its rule has measured, and no less than its kind needs), the anomaly
proves nothing, and the rule's verdict is UNKNOWN with that reason. Anomalies before the first such
fault still count, and so do those that began RIGHTED_NS or more after the last was healed."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from linearizability.excuses.faults import is_heal
from linearizability.guarantees import abouts
from linearizability.history import F
from linearizability.plans import collect
from linearizability.verdict import Anomaly, CheckerVerdict, Validity

NS_PER_MS = 1_000_000
RIGHTED_NS = 10_000_000_000
"""The nanoseconds after the request for a heal until all clocks are certainly right again."""
EXCUSED_FROM_MS: Mapping[tuple[str, str], int] = {
    (name, kind): moved_ms
    for name, about in abouts().items()
    for kind, moved_ms in about.clocks_ms.items()
}
"""(checker, kind) -> by how many milliseconds clocks must have been moved before that may explain
the anomaly."""


class Move(NamedTuple):
    """A fault that moved clocks: by `by_ms` at once, or by `ppm` millionths of the time that passes
    from then on."""

    name: str
    by_ms: float
    ppm: float
    asked_ns: int = 0
    healed_ns: int | None = None
    """The time at which all clocks were set right, or None if that is not in this history."""


def excused(opinions: Iterable[CheckerVerdict], history: pl.LazyFrame) -> list[CheckerVerdict]:
    """Return the opinions. Make one UNKNOWN if moved clocks may explain all its anomalies, which it
    keeps. Look up the faults only if some opinion depends on clocks."""
    found = list(opinions)
    proofs = {o.name: o.anomalies for o in found if _goes_by_clocks(o)}
    moves = clock_faults(history) if proofs else []
    if not moves:
        return found
    told_ns = _told(history, [anomaly for some in proofs.values() for anomaly in some])
    names = ", ".join(dict.fromkeys(move.name for move in moves))
    reason = f"a fault moved clocks ({names}), and each broker goes by its own clock"
    unproven = {
        name
        for name, anomalies in proofs.items()
        if all(
            max(EXCUSED_FROM_MS[name, anomaly.kind], anomaly.off_ms or 0)
            <= apart_ms(moves, *told_ns[anomaly.operations])
            for anomaly in anomalies
        )
    }
    return [
        replace(opinion, validity=Validity.UNKNOWN, reason=reason)
        if opinion.name in unproven
        else opinion
        for opinion in found
    ]


def _goes_by_clocks(opinion: CheckerVerdict) -> bool:
    """Return whether the opinion is INVALID and moved clocks of brokers may explain each kind of
    its anomalies (at least one of each kind is kept)."""
    return opinion.validity is Validity.INVALID and all(
        (opinion.name, anomaly.kind) in EXCUSED_FROM_MS for anomaly in opinion.anomalies
    )


def _told(
    history: pl.LazyFrame, anomalies: list[Anomaly]
) -> dict[tuple[int, ...], tuple[int, int]]:
    """Return the operations of each anomaly -> (the time at which the last of them ended, the time
    at which the first began). If one never ended, the end of the history is its end."""
    numbers = {number for anomaly in anomalies for number in anomaly.operations}
    when = pl.max_horizontal("t_invoke_ns", "t_complete_ns")
    end = collect(history.select(when.max())).item()
    ended = collect(
        history.filter(pl.col("op_id").is_in(sorted(numbers)))
        .group_by("op_id")
        .agg(pl.col("t_complete_ns").fill_null(end).max(), pl.col("t_invoke_ns").min())
    )
    spans = {op_id: (end_ns, begun_ns) for op_id, end_ns, begun_ns in ended.iter_rows()}
    found = {}
    for anomaly in anomalies:
        own = [spans.get(number, (end, end)) for number in anomaly.operations] or [(end, end)]
        found[anomaly.operations] = max(own)[0], min(begun_ns for _, begun_ns in own)
    return found


def clock_faults(history: pl.LazyFrame) -> list[Move]:
    """Return the faults that moved clocks, in order, each with the time of the heal that ended
    it."""
    told = history.filter(pl.col("f") == F.NEMESIS.value).select("t_invoke_ns", "detail")
    found: list[Move] = []
    healed_ns: int | None = None
    for asked_ns, detail in collect(told).sort("t_invoke_ns", descending=True).iter_rows():
        if is_heal(detail):
            healed_ns = asked_ns
        elif (move := moved_by(detail)) is not None:
            found.append(move._replace(asked_ns=asked_ns, healed_ns=healed_ns))
    return found[::-1]


def moved_by(detail: str | None) -> Move | None:
    """Return the clock move that a fault's JSON describes, its times unset, or None for another
    kind of fault."""
    try:
        fault = json.loads(detail or "")
    except ValueError:
        return None
    if not isinstance(fault, dict):
        return None
    match fault.get("fault"):
        case "ClockJump":
            by_ms = fault.get("by_ms")
            return Move(f"ClockJump by {by_ms} ms", _number(by_ms), 0)
        case "ClockSkew":
            ppm = fault.get("ppm")
            return Move(f"ClockSkew by {ppm} ppm", 0, _number(ppm))
    return None


def apart_ms(moves: Iterable[Move], until_ns: int, since_ns: int = 0) -> float:
    """Return the largest difference in milliseconds that these faults can have caused between any
    two clocks (one of them may be the judge's own) until `until_ns`. Moves between two heals add
    up, since all may hit one node. Ignore a move that was healed more than RIGHTED_NS before
    `since_ns`."""
    ahead: dict[int | None, float] = defaultdict(float)
    behind: dict[int | None, float] = defaultdict(float)
    for move in moves:
        is_over = move.healed_ns is not None and move.healed_ns + RIGHTED_NS < since_ns
        if move.asked_ns <= until_ns and not is_over:
            end_ns = until_ns if move.healed_ns is None else min(move.healed_ns, until_ns)
            lasting_ms = max((end_ns - move.asked_ns) / NS_PER_MS, 1)
            by_ms = move.by_ms + move.ppm * lasting_ms / 1_000_000
            ahead[move.healed_ns] += max(by_ms, 0)
            behind[move.healed_ns] += max(-by_ms, 0)
    return max(ahead.values(), default=0) + max(behind.values(), default=0)


def _number(value: object) -> float:
    """Return a number as it is, and anything else as infinity, since it may mean anything."""
    return value if isinstance(value, int | float) else math.inf
