"""What cannot be said where a history says that brokers' clocks were moved (nemesis rows).

Some rules hold brokers to our clock: they may delete what is old, and end what lasts too long, and
how old it is they see by their own. Where faults put those forward or back, or made them run at
another pace, such an anomaly proves nothing: the rule is unknown, and says why.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

import polars as pl

from linearizability.history import F
from linearizability.verdict import CheckerVerdict, Validity

DAY_MS = 24 * 60 * 60 * 1000
EXCUSED_FROM_MS: Mapping[tuple[str, str], int] = {
    ("retention", "deleted-too-early"): 1,
    ("compaction", "tombstone-lost-early"): 1,
    ("hanging_transactions", "open-for-too-long"): 1,
    # Their producer expired (producer.id.expiration.ms): its leader knows it no more.
    ("duplicates", "duplicate"): DAY_MS,
    ("producer_order", "sends-reordered"): DAY_MS,
    ("producer_order", "sequence-goes-back"): DAY_MS,
    ("idempotence", "sequence-does-not-follow"): DAY_MS,
    ("fencing", "fenced-epoch-writes"): DAY_MS,
    # The group's positions expired (offsets.retention.minutes).
    ("committed_offsets", "unexplained-offset"): 7 * DAY_MS,
}
"""(checker, kind) -> how far clocks must have been moved that a broker's own may explain it."""


def excused(opinions: Iterable[CheckerVerdict], history: pl.LazyFrame) -> list[CheckerVerdict]:
    """The opinions; those whose anomalies may come of moved clocks are unknown. The history is
    asked for faults only where there is such a one."""
    found = list(opinions)
    if not any(_is_about_time(opinion, math.inf) for opinion in found):
        return found
    moves = clock_faults(history)
    moved_ms = sum(moves.values())
    reason = f"clocks were moved ({', '.join(moves)}), and brokers go by their own"
    return [
        replace(opinion, validity=Validity.UNKNOWN, reason=reason)
        if moves and _is_about_time(opinion, moved_ms)
        else opinion
        for opinion in found
    ]


def _is_about_time(opinion: CheckerVerdict, moved_ms: float) -> bool:
    """Whether it is invalid, and clocks that were moved so far explain all that is known of why."""
    if opinion.validity is not Validity.INVALID:
        return False
    needed = [EXCUSED_FROM_MS.get((opinion.name, anomaly.kind)) for anomaly in opinion.anomalies]
    return all(least_ms is not None and least_ms <= moved_ms for least_ms in needed)


def clock_faults(history: pl.LazyFrame) -> dict[str, float]:
    """Each fault that moved clocks, in words, with how far at most (in ms)."""
    when = pl.max_horizontal("t_invoke_ns", "t_complete_ns").max()
    faults = history.filter(pl.col("f") == F.NEMESIS.value).select("t_invoke_ns", "detail")
    rows, end = pl.collect_all([faults, history.select(when)])
    found: dict[str, float] = {}
    for asked_ns, detail in rows.iter_rows():
        moved = moved_by(detail, (end.item() - asked_ns) / 1_000_000)
        if moved is not None:
            name, by_ms = moved
            found[name] = found.get(name, 0) + by_ms
    return found


def moved_by(detail: str | None, lasting_ms: float) -> tuple[str, float] | None:
    """A clock fault in words, and how far it moved a clock in so long a time; None: it is none."""
    try:
        fault = json.loads(detail or "")
    except ValueError:
        return None
    if not isinstance(fault, dict):
        return None
    match fault.get("fault"):
        case "ClockJump":
            by_ms = fault.get("by_ms")
            return f"ClockJump by {by_ms} ms", _size(by_ms)
        case "ClockSkew":
            ppm = fault.get("ppm")
            return f"ClockSkew by {ppm} ppm", _size(ppm) * max(lasting_ms, 1) / 1_000_000
    return None


def _size(number: object) -> float:
    """What is no number may be anything."""
    return abs(number) if isinstance(number, int | float) else math.inf
