"""Compare what coordinators answered to group members with the time that each session lasts.

Part of `group_evidence`. A session lasts `session.timeout.ms` from the last request that renewed
it, which the coordinator handled between its invocation and its answer. So a member that was
refused although less time had passed since the *invocation* was removed too early; one that was
accepted although much more had passed since the *answer* was kept too long; and one that was
accepted after it had left was not let go. While another member of a classic group waits for the
answer to its JoinGroup, a heartbeat must be refused with REBALANCE_IN_PROGRESS, since the newcomer
is answered only when all members have joined again (KIP-62). Members that a fault met are left out:
a coordinator that restarts begins all sessions again, or does not know the newest ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import polars as pl

from linearizability.excuses.faults import disturbed, faults_of
from linearizability.history import F, Type
from linearizability.plans import collect_all

CUT_SHORT, OUTLIVED, STAYED = "session-cut-short", "session-outlived", "member-after-leaving"
NOT_TOLD = "not-told-to-rejoin"
JOINING = "joining"
NS_PER_MS = 1_000_000
PATIENCE_NS = 10 * 1_000_000_000
"""The nanoseconds that a coordinator may take to remove a member whose session has ended, or to
begin a rebalance for a member that asks to join."""
OF_SESSIONS = (F.HEARTBEAT.value, F.LEAVE.value)


class Request(NamedTuple):
    """One request of a member. Its fields are the columns that are read, in their order."""

    op_id: int
    f: str
    type: str
    t_invoke_ns: int
    t_complete_ns: int
    settings: str | None
    asked: str | None
    asked_offset: int | None


class Judged(NamedTuple):
    """Two consecutive requests of a member, and the name of the broken promise or None. span_ns:
    the times of the invocation of the first and of the answer to the second."""

    group: str
    process: int
    kind: str | None
    span_ns: tuple[int, int]
    op_ids: tuple[int, ...]


def judged_sessions(rows: pl.LazyFrame) -> Iterator[Judged]:
    """Yield each pair of consecutive requests (heartbeats, LeaveGroup) of a member, unless a fault
    was in progress at any time from the member's first request to the answer to the pair's second.
    Members whose first request is no heartbeat are left out."""
    who = ("group", "process", "member_id")
    told = rows.filter(
        pl.col("f").is_in(OF_SESSIONS)
        & pl.col("group").is_not_null()
        & pl.col("member_id").is_not_null()
        & pl.col("t_complete_ns").is_not_null()
    ).select(*who, *Request._fields)
    found, faults = collect_all([told.sort(*who, "t_invoke_ns", "op_id"), faults_of(rows)])
    disturbances = disturbed(faults)
    for (group, process, _), own in found.group_by(who, maintain_order=True):
        requests = [Request(*row) for row in own.select(Request._fields).iter_rows()]
        if requests[0].f != F.HEARTBEAT.value:
            continue
        since_ns = requests[0].t_invoke_ns
        for one, other in pairwise(requests):
            span = one.t_invoke_ns, other.t_complete_ns
            if not any(a <= span[1] and since_ns <= b for a, b in disturbances):
                op_ids = (one.op_id, other.op_id)
                yield Judged(str(group), int(str(process)), broken(one, other), span, op_ids)


def broken(one: Request, other: Request) -> str | None:
    """Return the name of the promise that the answers to two consecutive requests break, or
    None."""
    session_ms = _session_ms(one.settings)
    if Type.OK.value != one.type or other.f != F.HEARTBEAT.value:
        return None
    if one.f == F.LEAVE.value:
        return STAYED if other.type == Type.OK.value else None
    if session_ms is None:
        return None
    session_ns = session_ms * NS_PER_MS
    if other.type == Type.FAIL.value and other.t_complete_ns - one.t_invoke_ns < session_ns:
        return CUT_SHORT
    if other.type == Type.OK.value and _waits_ns(other) >= PATIENCE_NS:
        return NOT_TOLD
    silent_ns = other.t_invoke_ns - one.t_complete_ns
    if other.type == Type.OK.value and silent_ns > session_ns + PATIENCE_NS:
        return OUTLIVED
    return None


def _waits_ns(heartbeat: Request) -> int:
    """Return for how long another member had waited for the answer to its JoinGroup when the
    heartbeat was sent, or 0 if none did."""
    waits_ms = heartbeat.asked_offset if heartbeat.asked == JOINING else None
    return (waits_ms or 0) * NS_PER_MS


def _session_ms(settings: str | None) -> int | None:
    """Return the session time-out that the settings (JSON) name, or None if they name none or it is
    not a whole number."""
    try:
        told: Any = json.loads(settings or "")
    except (ValueError, RecursionError):
        return None
    value = str(told.get("session.timeout.ms", "")) if isinstance(told, dict) else ""
    return int(value) if value.isascii() and value.isdigit() and len(value) < 12 else None
