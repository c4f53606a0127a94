"""Excuse late deletions and late aborts during faults that kept a broker from performing them.

A broker deletes old segments, and aborts old transactions, when it looks for them. A node that was
killed looks again some time after its restart, and a paused node looks later. So a delay proves an
error only if there was no fault since it began, or if the last fault ended long enough ago: then
the brokers are late for no reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from linearizability.bounds import NEVER
from linearizability.checkers.base import IS_LEADER_ANSWER
from linearizability.evidence.time_outs import SWEEP_NS, longest_of, time_outs_in
from linearizability.excuses.faults import LASTING, disturbed, faults_of, is_heal, name_of
from linearizability.guarantees.retention import rule as retention
from linearizability.history import PARTITION, Type
from linearizability.plans import collect
from linearizability.verdict import Anomaly, CheckerVerdict, Validity

RECOVERED_NS = 60 * 1_000_000_000
"""The nanoseconds that brokers need at most after a heal to elect leaders, load their state, and
look for overdue work."""


UNTOUCHED = frozenset({"CutClients"})
"""Faults that keep no broker from acting, so that they excuse no delay of a broker."""


class Excuse(NamedTuple):
    """The time around an anomaly in which a fault excuses it. A fault counts if it was in progress
    at most `before_ns` before the anomaly began, and until as many nanoseconds after its end as
    `after_ns` returns for the history, or for ever if that is None."""

    before_ns: int = 0
    after_ns: Callable[[pl.LazyFrame], int | None] = lambda _history: None
    proven_ns: Callable[[pl.LazyFrame, Anomaly], int | None] = lambda _history, _anomaly: None
    """The time from which other rows prove that earlier faults had no part in the anomaly, or None
    if nothing proves it."""
    harmless: Set[str] = UNTOUCHED
    """The names of faults that cannot explain the anomaly."""


def _after_a_time_out(history: pl.LazyFrame) -> int | None:
    """Return for how many nanoseconds after a fault the longest transaction of a run may still be
    open, since its time-out may have started again. Return None if that is not known."""
    timeout_ns = longest_of(time_outs_in(history))
    return None if timeout_ns is None else timeout_ns + SWEEP_NS + RECOVERED_NS


def _after_a_look(history: pl.LazyFrame) -> int | None:
    """Return for how many nanoseconds after a fault segments that are due may still be there, or
    None if the topics' settings do not tell it."""
    looked_ns = retention.longest_ns(history)
    return None if looked_ns is None else looked_ns + RECOVERED_NS


KEEP_LOGS = frozenset(
    {
        "Kill",
        "Pause",
        "Shutdown",
        "CutLink",
        "Isolate",
        "CutClients",
        "CutControllers",
        "Split",
        "DelayAnswers",
        "SlowLinks",
        "NarrowLinks",
        "SlowClose",
        "LimitData",
        "StallConnections",
        "DropPackets",
        "LosePackets",
        "ResetConnections",
        "DiskStall",
        "SlowDisk",
        "ClockJump",
        "ClockSkew",
    }
)
"""Faults that take nothing from a log, even if the process ends: the kernel keeps what was
written."""

DAMAGE_FILES = frozenset(
    {
        "BitFlip",
        "DiskDead",
        "DiskFull",
        "DiskReadOnly",
        "FailedSync",
        "FailedWrite",
        "TornWrites",
        "LostNames",
    }
)
"""Faults after which a node may be unable to read a log, or may have given up its directory."""


def _was_longer_ns(history: pl.LazyFrame, anomaly: Anomaly) -> int | None:
    """Return the time at which the last answer was requested that shows a longer log than the
    anomaly's answer does: it begins lower or has more bytes. The log can only have become shorter
    after that. Return None if no earlier answer shows a longer log."""
    place = {name: anomaly.scope[name] for name in PARTITION if name in anomaly.scope}
    columns = ("t_invoke_ns", "t_complete_ns", "log_start", "size_bytes", "op_id")
    answers = collect(
        history.filter(*(pl.col(name) == value for name, value in place.items()), IS_LEADER_ANSWER)
        .filter((pl.col("type") == Type.OK.value) & pl.col("log_start").is_not_null())
        .select(columns)
    )
    read = answers.filter(pl.col("op_id").is_in(list(anomaly.operations))).row(0, named=True)
    was_longer = (pl.col("log_start") < read["log_start"]) | (
        pl.col("size_bytes") > read["size_bytes"]
    ).fill_null(False)
    is_earlier = pl.col("t_complete_ns") < read["t_invoke_ns"]
    proof: int | None = (
        answers.filter(is_earlier & was_longer).select(pl.col("t_invoke_ns").max()).item()
    )
    return proof


OVERDUE: Mapping[tuple[str, str], Excuse] = {
    ("retention", "kept-too-long"): Excuse(after_ns=_after_a_look),
    ("hanging_transactions", "committed-too-late"): Excuse(after_ns=_after_a_time_out),
    # A former leader names the last stable offset that it knows. A coordinator writes the markers
    # when it and the leaders are there.
    ("hanging_transactions", "open-after-its-end"): Excuse(RECOVERED_NS, lambda _: RECOVERED_NS),
    ("hanging_transactions", "open-after-its-time-out"): Excuse(RECOVERED_NS, _after_a_time_out),
    # A former coordinator that does not know its successor does not know new transactions either.
    ("committed_offsets", "told-while-undecided"): Excuse(RECOVERED_NS, lambda _: RECOVERED_NS),
    ("committed_offsets", "undecided-for-ever"): Excuse(RECOVERED_NS, _after_a_time_out),
    # A former leader that does not know its successor lacks what was written since.
    ("poll_skips", "missed-look-up"): Excuse(RECOVERED_NS, lambda _: RECOVERED_NS),
    # A request may wait for minutes in a node that stands still, or in a connection that is cut.
    ("committed_offsets", "commit-took-effect-late"): Excuse(after_ns=lambda _: RECOVERED_NS),
    # A loss of power may take the end of a log that was as long as retention.bytes. Nothing is
    # deleted from it then until it is as long again.
    ("retention", "deleted-below-size"): Excuse(
        NEVER, proven_ns=_was_longer_ns, harmless=KEEP_LOGS
    ),
    # A loss of power may take what a node knew of leaders, until it learns it again.
    ("leader_epochs", "node-in-older-epoch"): Excuse(
        after_ns=lambda _: RECOVERED_NS, harmless=KEEP_LOGS
    ),
    # A loss of power or an unclean election may take the newer producer from the coordinator.
    ("fencing", "superseded-producer"): Excuse(harmless=KEEP_LOGS),
    # A replica that was away while a tombstone came and went keeps what it removed, and may lead.
    ("compaction", "key-resurrected"): Excuse(),
    ("readable_partitions", "unreadable-partition"): Excuse(NEVER, harmless=LASTING - DAMAGE_FILES),
}
"""(checker, kind) of anomalies that exist only because a broker did not act in time, or did not
know something -> the faults that excuse them."""
REASON = "a fault kept a broker from acting in time"


def excused(opinions: Iterable[CheckerVerdict], history: pl.LazyFrame) -> list[CheckerVerdict]:
    """Return the opinions without the anomalies of delay (OVERDUE) that a fault excuses. See
    `left_out` for an opinion with no other anomaly."""
    found = list(opinions)
    if not any(map(_overdue_in, found)):
        return found
    faults = collect(faults_of(history))
    return [_without(one, history, faults) for one in found]


def _strike(details: Iterable[str | None], harmless: Set[str]) -> Iterator[bool]:
    """Yield a bool for each nemesis row. For a fault: whether it may explain an anomaly, which
    harmless ones cannot. For a heal: whether it ended such a fault, or ended none that is known."""
    untouched = struck = False
    for detail in details:
        if is_heal(detail):
            yield struck or not untouched
            untouched = struck = False
        else:
            strikes = name_of(detail) not in harmless
            untouched, struck = untouched or not strikes, struck or strikes
            yield strikes


def _overdue_in(opinion: CheckerVerdict) -> list[Anomaly]:
    return [each for each in opinion.anomalies if (opinion.name, each.kind) in OVERDUE]


def _without(
    opinion: CheckerVerdict, history: pl.LazyFrame, faults: pl.DataFrame
) -> CheckerVerdict:
    met = [
        each
        for each in _overdue_in(opinion)
        if _meets(each, history, faults, OVERDUE[opinion.name, each.kind])
    ]
    return left_out(opinion, met, REASON) if met else opinion


def left_out(opinion: CheckerVerdict, met: Sequence[Anomaly], reason: str) -> CheckerVerdict:
    """Return the opinion without these anomalies, which are counted as excused. If none is left, it
    names the reason, and becomes VALID, or UNKNOWN if it counted no checks or has more anomalies
    than it lists (MAX_ANOMALIES): nobody has looked whether those are excused, too."""
    left = tuple(each for each in opinion.anomalies if each not in met)
    excused = opinion.excused + len(met)
    if left:
        count = opinion.anomaly_count - len(met)
        return replace(opinion, anomalies=left, anomaly_count=count, excused=excused)
    unseen = opinion.anomaly_count - len(opinion.anomalies)
    validity = Validity.VALID if opinion.checked and not unseen else Validity.UNKNOWN
    told = [opinion.reason, f"{len(met):,} left out: {reason}"]
    if unseen:
        told.append(f"{unseen:,} more are not listed, so they may be violations")
    return replace(
        opinion,
        validity=validity,
        reason="; ".join(filter(None, told)),
        anomalies=(),
        anomaly_count=0,
        excused=excused + unseen,
    )


def _meets(anomaly: Anomaly, history: pl.LazyFrame, faults: pl.DataFrame, excuse: Excuse) -> bool:
    """Return whether a fault that is not harmless was in progress between the anomaly's first
    operation (less `before_ns`, but not before what `proven_ns` proves) and its last one, and still
    excuses the anomaly at the time of the last."""
    striking = pl.Series(_strike(faults["detail"], excuse.harmless), dtype=pl.Boolean)
    disturbances = disturbed(faults.filter(striking))
    span = collect(
        history.filter(pl.col("op_id").is_in(list(anomaly.operations))).select(
            pl.col("t_invoke_ns").min().alias("begun"), pl.col("t_invoke_ns").max().alias("asked")
        )
    )
    begun_ns, asked_ns = span.row(0)
    proven_ns = excuse.proven_ns(history, anomaly)
    since_ns = max(begun_ns - excuse.before_ns, -NEVER if proven_ns is None else proven_ns)
    met = [end for start, end in disturbances if start < asked_ns and since_ns < end]
    if not met:
        return False
    after_ns = excuse.after_ns(history)
    return after_ns is None or asked_ns <= max(met) + after_ns
