"""Only what may be deleted is deleted."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import IS_LEADER_ANSWER, Checker, Needs, Scope, count, describe
from linearizability.history import F, Type
from linearizability.inferred_log import ACKNOWLEDGED
from linearizability.ingest import COMMITTED, IS_OK, KEY, PLAIN
from linearizability.removals import IS_TOPIC, setting

TOO_EARLY, KEPT = "deleted-too-early", "deleted-though-kept"
HOURS_TOO_EARLY = "deleted-hours-too-early"
GOES_BACK = "log-start-goes-back"
RETENTION_MS = 7 * 24 * 60 * 60 * 1000
"""The default of retention.ms (log.retention.hours is 168)."""
FOR_EVER = -1
HOUR_MS = 60 * 60 * 1000
CLOCKS_APART_MS = 1_000
"""The wall clock is corrected now and then; ours is not."""
SLACK_PART = 10
"""That is no excuse for more than a tenth of retention.ms."""
IS_DELETION = pl.col("f") == F.DELETE_RECORDS.value
DURABLE = ACKNOWLEDGED & pl.col("outcome").is_in([PLAIN, COMMITTED])


class Retention(Checker):
    """An answer names a log start above an acknowledged record that nothing allowed to delete: no
    DeleteRecords asked for before that, and its own time, the least that its segment can have, is
    not retention.ms ago (`deleted-too-early`; `deleted-hours-too-early`, for few clocks are that
    wrong), or the topic is not retained by time (`deleted-though-kept`). Or, in one leader epoch, a
    log start below the one which DeleteRecords was answered with before.

    Topics which are not retained by time delete nothing (cleanup.policy without delete, or
    retention.ms -1). Where retention.bytes is set any record may go. Of settings that were changed
    the shortest holds. Records at or above the log start that are absent are `lost_writes`, and
    holes `offset_gaps`. Brokers are judged by our clock; where faults moved theirs, an early
    deletion is no proof (`clocks.py`). That something stays too long is not judged: when a broker
    looks depends on when it was started. Source: UnifiedLog.deleteOldSegments; KIP-107
    (DeleteRecords). Counted: records acknowledged in partitions whose settings and log start are
    known.
    """

    name: ClassVar[str] = "retention"
    title: ClassVar[str] = "only records that retention or DeleteRecords may remove are removed"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.TOPIC_SETTINGS})
    counted_under: ClassVar[frozenset[Needs]] = needs
    whole: ClassVar[str] = "the log starts that were reported"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        gone = deleted(events)
        slack_ms = pl.min_horizontal(CLOCKS_APART_MS, pl.col("retention_ms") // SLACK_PART)
        allowed_ms = pl.col("retention_ms") - slack_ms
        expired = (pl.col("retention_ms") != FOR_EVER) & (
            pl.col("clock_ms").is_null() | (pl.col("age_ms") >= allowed_ms)
        )
        found = gone.filter(~expired & ~pl.col("deletable"))
        message = pl.format(
            "{} was acknowledged at offset {}, but the log start moved past it to {} although "
            "neither retention nor DeleteRecords allowed that",
            pl.col("value").cast(pl.String).fill_null("a record"), "offset", "log_start",
        )  # fmt: skip
        kept = pl.col("retention_ms") == FOR_EVER
        is_far = pl.col("retention_ms") - pl.col("age_ms") >= HOUR_MS
        early = pl.when(is_far).then(pl.lit(HOURS_TOO_EARLY)).otherwise(pl.lit(TOO_EARLY))
        kind = pl.when(kept).then(pl.lit(KEPT)).otherwise(early)
        back = went_back(events)
        lower = pl.format(
            "DeleteRecords moved the log start to {}, but later the leader of epoch {} reported {}",
            "log_start_before", "leader_epoch", "log_start",
        )  # fmt: skip
        return pl.concat(
            [
                describe(found, KEY, kind, ["op_id", "told_op"], message, "broker"),
                describe(back, KEY, GOES_BACK, ["deletion_op", "op_id"], lower, "broker"),
            ]
        )

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        told = events.filter(pl.col("log_start").is_not_null()).select(KEY).unique()
        acked = events.filter(DURABLE).join(limits(events), on=KEY, how="semi")
        return count(acked.join(told, on=KEY, how="semi"))


def limits(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return what the settings of each partition allow: retention_ms; by_size; clock_ms, the wall
    clock when our own was 0."""
    deletes = setting("cleanup.policy").fill_null("delete").str.contains("delete")
    by_time = setting("retention.ms").cast(pl.Int64).fill_null(RETENTION_MS)
    retention_ms = pl.when(deletes & (by_time >= 0)).then(by_time)
    by_size = deletes & (setting("retention.bytes").cast(pl.Int64) >= 0).fill_null(False)
    return (
        events.filter(IS_TOPIC)
        .group_by(KEY)
        .agg(
            retention_ms=retention_ms.min().fill_null(FOR_EVER),
            by_size=by_size.any(),
            clock_ms=(pl.col("timestamp_ms") - pl.col("t_invoke_ns") // 1_000_000).min(),
        )
    )


def deleted(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return acknowledged records below a log start that an answer named, with the lowest such,
    unless deletion by size is on. age_ms: how old the record was then, at most; deletable: by
    DeleteRecords."""
    told = (
        events.filter(pl.col("log_start").is_not_null() & pl.col("t_complete_ns").is_not_null())
        .sort("t_complete_ns", "op_id")
        .group_by(*KEY, "log_start")
        .agg(told_ns=pl.col("t_complete_ns").first(), told_op=pl.col("op_id").first())
        .with_columns(at="log_start")
        .sort("at")
    )
    ours = limits(events).filter(~pl.col("by_size"))
    sent_ms = pl.coalesce("timestamp_ms", pl.col("clock_ms") + pl.col("t_invoke_ns") // 1_000_000)
    told_ms = pl.col("clock_ms") + pl.col("told_ns") // 1_000_000
    upto = (
        deletions(events)
        .sort("begun_ns", "upto")
        .select(*KEY, "begun_ns", pl.col("upto").cum_max().over(KEY))
    )
    return (
        events.filter(DURABLE)
        .select(*KEY, "op_id", "offset", "value", "timestamp_ms", "t_invoke_ns")
        .join(ours, on=KEY)
        .with_columns(behind=pl.col("offset") + 1)
        .sort("behind")
        .join_asof(
            told, left_on="behind", right_on="at", by=KEY, strategy="forward",
            check_sortedness=False,
        )
        .filter(pl.col("log_start").is_not_null())
        .sort("told_ns")
        .join_asof(
            upto, left_on="told_ns", right_on="begun_ns", by=KEY, strategy="backward",
            check_sortedness=False,
        )
        .with_columns(
            age_ms=told_ms - sent_ms,
            deletable=(pl.col("offset") < pl.col("upto")).fill_null(False),
        )
    )  # fmt: skip


def deletions(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the DeleteRecords that were or may have been done; upto: below which offset. The
    answer to a deletion of everything says how far it went."""
    everything = pl.lit(2**62, dtype=pl.Int64)
    answered = pl.when(IS_OK).then("log_start")
    asked = events.filter(IS_DELETION & (pl.col("type") != Type.FAIL.value))
    return asked.select(
        *KEY, begun_ns="t_invoke_ns", upto=pl.coalesce("offset", answered, everything)
    )


def went_back(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return answers of a leader with a log start below that of a deletion which was over
    before."""
    done = events.filter(
        IS_DELETION
        & IS_OK
        & pl.col("log_start").is_not_null()
        & pl.col("leader_epoch").is_not_null()
    ).select(
        *KEY, "leader_epoch", done_ns="t_complete_ns", deletion_op="op_id",
        log_start_before="log_start",
    )  # fmt: skip
    return (
        events.filter(IS_LEADER_ANSWER & pl.col("log_start").is_not_null())
        .select(*KEY, "leader_epoch", "op_id", "log_start", "t_invoke_ns")
        .join(done, on=[*KEY, "leader_epoch"])
        .filter(
            (pl.col("done_ns") < pl.col("t_invoke_ns"))
            & (pl.col("log_start") < pl.col("log_start_before"))
        )
    )
