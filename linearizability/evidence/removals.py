"""Find the records that compaction and retention may remove from a log, so that their absence
proves no loss.

Which topics may be compacted is known from their topic rows, or from records whose keys the history
names (`history.COLUMNS`, `key`).
"""

from __future__ import annotations

import polars as pl

from linearizability.history import F, Type
from linearizability.ingest import (
    ABORTED,
    COMMITTED,
    HAS_RECORD,
    IS_IDEMPOTENT,
    IS_SEND,
    KEY,
    PLAIN,
    UNASKED,
    UNKNOWN,
)
from linearizability.plans import collect
from linearizability.reads.inferred_log import ACKNOWLEDGED, PROVEN_POLL, at_or_above_log_start

IS_TOPIC = (pl.col("f") == F.TOPIC.value) & pl.col("settings").is_not_null()
OF_KEY = [*KEY, "key"]


def setting(name: str) -> pl.Expr:
    """Return the value of one of a topic's settings as text, or null where the topic's row does not
    have it."""
    return pl.col("settings").str.json_path_match(f"$['{name}']")


ALLOWS_UNCLEAN = IS_TOPIC & (
    setting("unclean.leader.election.enable").str.to_lowercase() == "true"
).fill_null(False)
"""The condition on a topic row that allows the election of leaders that are not in sync."""
IS_COMPACTED = setting("cleanup.policy").str.contains("compact").fill_null(False)
"""Whether a topic row allows compaction."""


def compactable(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the partitions that may be compacted: according to their cleanup.policy or, if the
    history does not contain that, because their records have keys."""
    with_keys = events.filter(pl.col("key").is_not_null()).select(KEY).unique()
    told = events.filter(IS_TOPIC & setting("cleanup.policy").is_not_null())
    by_settings = told.filter(IS_COMPACTED).select(KEY)
    untold = with_keys.join(told.select(KEY).unique(), on=KEY, how="anti")
    return pl.concat([untold, by_settings]).unique()


def still_there(rows: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows (place, offset) whose records neither retention nor compaction may have
    removed."""
    return not_compacted_away(at_or_above_log_start(rows, events), events)


def not_compacted_away(rows: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows (place, offset) that compaction cannot have removed: those in partitions that
    are never compacted, and those that hold the last value of a key. A key does not count if a
    later record of it may be elsewhere, or if its last record is a tombstone, which removes
    itself."""
    compacted = collect(compactable(events))
    if compacted.is_empty():  # the usual case; finding the last values is expensive
        return rows
    vanishes = pl.col("tombstone") | pl.col("lost") | pl.col("lost_tombstone")
    kept = newest_of_keys(events).filter(~vanishes).select(*KEY, offset="newest", kept=pl.lit(True))
    return (
        rows.join(compacted.lazy().with_columns(compacted=pl.lit(True)), on=KEY, how="left")
        .join(kept, on=[*KEY, "offset"], how="left")
        .filter(pl.col("compacted").is_null() | pl.col("kept").fill_null(False))
        .drop("compacted", "kept")
    )


def newest_of_keys(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return partition, key, newest: the highest offset at which a record of the key that may be
    committed is proven; tombstone: whether it is one. lost, lost_tombstone: whether a record, or a
    tombstone, of the key was sent whose place is unknown, because its offset, the end of its
    transaction or the number of its copies (without idempotence) is unknown."""
    records = events.filter(
        pl.col("key").is_not_null()
        & (HAS_RECORD | (IS_SEND & (pl.col("type") != Type.FAIL.value)))
        & (pl.col("outcome") != ABORTED).fill_null(True)
    ).with_columns(pl.col("tombstone").fill_null(False))
    records = records.join(never_committed(events), on=[*KEY, "value"], how="anti")
    placed = records.filter(ACKNOWLEDGED | PROVEN_POLL)
    newest = placed.group_by(OF_KEY).agg(
        newest=pl.col("offset").max(),
        tombstone=pl.col("tombstone").filter(pl.col("offset") == pl.col("offset").max()).any(),
    )
    sent = records.filter(IS_SEND).with_columns(times=pl.len().over(*KEY, "value"))
    once = IS_IDEMPOTENT & pl.col("outcome").is_in([PLAIN, COMMITTED])
    seen = placed.select(*KEY, "value", seen=pl.lit(True)).unique()
    is_placed = once & (ACKNOWLEDGED | (pl.col("seen").fill_null(False) & (pl.col("times") == 1)))
    lost = (
        sent.join(seen, on=[*KEY, "value"], how="left")
        .filter(~is_placed)
        .group_by(OF_KEY)
        .agg(lost=pl.lit(True), lost_tombstone=pl.col("tombstone").any())
    )
    return newest.join(lost, on=OF_KEY, how="left").with_columns(
        pl.col("lost", "lost_tombstone").fill_null(False)
    )


def never_committed(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the partition and value of the records, each sent once, of transactions whose commit
    was never requested. Such a record removes none of its key: the cleaner stops at the first open
    transaction, and drops what was aborted."""
    is_open = (pl.col("outcome") == UNKNOWN) & (pl.col("told").fill_null(UNASKED) == UNASKED)
    return (
        events.filter(IS_SEND & pl.col("value").is_not_null())
        .group_by(*KEY, "value")
        .agg(times=pl.len(), is_open=is_open.fill_null(False).all())
        .filter((pl.col("times") == 1) & pl.col("is_open"))
        .select(*KEY, "value")
    )
