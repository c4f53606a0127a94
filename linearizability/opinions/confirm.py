"""The second opinion on append_order: porcupine searches for a legal order, and draws broken
partitions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from linearizability import history
from linearizability.porcupy import find_executable
from linearizability.porcupy.partition_log import PartitionLogResult, judge_partition_logs
from linearizability.verdict import CheckerVerdict, Validity

NAME = "append_order (porcupine)"
DRAWINGS = "porcupine"
"""The folder of a run directory for the drawings."""


def confirm_with_porcupine(
    path: Path | str, *, timeout_s: float = 60, memory_mib: int = 1024
) -> CheckerVerdict | None:
    """Return porcupine's opinion on the partitions' logs, or None if its executable is not built.

    INVALID: porcupine finds no legal order either. UNKNOWN: it contradicts the fast checker, or did
    not finish. NOT_APPLICABLE: nothing was searched. For a run directory, broken partitions are
    drawn into its folder `porcupine`, and the reason names the drawings. Counted: operations
    searched. Raise HistoryError if there is no valid history.
    """
    if find_executable() is None:
        return None
    path = Path(path)
    drawings = path / DRAWINGS if path.is_dir() else None
    if drawings is not None:
        drawings.mkdir(exist_ok=True)
    results = judge_partition_logs(
        history.scan(path), html_dir=drawings, timeout_s=timeout_s, memory_mib=memory_mib
    )
    if drawings is not None and not any(drawings.iterdir()):
        drawings.rmdir()
    return _opinion(results)


def _opinion(results: Sequence[PartitionLogResult]) -> CheckerVerdict:
    searched = sum(result.searched for result in results)
    refuted = [r for r in results if r.verdict is r.porcupine is Validity.INVALID]
    doubtful = [
        r for r in results if r.verdict is Validity.UNKNOWN or r.porcupine is Validity.UNKNOWN
    ]
    anomalies = tuple(anomaly for r in refuted for anomaly in r.anomalies[:1])
    if not searched and not doubtful:
        why = "no append with a known offset" if not results else "no partition was searched"
        return CheckerVerdict(NAME, Validity.NOT_APPLICABLE, 0, reason=why)
    if refuted:
        drawn = ", ".join(f"{DRAWINGS}/{r.html.name}" for r in refuted if r.html is not None)
        return CheckerVerdict(
            NAME,
            Validity.INVALID,
            searched,
            anomalies,
            sum(r.anomaly_count for r in refuted),
            f"drawn: {drawn}" if drawn else None,
        )
    if doubtful:
        first = doubtful[0]
        reason = f"{first.topic}-{first.partition}: {first.reason}"
        return CheckerVerdict(NAME, Validity.UNKNOWN, searched, reason=reason)
    return CheckerVerdict(NAME, Validity.VALID, searched)
