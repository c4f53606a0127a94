"""Excuse what is overdue where faults kept a broker from looking.

A broker deletes old segments, and aborts old transactions, when it looks for them. A node that was
killed looks again some time after it is back, and one that was paused looks later. So what is
overdue proves something only if no fault was under way since it began.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import polars as pl

from linearizability.faults import NEVER, disturbed, faults_of
from linearizability.plans import collect
from linearizability.verdict import Anomaly, CheckerVerdict, Validity

OVERDUE: Mapping[tuple[str, str], int] = {
    ("retention", "kept-too-long"): 0,
    ("hanging_transactions", "committed-too-late"): 0,
    # A coordinator that is one no longer, and has not heard of it, knows of no new transaction.
    ("committed_offsets", "told-while-undecided"): 60 * 1_000_000_000,
    ("committed_offsets", "undecided-for-ever"): 60 * 1_000_000_000,
    # A loss of power may take the end of a log that was as long as retention.bytes.
    ("retention", "deleted-below-size"): NEVER,
    # A replica that was away while a tombstone came and went keeps what it removed, and may lead.
    ("compaction", "key-resurrected"): 0,
}
"""Checker and kind of what is found only because a broker did not act in time, or did not know; and
how long before it began a fault may have been the reason."""
REASON = "faults kept a broker from acting in time"


def excused(opinions: Iterable[CheckerVerdict], history: pl.LazyFrame) -> list[CheckerVerdict]:
    """Return the opinions; what is overdue is left out where a fault was under way, and an opinion
    that judged nothing else is unknown."""
    found = list(opinions)
    if not any(map(_overdue_in, found)):
        return found
    loud = disturbed(collect(faults_of(history)))
    return [_without(one, history, loud) for one in found]


def _overdue_in(opinion: CheckerVerdict) -> list[Anomaly]:
    return [each for each in opinion.anomalies if (opinion.name, each.kind) in OVERDUE]


def _without(
    opinion: CheckerVerdict, history: pl.LazyFrame, loud: list[tuple[int, int]]
) -> CheckerVerdict:
    met = [
        each
        for each in _overdue_in(opinion)
        if _meets(each, history, loud, OVERDUE[opinion.name, each.kind])
    ]
    return left_out(opinion, met, REASON) if met else opinion


def left_out(opinion: CheckerVerdict, met: Sequence[Anomaly], reason: str) -> CheckerVerdict:
    """Return the opinion without these anomalies, which it excuses for this reason."""
    left = tuple(each for each in opinion.anomalies if each not in met)
    if left:
        count = opinion.anomaly_count - len(met)
        return replace(opinion, anomalies=left, anomaly_count=count, excused=len(met))
    validity = Validity.VALID if opinion.checked else Validity.UNKNOWN
    told = f"{len(met):,} left out: {reason}"
    return replace(
        opinion, validity=validity, reason=told, anomalies=(), anomaly_count=0, excused=len(met)
    )


def _meets(
    anomaly: Anomaly, history: pl.LazyFrame, loud: list[tuple[int, int]], before_ns: int
) -> bool:
    """Return whether a fault was under way between the first operation and the last."""
    span = collect(
        history.filter(pl.col("op_id").is_in(list(anomaly.operations))).select(
            pl.col("t_invoke_ns").min().alias("begun"), pl.col("t_invoke_ns").max().alias("asked")
        )
    )
    begun_ns, asked_ns = span.row(0)
    return any(start < asked_ns and begun_ns - before_ns < end for start, end in loud)
