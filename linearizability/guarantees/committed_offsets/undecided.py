"""The answers of a coordinator about offsets that an open transaction may still change."""

from __future__ import annotations

import polars as pl

from linearizability.bounds import NEVER
from linearizability.checkers.base import IS_UNSTABLE
from linearizability.evidence.time_outs import SWEEP_NS
from linearizability.guarantees.committed_offsets.latest import OF_GROUP, with_largest
from linearizability.history import F, Type
from linearizability.ingest import IS_OK, TOLD_ABORT, TOLD_COMMIT

FETCHED = (
    (pl.col("f") == F.FETCH_OFFSETS.value)
    & IS_OK
    & pl.col("topic").is_not_null()
    & pl.col("group").is_not_null()
    & pl.col("t_complete_ns").is_not_null()
)
UNSTABLE = (
    IS_UNSTABLE
    & pl.col("topic").is_not_null()
    & pl.col("group").is_not_null()
    & pl.col("t_complete_ns").is_not_null()
)
MARKED_NS = 10 * 1_000_000_000
"""The nanoseconds that markers take at most while no node is down (`overdue.py` excuses the minute
after a fault)."""


def while_undecided(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the OffsetFetch answers that were invoked after a transaction's offsets for the same
    group and partition had been accepted, and given before that transaction requested its commit,
    each with the transaction that requested it last (txn, send_op). Only transactions whose commit
    was acknowledged later count."""
    sent = (
        events.filter((pl.col("f") == F.SEND_OFFSETS.value) & IS_OK)
        .filter((pl.col("told") == TOLD_COMMIT) & pl.col("t_complete_ns").is_not_null())
        .filter(pl.col("group").is_not_null() & pl.col("topic").is_not_null())
        .select(
            *OF_GROUP, "txn", send_op="op_id", since_ns="t_complete_ns", until_ns="commit_asked_ns"
        )
        .sort("since_ns", "send_op")
    )
    asked = events.filter(FETCHED).select(*OF_GROUP, "op_id", "t_invoke_ns", "t_complete_ns")
    found = with_largest(asked, "t_invoke_ns", sent, "until_ns", ("txn", "send_op"))
    return found.filter(pl.col("t_complete_ns") < pl.col("until_ns"))


def undecided_for_ever(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the OffsetFetch answers that say an offset is not stable although every transaction
    that had sent one had ended MARKED_NS before, each with the transaction that ended last (txn,
    send_op). A transaction without an acknowledged end is taken to last for the run's longest
    time-out and the coordinator's check, or for ever if that time-out is not known."""
    is_told = pl.col("told").is_in([TOLD_COMMIT, TOLD_ABORT])
    lasts_ns = pl.coalesce("t_complete_ns", "t_invoke_ns") + pl.col("longest_ns") + SWEEP_NS
    over_ns = pl.when(is_told).then("end_ns").otherwise(None)
    sent = (
        events.filter((pl.col("f") == F.SEND_OFFSETS.value) & pl.col("txn").is_not_null())
        .filter((pl.col("type") != Type.FAIL.value) & pl.col("group").is_not_null())
        .filter(pl.col("topic").is_not_null())
        .select(
            *OF_GROUP,
            "txn",
            send_op="op_id",
            since_ns="t_invoke_ns",
            over_ns=over_ns.fill_null(lasts_ns).fill_null(NEVER) + MARKED_NS,
        )
        .sort("since_ns", "send_op")
    )
    asked = events.filter(UNSTABLE).select(*OF_GROUP, "op_id", "t_invoke_ns", "t_complete_ns")
    found = with_largest(
        asked, "t_complete_ns", sent, "over_ns", ("txn", "send_op"), is_strict=False
    )
    return found.filter(pl.col("t_invoke_ns") > pl.col("over_ns"))
