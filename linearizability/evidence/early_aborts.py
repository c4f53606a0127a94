"""Find producers that were fenced although nothing could have fenced them: no other producer of
their transactional id had come, and their transaction was younger than its time-out.

Part of `fencing_evidence`. A coordinator aborts a transaction by itself only when it has lasted
longer than its producer's transaction.timeout.ms; by that it fences the producer. A transaction
begins at its coordinator after the client's Begin was invoked, so its age is never underestimated.
An InitProducerId that was never answered may reach the coordinator late. So it excuses the
producers that were fenced within RECOVERED_NS after it, and so does every fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import polars as pl

from linearizability.evidence.time_outs import TIMEOUT_MS
from linearizability.excuses.faults import disturbed, faults_of
from linearizability.history import F, Type
from linearizability.plans import collect_all
from linearizability.reads.inferred_log import ACKNOWLEDGED

FENCED = ("INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED", "_FENCED")
"""The errors of a commit by which a producer learns that it was fenced."""
RECOVERED_NS = 60 * 1_000_000_000
"""The nanoseconds after a fault or an unknown InitProducerId in which a late request may arrive."""
NS_PER_MS = 1_000_000
ENDS = (F.COMMIT.value, F.ABORT.value)
BEGINS = (F.BEGIN.value, F.INIT_PRODUCER.value)
OK = Type.OK.value


class Turn(NamedTuple):
    """A Begin, InitProducerId, commit or abort. Its fields are the columns that are read, in their
    order."""

    f: str
    type: str
    op_id: int
    txn: int | None
    transactional_id: str | None
    t_invoke_ns: int
    t_complete_ns: int | None
    error: str | None
    timeout_ms: int | None


def fenced_early(events: pl.LazyFrame) -> list[dict[str, Any]]:
    """Return, for each transaction with acknowledged records whose commit was refused as fenced
    although nothing can have fenced its producer, its number (txn), the operation of its Begin
    (known_op), and the operation and invocation time of its commit (asked_op, asked_ns)."""
    is_refused = (
        (pl.col("f") == F.COMMIT.value)
        & (pl.col("type") != OK)
        & pl.col("error").is_in(FENCED)
        & pl.col("txn").is_not_null()
    )
    (refused,) = collect_all([events.filter(is_refused.fill_null(False)).select("txn")])
    txns = refused["txn"].unique().to_list()
    if not txns:
        return []
    is_turn = pl.col("f").is_in(BEGINS) & pl.col("transactional_id").is_not_null()
    is_end = pl.col("f").is_in(ENDS) & pl.col("txn").is_in(txns)
    turns = events.filter(is_turn | is_end).with_columns(timeout_ms=TIMEOUT_MS)
    acked = events.filter(ACKNOWLEDGED & pl.col("txn").is_in(txns)).select("txn").unique()
    told, sent, faults = collect_all(
        [
            turns.select(
                pl.col("f").cast(pl.String), pl.col("type").cast(pl.String), *Turn._fields[2:]
            ).sort("t_invoke_ns", "op_id"),
            acked,
            faults_of(events),
        ]
    )
    known = [Turn(*row) for row in told.iter_rows()]
    return list(_found(known, set(sent["txn"]), disturbed(faults)))


def _found(
    turns: list[Turn], acked: set[int], disturbances: list[tuple[int, int]]
) -> Iterator[dict[str, Any]]:
    begins = {turn.txn: turn for turn in turns if turn.f == F.BEGIN.value and turn.type == OK}
    for commit in turns:
        begin = begins.get(commit.txn)
        if commit.f != F.COMMIT.value or commit.error not in FENCED or commit.type == OK:
            continue
        if begin is None or commit.t_complete_ns is None or commit.txn not in acked:
            continue
        init = _producer(turns, begin, commit)
        if init is None or init.timeout_ms is None:
            continue
        is_young = commit.t_complete_ns - begin.t_invoke_ns < init.timeout_ms * NS_PER_MS
        since_ns = init.t_invoke_ns - RECOVERED_NS
        is_met = any(a <= commit.t_complete_ns and since_ns <= b for a, b in disturbances)
        if is_young and not is_met:
            yield {
                "txn": commit.txn,
                "known_op": begin.op_id,
                "asked_op": commit.op_id,
                "asked_ns": commit.t_invoke_ns,
            }


def _producer(turns: list[Turn], begin: Turn, commit: Turn) -> Turn | None:
    """Return the acknowledged InitProducerId that was invoked last before the transaction began.
    Return None if there is none, if another producer of the transactional id, or a request of
    unknown or failed outcome, may have fenced this one, or if an abort of the transaction was
    requested."""
    assert commit.t_complete_ns is not None
    before = [turn for turn in turns if turn.t_invoke_ns <= commit.t_complete_ns]
    own = [turn for turn in before if turn.transactional_id == begin.transactional_id]
    if begin.transactional_id is None or any(
        turn.f == F.ABORT.value and turn.txn == begin.txn for turn in before
    ):
        return None
    inits = [turn for turn in own if turn.f == F.INIT_PRODUCER.value]
    ready = [turn for turn in inits if turn.t_invoke_ns <= begin.t_invoke_ns and turn.type == OK]
    if not ready:
        return None
    init = max(ready, key=lambda turn: (turn.t_invoke_ns, turn.op_id))
    since_ns = init.t_invoke_ns - RECOVERED_NS
    unknown = any(turn.type != OK and turn.f in BEGINS and _lasts(turn, since_ns) for turn in own)
    others = any(turn != init and _lasts(turn, init.t_invoke_ns) for turn in inits)
    return None if unknown or others else init


def _lasts(turn: Turn, since_ns: int) -> bool:
    """Return whether the operation may have been in progress at this time or later."""
    return turn.t_complete_ns is None or turn.t_complete_ns >= since_ns
