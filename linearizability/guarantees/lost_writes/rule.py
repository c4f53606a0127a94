"""An acknowledged record is delivered to every reader that reads past it."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.evidence.removals import still_there
from linearizability.ingest import (
    ABORTED,
    HAS_RECORD,
    IS_DATA,
    IS_FINAL,
    KEY,
    LOG_START,
    READ_COMMITTED,
    READS_COMMITTED,
    WHOLE_READ,
)
from linearizability.plans import collect, needed
from linearizability.reads.final_reads import whole_reads
from linearizability.reads.inferred_log import ACKNOWLEDGED, DURABLE, PROVEN_POLL

WHOLE_RAW_READ = (
    WHOLE_READ
    & (pl.col("client") == "raw")
    & pl.col("replica").is_null()
    & (pl.col("isolation") != READ_COMMITTED)
    & pl.col("high_watermark").is_not_null()
)
VANISHED = "vanished-record"


class LostWrites(Checker):
    """An acknowledged record is missing. The kinds of anomaly:

    - `lost-write`: a record was acknowledged under acks=all (plain, or of a committed transaction),
      and lies at or above the log start, but no reader received it, although readers went past its
      offset, or read the log to its end.
    - `vanished-record`: a record was acknowledged, or a reader received it, but a later complete
      raw read of the leader has nothing at its offset, or ends before it. A consumer receives only
      records below the high watermark, and these must be kept. Only reads of the final phase prove
      where a log ends, since a deposed leader may answer before.

    A reader went past the offsets between two that it reached (`coverage`): from the beginning to
    the highest offset read, in a session that belongs to no group; from the first to the highest,
    if a group set its position; from log start to high watermark, in a complete read. An
    acknowledgement alone never proves that a reader went past a record: records at the end that
    nobody has polled are not lost. But a complete read of the final phase that began after the
    acknowledgement proves that nothing more lies at its end. Records of aborted transactions do not
    count.

    Source: docs, design#replication ("a message that was committed will not be lost"). Jepsen:
    lost-write, and its unseen where a whole read proves it. Counted: acknowledged records that some
    reader went past.
    """

    name: ClassVar[str] = "lost_writes"
    title: ClassVar[str] = "an acknowledged record is in the log"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.READS})
    whole: ClassVar[str] = "how far any reader read"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        acked = still_there(acknowledged(events), events)
        read = events.filter(IS_DATA).select(*KEY, "value").unique()
        suspects = collect(acked.join(read, on=[*KEY, "value"], how="anti"))
        missing = suspects.lazy()
        passed = (
            missing.join(coverage(needed(events, suspects)), on=KEY)
            .filter((pl.col("start") <= pl.col("offset")) & (pl.col("offset") < pl.col("end")))
            .select(*KEY, "value", "offset", "op_id", proof="proof", reach=pl.col("end"))
        )
        ended = (
            missing.join(ends_of_log(events), on=KEY)
            .filter(pl.col("offset") >= pl.col("end"), pl.col("acked_ns") < pl.col("read_ns"))
            .select(*KEY, "value", "offset", "op_id", proof="proof", reach=pl.col("end"))
        )
        found = (
            pl.concat([passed, ended])
            .sort("reach", "proof", descending=[True, False])
            .unique([*KEY, "value", "offset", "op_id"], keep="first", maintain_order=True)
        )
        message = pl.format(
            "record {} was acknowledged at offset {}, but {}",
            "value",
            "offset",
            pl.when(pl.col("reach") > 0)
            .then(pl.format("no read up to offset {} contains it", pl.col("reach") - 1))
            .otherwise(pl.lit("a read of the whole log shows no record")),
        )
        gone = pl.format(
            "record {} was {} at offset {}, but a later read of the whole log does not contain it",
            "value",
            pl.when("is_read").then(pl.lit("read")).otherwise(pl.lit("acknowledged")),
            "offset",
        )
        return pl.concat(
            [
                describe(found, KEY, "lost-write", ["op_id", "proof"], message, "broker"),
                describe(vanished(events), KEY, VANISHED, ["op_id", "proof"], gone, "broker"),
            ]
        )

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        reach = pl.concat(
            [
                coverage(events).select(*KEY, "start", "end"),
                ends_of_log(events).select(*KEY, start=pl.lit(0, dtype=pl.Int64), end=None),
            ]
        )
        reach = reach.group_by(KEY).agg(
            start=pl.col("start").min(), end=pl.col("end").max(), whole=pl.col("end").has_nulls()
        )
        within = (pl.col("start") <= pl.col("offset")) & (pl.col("offset") < pl.col("end"))
        return count(acknowledged(events).join(reach, on=KEY).filter(within | pl.col("whole")))


def acknowledged(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the sends that must not be lost: acknowledged under acks=all, plain or of a committed
    transaction (DURABLE)."""
    return events.filter(DURABLE & pl.col("value").is_not_null()).select(
        *KEY, "value", "offset", "op_id", acked_ns="t_complete_ns"
    )


def vanished(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return each record that a later complete raw read of the leader, in the final phase, lacks,
    with no other record at its offset: the first operation that proves the record (op_id), and the
    first read that lacks it (proof). is_read: a reader received the record before that read;
    otherwise it was acknowledged. Leave out records that nobody ever received, and reads that show
    no record of a log that is not empty."""
    reads = collect(
        events.filter(WHOLE_RAW_READ & IS_FINAL).select(
            *KEY, start=LOG_START, end="high_watermark", read_ns="t_invoke_ns", proof="op_id"
        )
    )
    whole, events = reads.lazy(), needed(events, reads)
    data = events.filter(PROVEN_POLL & IS_DATA & pl.col("value").is_not_null())
    # A record that nobody received is a lost write instead.
    acked = events.filter(ACKNOWLEDGED & pl.col("value").is_not_null()).join(
        events.filter(IS_DATA).select(*KEY, "value").unique(), on=[*KEY, "value"], how="semi"
    )
    seen = pl.concat(
        [_first_of_each(data, whole, is_read=True), _first_of_each(acked, whole, is_read=False)]
    )
    shown = events.filter(HAS_RECORD & pl.col("replica").is_null()).select(
        *KEY, "offset", proof="op_id"
    )
    # A read that returned no record of a range that is not empty proves nothing about its records.
    is_told = (pl.col("end") <= pl.col("start")) | pl.col("shows").fill_null(False)
    showing = shown.select(*KEY, "proof", shows=pl.lit(True)).unique()
    missing = (
        seen.join(whole.join(showing, on=[*KEY, "proof"], how="left").filter(is_told), on=KEY)
        .filter((pl.col("seen_ns") < pl.col("read_ns")) & (pl.col("start") <= pl.col("offset")))
        .join(shown, on=[*KEY, "offset", "proof"], how="anti")
    )
    return (
        still_there(missing, events)
        .sort("is_read", "proof", descending=[True, False])
        .unique([*KEY, "offset", "value"], keep="first", maintain_order=True)
    )


def _first_of_each(rows: pl.LazyFrame, whole: pl.LazyFrame, is_read: bool) -> pl.LazyFrame:
    """Return one row for each offset and value among these rows, in partitions that were read
    whole: seen_ns, the earliest end of an operation that showed it, and op_id, the lowest number of
    such an operation. is_read: a constant column to add."""
    return (
        rows.join(whole.select(KEY).unique(), on=KEY, how="semi")
        .filter(pl.col("t_complete_ns").is_not_null())
        .group_by(*KEY, "offset", "value")
        .agg(seen_ns=pl.col("t_complete_ns").min(), op_id=pl.col("op_id").min())
        .with_columns(is_read=pl.lit(is_read))
    )


def coverage(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return partition, start, end, proof: every record in [start, end) was passed by some reader,
    as operation `proof` shows."""
    counted = events.filter(IS_DATA & (pl.col("outcome") != ABORTED).fill_null(True))
    grouped = pl.col("group").is_not_null()
    alone = reached(counted.filter(~grouped), KEY).with_columns(start=pl.lit(0, dtype=pl.Int64))
    positioned = reached(counted.filter(grouped), [*KEY, "process", "session", "group"])
    columns = [*KEY, "start", "end", "proof"]
    return pl.concat([p.select(columns) for p in (alone, positioned, whole_reads(events))])


def reached(read: pl.LazyFrame, reader: list[str]) -> pl.LazyFrame:
    """Return start, end and proof for each reader: the lowest offset that it received, the highest
    plus 1, and the first operation that received the record there. reader: the columns that tell
    readers apart."""
    ends = read.group_by(reader).agg(start=pl.min("offset"), last=pl.max("offset"))
    last = [*reader, "last"]
    return (
        read.select(*reader, "op_id", last="offset")
        .join(ends, on=last, nulls_equal=True)
        .group_by(last)
        .agg(pl.min("start"), proof=pl.min("op_id"))
        .with_columns(end=pl.col("last") + 1)
    )


def ends_of_log(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return partition, end, read_ns, proof: the end of the log in each complete read of the final
    phase, and when that began. (A read_committed read proves no end: a hanging transaction hides
    the records after it.)"""
    committed_only = READS_COMMITTED
    return events.filter(
        WHOLE_READ & IS_FINAL & ~committed_only & pl.col("high_watermark").is_not_null()
    ).select(*KEY, end="high_watermark", read_ns="t_invoke_ns", proof="op_id")
