"""Withdraw verdicts that an unclean election of a leader can explain.

In topics with unclean.leader.election.enable a replica that was not in sync may lead, and losing
the records that it lacks is permitted. Such an election is possible if the history shows a higher
leader epoch of the partition, or a fault that took the in-sync replicas away. It cannot explain an
anomaly whose operations all began after the last of these. If elections may explain all anomalies
of a rule about durability, its verdict is UNKNOWN; otherwise the anomalies that they may explain
are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

import polars as pl

from linearizability.evidence.removals import IS_TOPIC, setting
from linearizability.excuses.faults import disturbed, faults_of
from linearizability.history import F
from linearizability.opinions.confirm import NAME as PORCUPINE
from linearizability.opinions.registers import NAME as REGISTERS
from linearizability.plans import collect
from linearizability.verdict import Anomaly, CheckerVerdict, Validity

OF_DURABILITY = frozenset(
    {
        "lost_writes",
        "unseen_writes",
        "inconsistent_offsets",
        "append_order",
        "poll_order",
        "poll_skips",
        "group_delivery",
        "torn_transactions",
        "hanging_transactions",
        "idempotence",
        "producer_order",
        "compaction",
        "delivery_semantics",
        "high_watermark",
        "leader_epochs",
        PORCUPINE,
        REGISTERS,
    }
)
"""The rules that can be broken only if acknowledged records were lost."""
OF_ABSENCE = frozenset({"unseen_writes"})
"""The checkers whose anomalies name only the send: an election may have lost such a record at any
time until the last read of the whole log."""
REASON = "unclean.leader.election.enable permits the loss of acknowledged records"
ELECTED_NS = 10 * 1_000_000_000
"""The nanoseconds after the heal of a fault in which an election may still follow, since the nodes
come back one by one."""
Place = tuple[str, int | None]
Span = tuple[int, int]


def excused(opinions: Iterable[CheckerVerdict], history: pl.LazyFrame) -> list[CheckerVerdict]:
    """Return the opinions without the anomalies that an unclean election may explain, in rules
    about durability and topics that allow one. An opinion with no others becomes UNKNOWN, and keeps
    them."""
    found = list(opinions)
    if not any(map(_is_of_durability, found)):
        return found
    told = setting("unclean.leader.election.enable").str.to_lowercase()
    allowed = (told == "true").fill_null(False)
    topics = collect(history.filter(IS_TOPIC).filter(allowed).select("topic").unique())["topic"]
    if topics.is_empty():
        return found
    elections = _Elections(history, set(topics))
    return [_without(one, elections) if _is_of_durability(one) else one for one in found]


def _is_of_durability(opinion: CheckerVerdict) -> bool:
    return opinion.validity is Validity.INVALID and opinion.name in OF_DURABILITY


class _Elections:
    """The times at which unclean elections may have taken place."""

    def __init__(self, history: pl.LazyFrame, topics: set[str]) -> None:
        self._history, self._topics = history, topics
        self._disturbances = disturbed(collect(faults_of(history)))
        self._epochs = _epochs(history.filter(pl.col("topic").is_in(sorted(topics))))

    def may_explain(self, opinion: CheckerVerdict) -> list[Anomaly]:
        """Return those of the opinion's anomalies that an unclean election may explain."""
        anomalies = opinion.anomalies
        spans = self._spans({number for one in anomalies for number in one.operations})
        if opinion.name in OF_ABSENCE:
            read_ns = self._last_read_ns()
            spans = {n: (begun, max(over, read_ns)) for n, (begun, over) in spans.items()}
        return [
            one
            for one in anomalies
            if one.scope.get("topic") in self._topics
            and self._may_be_within(one, [spans[n] for n in one.operations if n in spans])
        ]

    def _spans(self, numbers: set[int]) -> dict[int, Span]:
        """Return operation -> the time at which it began and the time at which it ended."""
        found = (
            self._history.filter(pl.col("op_id").is_in(sorted(numbers)))
            .filter(pl.col("f") != F.NEMESIS.value)
            .group_by("op_id")
            .agg(
                begun=pl.col("t_invoke_ns").min(),
                over=pl.coalesce("t_complete_ns", "t_invoke_ns").max(),
            )
        )
        return {op_id: (begun, over) for op_id, begun, over in collect(found).iter_rows()}

    def _last_read_ns(self) -> int:
        """Return the end of the last read of a whole partition, or 0 if there was none."""
        read = self._history.filter(pl.col("f") == F.READ_ALL.value)
        last = collect(read.select(pl.coalesce("t_complete_ns", "t_invoke_ns").max())).item()
        return int(last or 0)

    def _may_be_within(self, anomaly: Anomaly, spans: list[Span]) -> bool:
        if not spans:  # it points at no operation
            return True
        begun_ns = min(begun for begun, _ in spans)
        over_ns = max(over for _, over in spans)
        if any(
            start < over_ns and begun_ns < end + ELECTED_NS for start, end in self._disturbances
        ):
            return True
        topic, number = anomaly.scope["topic"], anomaly.scope.get("partition")
        return any(
            _is_elected_after(begun_ns, epochs)
            for (name, partition), epochs in self._epochs.items()
            if name == topic and number in (None, partition)
        )


def _epochs(rows: pl.LazyFrame) -> Mapping[Place, dict[int, int]]:
    """Return partition -> leader epoch -> the time at which the epoch was first seen."""
    seen = (
        rows.filter(pl.col("leader_epoch") >= 0)
        .group_by("topic", "partition", "leader_epoch")
        .agg(pl.coalesce("t_complete_ns", "t_invoke_ns").min())
    )
    found: dict[Place, dict[int, int]] = defaultdict(dict)
    for topic, partition, epoch, seen_ns in collect(seen).iter_rows():
        found[topic, partition][epoch] = seen_ns
    return found


def _is_elected_after(begun_ns: int, epochs: Mapping[int, int]) -> bool:
    """Return whether a leader may have been elected after this moment: an epoch was seen first
    afterwards, above those seen before, or above another if none was."""
    before = [epoch for epoch, seen_ns in epochs.items() if seen_ns <= begun_ns]
    return max(epochs) > max(before or epochs) or (not before and len(epochs) > 1)


def _without(opinion: CheckerVerdict, elections: _Elections) -> CheckerVerdict:
    met = elections.may_explain(opinion)
    left = tuple(one for one in opinion.anomalies if one not in met)
    if not met:
        return opinion
    if not left:
        return replace(
            opinion,
            validity=Validity.UNKNOWN,
            reason=REASON,
            excused=opinion.excused + opinion.anomaly_count,
        )
    count = opinion.anomaly_count - len(met)
    return replace(opinion, anomalies=left, anomaly_count=count, excused=opinion.excused + len(met))
