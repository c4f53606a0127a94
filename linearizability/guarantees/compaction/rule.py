"""Compaction keeps the last value of every key."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import OFF_MS, Checker, Needs, Scope, describe
from linearizability.evidence.removals import IS_TOPIC, OF_KEY, compactable, newest_of_keys, setting
from linearizability.ingest import (
    ABORTED,
    BY_RAW_CLIENT,
    COMMITTED,
    IS_DATA,
    IS_IDEMPOTENT,
    IS_SEND,
    KEY,
    LOG_START,
    PLAIN,
    READS_COMMITTED,
    WHOLE_READ,
)
from linearizability.reads.inferred_log import (
    ACKNOWLEDGED,
    BELOW_HIGH_WATERMARK,
    at_or_above_log_start,
)

NO_SUCCESSOR, MOVED = "last-value-lost", "record-moved"
TOO_EARLY, HOURS_TOO_EARLY = "tombstone-lost-early", "tombstone-lost-hours-early"
RESURRECTED, TOO_HIGH = "key-resurrected", "removed-above-stable"
READ = [*KEY, "read_op", "reader"]
LEADER = -1
"""The number that stands for the leader in the column `replica`, so that joins need no special case
for null."""
HOUR_MS = 60 * 60 * 1000
DELETE_RETENTION_MS = 24 * HOUR_MS
"""The default of delete.retention.ms, in milliseconds (LogConfig)."""


class Compaction(Checker):
    """A complete read of a compacted log shows the last record of every key at its offset. The
    kinds of anomaly:

    - `last-value-lost`: the read lacks the last record of a key, a value.
    - `tombstone-lost-early`: the read lacks the last record of a key, a tombstone that was sent
      less than delete.retention.ms ago; `tombstone-lost-hours-early` if more than an hour was left,
      since few clocks are that wrong.
    - `record-moved`: the read shows a record at another offset than the acknowledged one.
    - `key-resurrected`: the read lacks the last tombstone of a key, however old, but shows a value
      that the tombstone had removed. The cleaning that removes a tombstone comes
      delete.retention.ms after the cleaning that removed the values below it. A read that takes
      that long may see such a value, and a replica that was down for that long may still have it
      (`overdue.py`).
    - `removed-above-stable`: a raw read of the leader lacks an acknowledged record at or above the
      last stable offset that the same leader named, although nothing there was ever cleaned.

    Compaction may only remove a record below a later one of the same key. The last record of a key
    is one that was acknowledged under acks=all before the read began (plain or committed), with no
    other record of the key known at a higher offset, except aborted ones and those of transactions
    whose commit was never requested. A key is not judged if
    the outcome of one of its tombstones is unknown or, outside the final phase, the outcome of any
    of its records. Deletion by time or size raises the log start. Source: docs, design#compaction;
    KIP-534 (tombstones); Cleaner, LogCleanerManager (nothing above the last stable offset is
    cleaned). Counted: last records that a read should show, and records of compacted topics that it
    shows, sent once with idempotence.
    """

    name: ClassVar[str] = "compaction"
    title: ClassVar[str] = "compaction keeps the last value of every key, at its offset"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.KEYS, Needs.WHOLE_READS})
    counted_under: ClassVar[frozenset[Needs]] = needs
    whole: ClassVar[str] = "the last record of each key"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        reads = complete_reads(events)
        shown = records_shown(events, reads)
        unstable = above_stable(events, reads).join(shown, on=[*READ, "value"], how="anti")
        missing = due(events, reads).join(shown, on=[*READ, "value"], how="anti")
        # A wrong clock may excuse the loss of a young tombstone, but none above the stable offset.
        missing = missing.join(unstable, on=[*READ, "op_id"], how="anti")
        back = resurrected(events, reads, shown)
        left_ms = pl.when("tombstone").then(pl.col("delete_retention_ms") - pl.col("age_ms"))
        missing = missing.with_columns(off_ms=left_ms)
        is_far = left_ms >= HOUR_MS
        early = pl.when(is_far).then(pl.lit(HOURS_TOO_EARLY)).otherwise(pl.lit(TOO_EARLY))
        kind = pl.when("tombstone").then(early).otherwise(pl.lit(NO_SUCCESSOR))
        message = pl.format(
            "the last value of key {} is {}, at offset {}, but a complete read does not contain it",
            "key",
            "value",
            "offset",
        )
        moved = placed_once(events, shown).filter(pl.col("offset") != pl.col("acked_at"))
        elsewhere = pl.format(
            "{} was acknowledged at offset {}, but is stored at offset {}",
            "value",
            "acked_at",
            "offset",
        )
        removed = pl.format(
            "key {} was removed by the tombstone at offset {}, but a complete read contains {}, an "
            "older value of it, at offset {}, and not the tombstone",
            "key",
            "offset",
            "old_value",
            "old_offset",
        )
        operations = ["op_id", "read_op"]
        too_high = pl.format(
            "{} was acknowledged at offset {}, but a complete read lacks it, although the"
            " last stable offset was {}",
            "value",
            "offset",
            "stable",
        )
        return pl.concat(
            [
                describe(unstable, KEY, TOO_HIGH, operations, too_high, "broker"),
                describe(missing, [*KEY, OFF_MS], kind, operations, message, "broker"),
                describe(moved, KEY, MOVED, operations, elsewhere, "broker"),
                describe(back, KEY, RESURRECTED, operations, removed, "broker"),
            ]
        )

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        reads = complete_reads(events)
        placed = placed_once(events, records_shown(events, reads))
        judged = [due(events, reads), placed]
        return pl.concat([rows.select(checked=pl.len().cast(pl.Int64)) for rows in judged]).sum()


def complete_reads(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return each read of a whole log, from start to end (the high watermark; for read_committed,
    at most the last stable offset), of the leader or a replica (reader), by any client, in
    partitions with keys. Reads that do not tell these offsets are left out. stable: the last stable
    offset if a raw client read without read_committed, or else null."""
    is_committed = READS_COMMITTED
    end = pl.when(is_committed).then(pl.min_horizontal("high_watermark", "last_stable_offset"))
    known = pl.col("high_watermark").is_not_null() & (
        ~is_committed | pl.col("last_stable_offset").is_not_null()
    )
    with_keys = events.filter(IS_SEND & pl.col("key").is_not_null()).select(KEY).unique()
    return (
        events.filter(WHOLE_READ & known)
        .join(with_keys, on=KEY, how="semi")
        .select(
            *KEY,
            read_op="op_id",
            reader=pl.col("replica").fill_null(LEADER),
            start=LOG_START,
            end=end.otherwise("high_watermark"),
            asked_ns="t_invoke_ns",
            read_ns="t_complete_ns",
            final="final",
            stable=pl.when(BY_RAW_CLIENT & ~is_committed).then("last_stable_offset"),
        )
    )


def records_shown(events: pl.LazyFrame, reads: pl.LazyFrame) -> pl.LazyFrame:
    """Return every record below the high watermark that one of these reads returned: its offset,
    key, value, outcome and whether it is a tombstone (removes), and the operation (read_op) and
    replica (reader) of the read."""
    return (
        events.filter(IS_DATA & BELOW_HIGH_WATERMARK & pl.col("value").is_not_null())
        .select(
            *KEY,
            "offset",
            "value",
            "key",
            "outcome",
            read_op="op_id",
            reader=pl.col("replica").fill_null(LEADER),
            removes=pl.col("tombstone").fill_null(False),
        )
        .join(reads.select(READ).unique(), on=READ, how="semi")
    )


def above_stable(events: pl.LazyFrame, reads: pl.LazyFrame) -> pl.LazyFrame:
    """Return the acknowledged records of partitions that may be compacted, once for each complete
    raw read of a leader, requested after their acknowledgement, that covers them and named a last
    stable offset at or below them. That offset only rises, and the cleaner never passes it, so it
    has removed none of them, whatever became of their transactions."""
    of_leader = reads.filter(pl.col("stable").is_not_null() & (pl.col("reader") == LEADER))
    sent = events.filter(ACKNOWLEDGED & pl.col("value").is_not_null()).select(
        *KEY, "offset", "value", "op_id", acked_ns="t_complete_ns"
    )
    return (
        at_or_above_log_start(sent.join(compactable(events), on=KEY, how="semi"), events)
        .join(of_leader, on=KEY)
        .filter(
            (pl.col("acked_ns") < pl.col("asked_ns"))
            & (pl.max_horizontal("start", "stable") <= pl.col("offset"))
            & (pl.col("offset") < pl.col("end"))
        )
    )


def due(events: pl.LazyFrame, reads: pl.LazyFrame) -> pl.LazyFrame:
    """Return, for each complete read, the last records of keys that it must show: values, and
    tombstones known to be younger than delete.retention.ms when the read ended."""
    age_ms = (pl.col("read_ns") - pl.col("sent_ns")) // 1_000_000
    is_young = (pl.col("age_ms") < pl.col("delete_retention_ms")).fill_null(False)
    return (
        last_of_keys(events, reads)
        .with_columns(age_ms=age_ms)
        .filter(~pl.col("tombstone") | is_young)
    )


def last_of_keys(events: pl.LazyFrame, reads: pl.LazyFrame) -> pl.LazyFrame:
    """Return the last record of each key, once for each complete read that was requested after its
    acknowledgement and covers its offset, with delete_retention_ms (null without topic rows). Keys
    with a tombstone of unknown place are left out, and outside the final phase those with any
    record of unknown place."""
    durable = ACKNOWLEDGED & pl.col("outcome").is_in([PLAIN, COMMITTED])
    sent = events.filter(durable & pl.col("key").is_not_null() & pl.col("value").is_not_null())
    sent = sent.select(
        *OF_KEY, "offset", "value", "op_id", sent_ns="t_invoke_ns", acked_ns="t_complete_ns"
    )
    last = sent.join(newest_of_keys(events), on=OF_KEY).filter(pl.col("offset") == pl.col("newest"))
    return (
        at_or_above_log_start(last.filter(~pl.col("lost_tombstone")), events)
        .join(reads, on=KEY)
        .join(delete_retentions(events), on=KEY, how="left")
        .filter(
            (pl.col("acked_ns") < pl.col("asked_ns"))
            & (pl.col("start") <= pl.col("offset"))
            & (pl.col("offset") < pl.col("end"))
            & (~pl.col("lost") | pl.col("final"))
        )
    )


def resurrected(events: pl.LazyFrame, reads: pl.LazyFrame, shown: pl.LazyFrame) -> pl.LazyFrame:
    """Return the tombstones that a read lacks although it shows an older value of their key; each
    tombstone is the last record of its key. old_value, old_offset: the newest such value. Leave out
    reads that took as long as delete.retention.ms, and partitions whose settings are unknown."""
    lasted_ms = (pl.col("read_ns") - pl.col("asked_ns")) // 1_000_000
    is_short = (lasted_ms < pl.col("delete_retention_ms")).fill_null(False)
    gone = (
        last_of_keys(events, reads)
        .filter(pl.col("tombstone") & is_short)
        .join(shown, on=[*READ, "value"], how="anti")
    )
    is_live = ~pl.col("removes") & (pl.col("outcome") != ABORTED).fill_null(True)
    older = shown.filter(is_live).select(*READ, "key", old_value="value", old_offset="offset")
    return (
        gone.join(older, on=[*READ, "key"])
        .filter(pl.col("old_offset") < pl.col("offset"))
        .sort("old_offset", "old_value", descending=True)
        .unique([*READ, "key", "op_id"], keep="first", maintain_order=True)
    )


def delete_retentions(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return, for each partition, the shortest delete.retention.ms that its topic rows ever named;
    a row that names none stands for the default."""
    told = setting("delete.retention.ms").cast(pl.Int64).fill_null(DELETE_RETENTION_MS)
    return events.filter(IS_TOPIC).group_by(KEY).agg(delete_retention_ms=told.min())


def placed_once(events: pl.LazyFrame, shown: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records that a read shows and whose acknowledged offset is known (acked_at), if
    each was sent once and with idempotence."""
    sends = events.filter(IS_SEND & pl.col("value").is_not_null())
    once = sends.group_by(*KEY, "value").len().filter(pl.col("len") == 1).drop("len")
    placed = sends.filter(ACKNOWLEDGED & IS_IDEMPOTENT).select(
        *KEY, "value", "op_id", acked_at="offset"
    )
    return placed.join(once, on=[*KEY, "value"], how="semi").join(shown, on=[*KEY, "value"])
