"""Judge the partition logs of a history: the fast kernel first, then porcupine as second opinion.

The kernel (`append_order.py`) judges every append and names what is wrong. Porcupine searches whole
partitions window by window, and of each broken one the window around the first contradiction, which
it draws. The two can only disagree by a bug of ours; then the verdict is UNKNOWN, with that reason.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from linearizability.history import PARTITION
from linearizability.ingest import KEY
from linearizability.porcupy import check
from linearizability.porcupy.append_order import (
    anomalies_with_offsets,
    append_order_anomalies,
    checked,
)
from linearizability.porcupy.result import Annotation, PartitionResult
from linearizability.porcupy.windows import Logs, faults, logs_of, tiles, window, within
from linearizability.verdict import Anomaly, Validity

__all__ = ["PartitionLogResult", "append_order_anomalies", "checked", "judge_partition_logs"]

MOST_ANOMALIES = 100
"""The most anomalies to keep per partition; `anomaly_count` is the full number."""
MOST_DRAWINGS = 10
MOST_SEARCHED = 50_000
"""The most operations to give to porcupine in windows of whole partitions, which takes a few
seconds."""


@dataclass(frozen=True)
class PartitionLogResult:
    """The verdict on one partition.

    appends: the number of appends that the kernel judged. porcupine: the result of the search over
    `searched` operations, or NOT_APPLICABLE if there was no search. html: the drawing of the first
    contradiction. reason: what is odd about the verdict, e.g. why the search did not finish.
    """

    topic: str
    topic_id: str | None
    partition: int
    verdict: Validity
    appends: int
    anomalies: tuple[Anomaly, ...] = ()
    anomaly_count: int = 0
    porcupine: Validity = Validity.NOT_APPLICABLE
    searched: int = 0
    html: Path | None = None
    reason: str | None = None


@dataclass(frozen=True)
class _Limits:
    timeout_s: float
    memory_mib: int


def judge_partition_logs(
    events: pl.LazyFrame,
    *,
    confirm: bool = True,
    html_dir: Path | None = None,
    timeout_s: float = 60,
    memory_mib: int = 1024,
) -> list[PartitionLogResult]:
    """Return the verdict on every partition with an append whose place is known, in the order of
    the partitions.

    confirm: have porcupine judge too. html_dir: the folder into which it draws the first
    MOST_DRAWINGS broken partitions, or None to draw none. timeout_s, memory_mib: the limits of each
    search.
    """
    logs, limits = logs_of(events), _Limits(timeout_s, memory_mib)
    found = (
        anomalies_with_offsets(events).collect().join(logs.partitions, on=KEY).sort("pid", "offset")
    )
    counts = dict(logs.appends.group_by("pid").len().iter_rows())
    results = {
        row["pid"]: _by_kernel(row, counts[row["pid"]], found.filter(pl.col("pid") == row["pid"]))
        for row in logs.partitions.iter_rows(named=True)
    }
    if confirm:
        _confirm_valid(results, logs, limits)
        _confirm_broken(results, logs, found, faults(events), html_dir, limits)
    return list(results.values())


def _by_kernel(
    partition: dict[str, str | int], appends: int, found: pl.DataFrame
) -> PartitionLogResult:
    scope = {name: partition[name] for name in PARTITION}
    anomalies = tuple(
        Anomaly(row["kind"], tuple(row["op_ids"]), row["message"], scope, "broker")
        for row in found.head(MOST_ANOMALIES).iter_rows(named=True)
    )
    return PartitionLogResult(
        **scope,  # type: ignore[arg-type]
        verdict=Validity.INVALID if anomalies else Validity.VALID,
        appends=appends,
        anomalies=anomalies,
        anomaly_count=len(found),
    )


def _confirm_valid(results: dict[int, PartitionLogResult], logs: Logs, limits: _Limits) -> None:
    """Have porcupine search, window by window, the partitions that the kernel found valid, and put
    what it finds into `results`. A contradiction between the two makes the result UNKNOWN."""
    good = {pid for pid, result in results.items() if result.verdict is Validity.VALID}
    if not good:
        return
    kept = pl.col("pid").is_in(good)
    logs = replace(logs, appends=logs.appends.filter(kept), polls=logs.polls.filter(kept))
    operations, pid_of_key = tiles(logs, MOST_SEARCHED)
    answer = check(
        "partition_log", operations, timeout_s=limits.timeout_s, memory_mib=limits.memory_mib
    )
    windows = defaultdict[int, list[PartitionResult]](list)
    for judged in answer.partitions:
        windows[pid_of_key[judged.key]].append(judged)
    for pid in good:
        results[pid] = _with_search(
            results[pid], windows[pid], pid_of_key.count(pid), answer.reason
        )


def _with_search(
    result: PartitionLogResult, judged: Sequence[PartitionResult], asked: int, reason: str | None
) -> PartitionLogResult:
    """Return a valid partition with the result of the search. The kernel needs no confirmation (it
    is exact); only a contradiction changes the verdict, to UNKNOWN. judged: its windows that were
    searched; asked: how many there are; reason: why the search ended early, if it did."""
    searched = sum(part.operations for part in judged)
    verdicts = {part.verdict for part in judged}
    if Validity.INVALID in verdicts:
        return replace(
            result,
            verdict=Validity.UNKNOWN,
            porcupine=Validity.INVALID,
            searched=searched,
            reason="porcupine finds no valid order of the operations, but Touchstone's own search "
            "found nothing broken: a bug of Touchstone",
        )
    if Validity.UNKNOWN in verdicts or len(judged) < asked:
        return replace(
            result,
            porcupine=Validity.UNKNOWN,
            searched=searched,
            reason=f"porcupine could not confirm it: {reason}",
        )
    if not judged:
        return replace(result, reason="porcupine did not search it: the history is too large")
    return replace(result, porcupine=Validity.VALID, searched=searched)


def _confirm_broken(
    results: dict[int, PartitionLogResult],
    logs: Logs,
    found: pl.DataFrame,
    annotations: Sequence[Annotation],
    html_dir: Path | None,
    limits: _Limits,
) -> None:
    """Have porcupine search, and draw, the window around the first anomaly of each of the first
    MOST_DRAWINGS broken partitions, and put what it finds into `results`. If it finds a legal order
    there, the result becomes UNKNOWN."""
    for drawn, pid in enumerate(p for p, r in results.items() if r.verdict is Validity.INVALID):
        if drawn >= MOST_DRAWINGS:
            results[pid] = replace(results[pid], reason="not drawn: too many partitions are broken")
            continue
        first = found.filter(pl.col("pid") == pid).row(0, named=True)
        operations = window(logs, pid, first["offset"], first["op_ids"])
        answer = check(
            "partition_log",
            operations,
            timeout_s=limits.timeout_s,
            memory_mib=limits.memory_mib,
            html=None if html_dir is None else html_dir / _file_name(results[pid]),
            annotations=within(annotations, operations),
        )
        reason = (
            None
            if answer.verdict is Validity.INVALID
            else (
                f"porcupine could not confirm it: {answer.reason}"
                if answer.reason
                else "porcupine finds a valid order of the operations where Touchstone's own "
                "search found none: a bug of Touchstone"
            )
        )
        results[pid] = replace(
            results[pid],
            porcupine=answer.verdict,
            searched=len(operations),
            html=answer.html,
            reason=reason,
        )
        if answer.verdict is Validity.VALID:
            results[pid] = replace(results[pid], verdict=Validity.UNKNOWN)


def _file_name(result: PartitionLogResult) -> str:
    """Return the name of the partition's drawing, without characters that topic names of foreign
    histories may hold."""
    topic = re.sub(r"[^A-Za-z0-9._-]", "_", result.topic)
    namesake = f"-{result.topic_id[:8]}" if result.topic_id else ""
    return f"append_order-{topic}{namesake}-{result.partition}.html"
