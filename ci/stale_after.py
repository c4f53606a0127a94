"""Refuse a `--stale-after` bound with which a correct cluster would be judged invalid, given the
settings of a group."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from ci.errors import UsageError
from linearizability.history import F, scan

SESSION, POLL = "session.timeout.ms", "max.poll.interval.ms"


def check_for_workload(stale_after_s: float, workload: str) -> None:
    """Raise UsageError if a consumer group of the workload may lawfully wait longer than
    stale_after_s, and TargetError for an unknown workload."""
    # Judging alone needs neither, and starts in half the time without them.
    from chaos.clients.membership_rows import group_settings
    from chaos.run.fitting import workload_named

    known = workload_named(workload)
    groups = (known.settings(process).group for process in range(known.processes))
    _check(stale_after_s, (group_settings(group)["settings"] for group in groups if group))


def check_for_history(stale_after_s: float, file: Path) -> None:
    """Raise UsageError if a consumer group of the history may, by its settings, lawfully wait
    longer than stale_after_s, and HistoryError if the history cannot be read."""
    told = scan(file).filter(f=F.SUBSCRIBE.value).select(pl.col("settings").drop_nulls().unique())
    _check(stale_after_s, told.collect()["settings"])


def _check(stale_after_s: float, settings: Iterable[str]) -> None:
    """Raise UsageError if a group's settings permit a longer wait than stale_after_s: a dead member
    keeps its partitions for the session time-out, and then the others have the rebalance time-out
    to rejoin. settings: JSON texts, of which those without these time-outs are left out."""
    for text in settings:
        told = json.loads(text)
        try:
            session_ms, poll_ms = int(told[SESSION]), int(told[POLL])
        except (KeyError, TypeError, ValueError):
            continue  # the history does not say
        lawful_s = (session_ms + poll_ms) / 1000
        if stale_after_s < lawful_s:
            raise UsageError(
                f"--stale-after {stale_after_s:g}: a correct cluster may leave a partition unread "
                f"for {lawful_s:g} s, the sum of {SESSION} ({session_ms}) and {POLL} ({poll_ms}) "
                f"of its group; give {lawful_s:g} or more"
            )
