"""Decide operations of unknown end by ok polls. An ok poll receives committed records only. So if
an ok poll received a record of a transaction of unknown end, the whole transaction has committed
(Jepsen's `must-have-committed?`). Since its client did not learn that, its other records need not
have been delivered by the end: the markers reach each partition at a different time. But its other
records were in the log before the commit was requested, so a reader that received a later record
must have received them."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from linearizability.importers.columns import INFO
from linearizability.plans import collect

RECORD = ["place", "value"]


class Decided(NamedTuple):
    """commits: the transactions that committed without an answer: `transaction`, `asked_ns` and
    `done_ns` (the latest times at which the commit was asked for and done), and `shown_by`, the
    poll that proves it. owed: `send` (its row) of each of their records that some reader must have
    received, because a reader received that record itself or a later one (at a higher offset, or
    sent after this one's commit had been requested)."""

    commits: pl.DataFrame
    owed: pl.DataFrame


def decided(sends: pl.DataFrame, ok_polled: pl.DataFrame) -> Decided:
    """Return the transactions of unknown outcome that the ok polls prove committed, and those of
    their records that readers must have received.

    sends: the columns `send`, `transaction`, `place`, `value`, `offset`, and of their operations
    `type`, `t_invoke_ns` and `t_complete_ns` (null: it was not answered). ok_polled: place, value,
    offset, `op_id` and `t_complete_ns` of what ok operations polled, at least of the places that
    unknown sends name.
    """
    unknown = sends.lazy().filter(pl.col("type") == INFO)
    ok_polls = ok_polled.lazy().join(unknown.select("place").unique(), on="place", how="semi")
    first_shown = (
        ok_polls.join(unknown.select(RECORD), on=RECORD, how="semi")
        .group_by(RECORD)
        .agg(
            shown_ns=pl.col("t_complete_ns").min(),
            shown_by=pl.col("op_id").sort_by("t_complete_ns", "op_id").first(),
        )
    )
    reach = ok_polls.group_by("place").agg(reach=pl.col("offset").max())
    latest = (
        ok_polls.select(RECORD)
        .join(sends.lazy().select(*RECORD, "t_invoke_ns"), on=RECORD)
        .group_by("place")
        .agg(latest_ns=pl.col("t_invoke_ns").max())
    )
    seen = collect(unknown.join(first_shown, on=RECORD, how="left"))
    commits = collect(
        seen.lazy()
        .group_by("transaction")
        .agg(
            done_ns=pl.col("shown_ns").min(),
            shown_by=pl.col("shown_by").sort_by("shown_ns", nulls_last=True).first(),
            ended_ns=pl.col("t_complete_ns").first(),
        )
        .filter(pl.col("done_ns").is_not_null())
        .select(
            "transaction", "done_ns", "shown_by", asked_ns=pl.min_horizontal("done_ns", "ended_ns")
        )
    )
    is_owed = (
        pl.col("shown_ns").is_not_null()
        | ((pl.col("offset") >= 0) & (pl.col("reach") > pl.col("offset")))
        | (pl.col("latest_ns") > pl.col("asked_ns"))
    )
    owed = collect(
        seen.lazy()
        .join(commits.lazy(), on="transaction")
        .join(reach, on="place", how="left")
        .join(latest, on="place", how="left")
        .filter(is_owed.fill_null(False))
        .select("send")
    )
    return Decided(commits, owed)
