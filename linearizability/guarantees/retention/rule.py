"""Retention and DeleteRecords remove only the records that they may remove."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import (
    IS_LEADER_ANSWER,
    OFF_MS,
    Checker,
    Needs,
    Scope,
    count,
    describe,
)
from linearizability.evidence.removals import IS_TOPIC, compactable, setting
from linearizability.history import F, Type
from linearizability.ingest import IS_FINAL, IS_OK, KEY
from linearizability.plans import collect
from linearizability.reads.inferred_log import DURABLE

TOO_EARLY, KEPT = "deleted-too-early", "deleted-though-kept"
HOURS_TOO_EARLY = "deleted-hours-too-early"
GOES_BACK = "log-start-goes-back"
BELOW_START = "answered-below-log-start"
TOO_LONG, TOO_FEW_BYTES = "kept-too-long", "deleted-below-size"
RETENTION_MS = 7 * 24 * 60 * 60 * 1000
"""The default of retention.ms, in milliseconds (log.retention.hours is 168)."""
FOR_EVER = -1
APPEND_TIME = "LogAppendTime"
"""The message.timestamp.type under which the broker replaces the timestamp that the sender set."""
HOUR_MS = 60 * 60 * 1000
CLOCKS_APART_MS = 1_000
"""The milliseconds by which a broker's wall clock may differ from ours, since it is corrected from
time to time and ours is not."""
SLACK_PART = 20
"""The difference of clocks excuses no more than this part of retention.ms: a twentieth."""
INITIAL_DELAY_MS = 30_000
"""The default of log.initial.task.delay.ms: how many milliseconds a broker waits after its start
before it looks for old segments."""
LONGEST_MS = 1 << 50
"""The longest time in milliseconds to calculate with, so that sums stay 64-bit numbers. Longer
settings are treated as this."""
PATIENCE_MS = 5_000
"""The milliseconds allowed beyond what the settings allow, since machines are slow."""
STALLED_MS_MAX = 30_000
"""The most milliseconds by which a pause in a leader's answers excuses a late deletion."""
FIRST_EPOCH = 0
"""The first leader epoch of a topic that was created in this run. Under a later leader, records
that were not in sync may have been truncated."""
IS_DELETION = pl.col("f") == F.DELETE_RECORDS.value


class Retention(Checker):
    """The log start and the records of a log agree with the topic's settings and with
    DeleteRecords. The kinds of anomaly:

    - `deleted-too-early`: an answer names a log start above an acknowledged record that could not
      be deleted yet: no earlier DeleteRecords covered it, and its own timestamp, the least that its
      segment can have, is not retention.ms ago. It is `deleted-hours-too-early` if more than an
      hour was left, since few clocks are that wrong, and `deleted-though-kept` if the topic does
      not delete by time.
    - `log-start-goes-back`: an answer names a lower log start than an earlier DeleteRecords
      returned in the same leader epoch.
    - `answered-below-log-start`: a leader that had moved its log start by DeleteRecords answered a
      fetch of an offset below it without OFFSET_OUT_OF_RANGE, so a reader there would never learn
      that it must begin elsewhere (auto.offset.reset).
    - `kept-too-long`: a leader still has a record whose segment should have been deleted. The
      segment was closed segment.ms after the record at the latest; since then it has been older
      than retention.ms for log.retention.check.interval.ms and 5 s, plus the longest pause in the
      leader's answers (30 s at most), and the broker has run for longer than
      log.initial.task.delay.ms. The history must have all these settings, and faults in that time
      excuse the broker (`overdue.py`).
    - `deleted-below-size`: the log of a first leader is shorter than retention.bytes, although it
      does not begin at offset 0, retention.ms does not limit it, and no records were deleted on
      request. Retention by size must keep at least that many bytes. Compaction may remove more. A
      loss of power may take the end of a log; it excuses the answers until one after it shows that
      the log was longer or began lower (`overdue.py`), since nothing is deleted from a short log.

    Topics with cleanup.policy without delete, or with retention.ms -1, delete nothing by time. If
    retention.bytes is set, any other record may be deleted. If settings were changed, the shortest
    counts. A record's own timestamp is the sender's, but with message.timestamp.type=LogAppendTime
    the time of the append; if the type was changed, the older of both counts. Missing records at or
    above the log start are reported by `lost_writes`, and holes by `offset_gaps`. Brokers are
    judged by the judge's clock; if faults moved theirs, an early deletion proves nothing
    (`clocks.py`). Source: UnifiedLog.deleteOldSegments; LogValidator; KIP-107 (DeleteRecords).
    Counted: records acknowledged in partitions whose settings and log start are
    known, and fetches below a log start.
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
            pl.format("record {}", "value").fill_null("a record"),
            "offset",
            "log_start",
        )
        kept = pl.col("retention_ms") == FOR_EVER
        is_far = pl.col("retention_ms") - pl.col("age_ms") >= HOUR_MS
        early = pl.when(is_far).then(pl.lit(HOURS_TOO_EARLY)).otherwise(pl.lit(TOO_EARLY))
        kind = pl.when(kept).then(pl.lit(KEPT)).otherwise(early)
        found = found.with_columns(off_ms=pl.when(~kept).then(allowed_ms - pl.col("age_ms")))
        back = went_back(events)
        lower = pl.format(
            "DeleteRecords moved the log start to {}, but later the leader of epoch {} reported {}",
            "log_start_before",
            "leader_epoch",
            "log_start",
        )
        long = pl.format(
            "{} was acknowledged at offset {} and should have been deleted, but {} s later the log "
            "still began at {}",
            pl.format("record {}", "value").fill_null("a record"),
            "offset",
            ((pl.col("told_ms") - pl.col("due_ms")) / 1000).round(1),
            "log_start",
        )
        few = pl.format(
            "the log begins at {} and has {} bytes, although retention.bytes keeps {} bytes",
            "log_start",
            "size_bytes",
            "retention_bytes",
        )
        below = events.filter(IS_DELETION & IS_OK & (pl.col("asked") == "answered"))
        silent = pl.format(
            "DeleteRecords moved the log start to {}, but then the leader answered a fetch of "
            "offset {} without OFFSET_OUT_OF_RANGE",
            "log_start",
            "asked_offset",
        )
        return pl.concat(
            [
                describe(below, KEY, BELOW_START, ["op_id"], silent, "broker"),
                describe(found, [*KEY, OFF_MS], kind, ["op_id", "told_op"], message, "broker"),
                describe(back, KEY, GOES_BACK, ["deletion_op", "op_id"], lower, "broker"),
                describe(overdue(events), KEY, TOO_LONG, ["send_op", "op_id"], long, "broker"),
                describe(shortened(events), KEY, TOO_FEW_BYTES, ["op_id"], few, "broker"),
            ]
        )

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        told = events.filter(pl.col("log_start").is_not_null()).select(KEY).unique()
        acked = events.filter(DURABLE).join(limits(events), on=KEY, how="semi")
        asked = events.filter(IS_DELETION & pl.col("asked").is_not_null()).select(KEY)
        return count(pl.concat([acked.join(told, on=KEY, how="semi").select(KEY), asked]))


def limits(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the retention limits of each partition with topic rows: retention_ms, the shortest, or
    FOR_EVER; by_size, whether size limits the log, and retention_bytes, the smallest such limit or
    null; clock_ms, the wall-clock time at which the history's clock was 0; late_ms, the time after
    a record by which its segment must be deleted at the latest; first_ms, the first time at which a
    broker looks for old segments; and by_append and ever_by_append, whether all or some of the
    settings let the broker set the timestamps. late_ms is null if any row lacks the settings for
    it, clock_ms if no row tells the wall clock."""
    deletes = setting("cleanup.policy").fill_null("delete").str.contains("delete")
    by_time = _number("retention.ms").fill_null(RETENTION_MS)
    retention_ms = pl.when(deletes & (by_time >= 0)).then(by_time)
    retention_bytes = _number("retention.bytes")
    by_size = deletes & (retention_bytes >= 0).fill_null(False)
    delay_ms, late_ms = _delay_and_late_ms()
    made_ms = pl.col("t_complete_ns") // 1_000_000
    by_append = (setting("message.timestamp.type") == APPEND_TIME).fill_null(False)
    return (
        events.filter(IS_TOPIC)
        .group_by(KEY)
        .agg(
            retention_ms=retention_ms.min().fill_null(FOR_EVER),
            by_size=by_size.any(),
            retention_bytes=retention_bytes.filter(by_size).min(),
            late_ms=pl.when(late_ms.null_count() == 0).then(late_ms.max()),
            first_ms=(made_ms + delay_ms.clip(0, LONGEST_MS)).max() + PATIENCE_MS,
            clock_ms=(pl.col("timestamp_ms") - pl.col("t_invoke_ns") // 1_000_000).min(),
            ever_by_append=by_append.any(),
            by_append=by_append.all(),
        )
    )


def _delay_and_late_ms() -> tuple[pl.Expr, pl.Expr]:
    """Return two expressions for topic rows: how long a broker waits after its start before it
    looks for old segments (30 s by default), and how long after a record its segment must be
    deleted at the latest, or null if the row lacks the settings, its policy is not `delete` alone,
    or no time limits it."""
    by_time = _number("retention.ms").fill_null(RETENTION_MS)
    parts_ms = (by_time, _number("segment.ms"), _number("log.retention.check.interval.ms"))
    alone = setting("cleanup.policy") == "delete"  # compacted ones are looked at by the cleaner
    late_ms = pl.when(alone & (by_time >= 0)).then(
        sum((part.clip(0, LONGEST_MS) for part in parts_ms), start=pl.lit(PATIENCE_MS))
    )
    return _number("log.initial.task.delay.ms").fill_null(INITIAL_DELAY_MS), late_ms


def longest_ns(history: pl.LazyFrame) -> int | None:
    """Return the longest time in nanoseconds that a broker may take after its start to delete
    segments that are already due, or None if the history lacks the settings or they set no end."""
    delay_ms, late_ms = _delay_and_late_ms()
    both_ms = delay_ms.clip(0, LONGEST_MS) + late_ms
    found = collect(history.filter(IS_TOPIC).select(both_ms.max())).item()
    return found * 1_000_000 if isinstance(found, int) and found < LONGEST_MS else None


def _number(name: str) -> pl.Expr:
    return setting(name).cast(pl.Int64)


def deleted(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return every acknowledged record below a log start that a broker answered, with the lowest
    such log start; leave out partitions that delete by size. age_ms: its greatest possible age at
    that answer (null: unknown); deletable: whether an earlier DeleteRecords may have deleted it."""
    told = (
        events.filter(pl.col("log_start").is_not_null() & pl.col("t_complete_ns").is_not_null())
        .sort("t_complete_ns", "op_id")
        .group_by(*KEY, "log_start")
        .agg(told_ns=pl.col("t_complete_ns").first(), told_op=pl.col("op_id").first())
        .with_columns(at="log_start")
        .sort("at")
    )
    ours = limits(events).filter(~pl.col("by_size"))
    asked_ms = pl.col("clock_ms") + pl.col("t_invoke_ns") // 1_000_000
    sent_ms = (
        pl.when("by_append")
        .then(asked_ms)
        .when("ever_by_append")
        .then(pl.min_horizontal("timestamp_ms", asked_ms))
        .otherwise(pl.coalesce("timestamp_ms", asked_ms))
    )
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
            told,
            left_on="behind",
            right_on="at",
            by=KEY,
            strategy="forward",
            check_sortedness=False,
        )
        .filter(pl.col("log_start").is_not_null())
        .sort("told_ns")
        .join_asof(
            upto,
            left_on="told_ns",
            right_on="begun_ns",
            by=KEY,
            strategy="backward",
            check_sortedness=False,
        )
        .with_columns(
            age_ms=told_ms - sent_ms, deletable=(pl.col("offset") < pl.col("upto")).fill_null(False)
        )
    )


def overdue(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return, for each partition, the leader's answer that shows the most overdue acknowledged
    record, if any is overdue. due_ms: when the record should have been deleted. told_ms: when the
    leader was asked. Both on the history's clock."""
    is_timed = pl.col("timestamp_ms").is_not_null()
    ahead_ms = pl.col("timestamp_ms") - pl.col("clock_ms") - pl.col("t_invoke_ns") // 1_000_000
    allowed = (
        limits(events)
        .filter(pl.col("late_ms").is_not_null() & pl.col("clock_ms").is_not_null())
        .select(*KEY, "late_ms", "first_ms", "clock_ms", "by_append")
    )
    # A record whose sender set a time in the future keeps its whole segment.
    ahead = (
        events.filter((pl.col("f") == F.SEND.value) & is_timed)
        .join(allowed.filter(~pl.col("by_append")), on=KEY)
        .group_by(KEY)
        .agg(ahead_ms=pl.max_horizontal(ahead_ms.max(), 0))
    )
    kept = (
        events.filter(DURABLE & pl.col("t_complete_ns").is_not_null())
        .select(
            *KEY, "offset", "value", send_op="op_id", sent_ms=pl.col("t_complete_ns") // 1_000_000
        )
        .sort("offset")
    )
    answers = events.filter(IS_LEADER_ANSWER & pl.col("log_start").is_not_null())
    late_ms = pl.col("late_ms") + 2 * pl.col("ahead_ms").fill_null(0)
    due_ms = pl.max_horizontal(pl.col("sent_ms") + late_ms, "first_ms") + pl.col(
        "stalled_ms"
    ).fill_null(0)
    return (
        answers.select(*KEY, "op_id", "log_start", told_ms=pl.col("t_invoke_ns") // 1_000_000)
        .join(allowed, on=KEY)
        .join(ahead, on=KEY, how="left")
        .join(stalled(answers), on=KEY, how="left")
        .sort("log_start")
        .join_asof(
            kept,
            left_on="log_start",
            right_on="offset",
            by=KEY,
            strategy="forward",
            coalesce=False,
            check_sortedness=False,
        )
        .filter(pl.col("offset").is_not_null())
        .with_columns(due_ms=due_ms)
        .filter(pl.col("told_ms") > pl.col("due_ms"))
        .sort(pl.col("told_ms") - pl.col("due_ms"), "op_id", descending=[True, False])
        .unique(KEY, keep="first", maintain_order=True)
    )


def stalled(answers: pl.LazyFrame) -> pl.LazyFrame:
    """Return, for each partition, the longest time in which no leader answered before the final
    phase (stalled_ms), counted as STALLED_MS_MAX at most, or null with fewer than two answers."""
    since_ns = pl.col("t_complete_ns") - pl.col("t_invoke_ns").shift(1).over(KEY)
    return (
        answers.filter(~IS_FINAL & pl.col("t_complete_ns").is_not_null())
        .sort("t_invoke_ns", "op_id")
        .select(*KEY, stalled_ms=since_ns // 1_000_000)
        .group_by(KEY)
        .agg(pl.col("stalled_ms").max().clip(0, STALLED_MS_MAX))
    )


def shortened(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the answers of first leaders whose log is shorter than retention.bytes and begins
    above offset 0, although neither time nor DeleteRecords nor compaction can have shortened it."""
    by_size = limits(events).filter("by_size").select(*KEY, "retention_ms", "retention_bytes")
    return (
        events.filter(IS_LEADER_ANSWER & pl.col("size_bytes").is_not_null() & IS_OK)
        .filter((pl.col("log_start") > 0) & (pl.col("leader_epoch") == FIRST_EPOCH))
        .join(by_size, on=KEY)
        .join(deletions(events).select(KEY).unique(), on=KEY, how="anti")
        .join(compactable(events), on=KEY, how="anti")
        .filter(
            (pl.col("retention_ms") == FOR_EVER)
            & (pl.col("size_bytes") < pl.col("retention_bytes"))
        )
    )


def deletions(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the DeleteRecords that were performed, or may have been. upto: the offset below which
    they deleted: the requested one or, for a deletion of everything, the log start in the answer,
    or 2**62 without an answer."""
    everything = pl.lit(2**62, dtype=pl.Int64)
    answered = pl.when(IS_OK).then("log_start")
    asked = events.filter(IS_DELETION & (pl.col("type") != Type.FAIL.value))
    return asked.select(
        *KEY, begun_ns="t_invoke_ns", upto=pl.coalesce("offset", answered, everything)
    )


def went_back(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the leaders' answers whose log start is below the one that DeleteRecords had returned
    before, in the same epoch; one row for each such DeleteRecords."""
    done = events.filter(
        IS_DELETION
        & IS_OK
        & pl.col("log_start").is_not_null()
        & pl.col("leader_epoch").is_not_null()
    ).select(
        *KEY,
        "leader_epoch",
        done_ns="t_complete_ns",
        deletion_op="op_id",
        log_start_before="log_start",
    )
    return (
        events.filter(IS_LEADER_ANSWER & pl.col("log_start").is_not_null())
        .select(*KEY, "leader_epoch", "op_id", "log_start", "t_invoke_ns")
        .join(done, on=[*KEY, "leader_epoch"])
        .filter(
            (pl.col("done_ns") < pl.col("t_invoke_ns"))
            & (pl.col("log_start") < pl.col("log_start_before"))
        )
    )
