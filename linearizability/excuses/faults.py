"""Find out what a nemesis did, and how long each fault may explain what clients see. Faults with a
name in LASTING last until a heal. Any other fault ends with its operation, so an unknown name
excuses only the time of its operation. Importers know the names that other tools use, and mark each
fault that lasts (UNTIL), and the end of the last one."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from linearizability.bounds import NEVER
from linearizability.history import F

HEAL = "Heal"
LASTING = frozenset(
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
        "DiskStall",
        "DiskFull",
        "DiskReadOnly",
        "DiskDead",
        "PowerLoss",
        "SlowDisk",
        "FailedSync",
        "FailedWrite",
        "TornWrites",
        "LostNames",
        "ClockJump",
        "ClockSkew",
        # The effects of an administrator's request, or of a lost connection, outlive the
        # operation; the runner heals after each.
        "ResetConnections",
        "Elect",
        "MoveReplicas",
        "AdminStorm",
        "BitFlip",
    }
)
"""The names of Touchstone's own faults (chaos/values/faults.py, FAULTS) that last until the next
heal."""
UNTIL = "until"
"""A key in a fault's JSON. With the value HEAL it says that a fault of any other name lasts until
the next heal."""
IS_FAULT = pl.col("f") == F.NEMESIS.value


def faults_of(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return t_invoke_ns, t_complete_ns, detail of faults and heals, in order."""
    columns = ("t_invoke_ns", "t_complete_ns", "detail")
    return events.filter(IS_FAULT).select(columns).sort("t_invoke_ns", "t_complete_ns")


def name_of(detail: str | None) -> str:
    """Return the name of the fault that a nemesis row's detail (JSON) describes, or "" if there is
    none."""
    return str(_told(detail).get("fault", ""))


def is_heal(detail: str | None) -> bool:
    """Return whether a nemesis row's detail (JSON) describes a heal, which ends all faults."""
    return _told(detail).get("fault") == HEAL


def lasts(detail: str | None) -> bool:
    """Return whether a nemesis row's detail (JSON) describes a fault that lasts until it is
    healed."""
    told = _told(detail)
    name = told.get("fault")
    return (isinstance(name, str) and name in LASTING) or told.get(UNTIL) == HEAL


def _told(detail: str | None) -> dict[str, Any]:
    try:
        told = json.loads(detail or "")
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def disturbed(faults: pl.DataFrame) -> list[tuple[int, int]]:
    """Return the times (from, until) in which a fault of `faults_of` was in progress, in order and
    without overlap. A fault that was not healed lasts until NEVER. A heal without a fault before
    it, such as the one at the end of each run, disturbs nothing."""
    found: list[tuple[int, int]] = []
    since: int | None = None
    struck = False
    for asked_ns, done_ns, detail in faults.iter_rows():
        ended_ns = asked_ns if done_ns is None else done_ns
        if is_heal(detail):
            if struck:
                found.append((asked_ns if since is None else since, ended_ns))
            since, struck = None, False
            continue
        struck = True
        if lasts(detail):
            since = asked_ns if since is None else since
        else:
            found.append((asked_ns, ended_ns))
    if since is not None:
        found.append((since, NEVER))
    return _apart(found)


def _apart(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for begun_ns, ended_ns in sorted(spans):
        if joined and begun_ns <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], ended_ns)
        else:
            joined.append((begun_ns, ended_ns))
    return joined


def undisturbed(faults: pl.DataFrame) -> pl.DataFrame:
    """Return the times without a fault in progress, each from undisturbed_ns to disturbed_ns, in
    order. -NEVER and NEVER stand for no limit."""
    parts: list[tuple[int, int]] = []
    since = -NEVER
    for begun_ns, ended_ns in disturbed(faults):
        parts.append((since, begun_ns))
        since = ended_ns
    if since < NEVER:
        parts.append((since, NEVER))
    return pl.DataFrame(
        parts, schema={"undisturbed_ns": pl.Int64, "disturbed_ns": pl.Int64}, orient="row"
    )
