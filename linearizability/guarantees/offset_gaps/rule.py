"""A log has no holes."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, describe
from linearizability.evidence.removals import compactable
from linearizability.guarantees.poll_skips.rule import passed_over
from linearizability.ingest import HAS_RECORD, IS_SEND, KEY, READ_COMMITTED, WHOLE_READ
from linearizability.plans import collect, needed
from linearizability.reads.inferred_log import at_or_above_log_start
from linearizability.reads.raw_reads import IS_RAW, READ, raw_records
from linearizability.reads.readers import IS_MISLED, steps

RAW = "raw"
"""The name of the client that reads raw, with control records."""
JEPSEN = "jepsen"
"""The name of the client in imported Jepsen histories (importers/jepsen.py)."""


class OffsetGaps(Checker):
    """A raw read goes from one offset to another that is not the next. Or an ordinary reader does,
    in a partition without transactions, over offsets that appear nowhere else in the history (if a
    record is known to be there, `poll_skips` reports it). Or a complete raw read shows records, but
    lacks the last one below the high watermark that it names, or, from a leader, the first one at
    the log start that it names.

    A leader gives each record the next offset, and a new leader continues at the end of its log
    (UnifiedLog.append; LogValidator.assignOffsets). Control records, which readers skip, are only
    in logs with transactions. Logs whose records have keys in the history may be compacted and are
    not judged; nor are offsets below the log start. Ordinary readers count only in our own
    histories, since Jepsen's do not distinguish transactions from single sends. Counted: records
    that follow another in raw reads and in reads of such readers.
    """

    name: ClassVar[str] = "offset_gaps"
    title: ClassVar[str] = "a log has no holes"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.READS})
    whole: ClassVar[str] = "whether any client wrote in transactions"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        hole = pl.col("offset") > pl.col("before") + 1
        in_log = self._kept(in_raw_reads(events).filter(hole), events)
        seen = self._kept(in_plain_partitions(events).filter(hole), events)
        known = (
            events.filter((IS_SEND | HAS_RECORD) & pl.col("offset").is_not_null())
            .join(seen, on=KEY, how="semi")
            .select(*KEY, "offset", "value", "op_id")
        )
        passed = passed_over(seen, known).lazy().select(*KEY, "before", "offset")
        jump = [*KEY, "before", "offset"]
        seen = seen.join(passed, on=jump, how="anti")
        message = pl.format(
            "offset {} directly follows offset {}: the offsets between them are missing",
            "offset",
            "before",
        )
        ended = self._kept(ended_early(events), events)
        short = pl.format(
            "a complete read shows nothing after offset {}, although its high watermark is {}",
            "before",
            "offset",
        )
        begun = self._kept(begun_late(events), events)
        late = pl.format(
            "a complete read from log start {} on shows nothing before offset {}", "start", "offset"
        )
        return pl.concat(
            [
                describe(begun, KEY, "offset-gap", ["op_id"], late, "broker"),
                describe(ended, KEY, "offset-gap", ["op_id"], short, "broker"),
                describe(in_log, KEY, "offset-gap", ["op_id"], message, "broker"),
                describe(seen, KEY, "offset-gap", ["before_op", "op_id"], message),
            ]
        )

    def _kept(self, holes: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
        """Return the holes that contain an offset at or above the log start."""
        above = at_or_above_log_start(holes.with_columns(offset=pl.col("offset") - 1), events)
        return above.with_columns(offset=pl.col("offset") + 1)

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        judged = [in_raw_reads(events), in_plain_partitions(events)]
        counts = [rows.select(checked=pl.len().cast(pl.Int64)) for rows in judged]
        return pl.concat(counts).sum()


def in_raw_reads(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records that a raw read shows after another record, in logs that are not
    compacted."""
    after_another = raw_records(events).filter(pl.col("before").is_not_null())
    return after_another.join(compactable(events), on=KEY, how="anti")


def begun_late(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the complete raw reads from leaders, of logs that are not compacted, whose first
    record (offset) is not the one at their log start (start). `poll_skips` reports those that were
    given a later offset to begin at."""
    reads = collect(
        events.filter(WHOLE_READ & (pl.col("client") == RAW) & pl.col("replica").is_null())
        .filter((pl.col("isolation") != READ_COMMITTED).fill_null(True))
        .select(*READ, start="log_start")
    )
    records = needed(events, reads).filter(HAS_RECORD)
    first = records.group_by(READ).agg(pl.col("offset").min())
    return (
        reads.lazy()
        .join(events.filter(IS_MISLED), on=READ, how="anti", nulls_equal=True)
        .join(first, on=READ, nulls_equal=True)
        .filter(pl.col("start") < pl.col("offset"))
        .join(compactable(events), on=KEY, how="anti")
    )


def ended_early(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the complete raw reads, of logs that are not compacted, whose last record is not the
    one below their high watermark. before: the offset of that last record; offset: the high
    watermark."""
    reads = collect(
        events.filter(WHOLE_READ & (pl.col("client") == RAW))
        .filter((pl.col("isolation") != READ_COMMITTED).fill_null(True))
        .select(*READ, offset="high_watermark")
    )
    records = needed(events, reads).filter(HAS_RECORD)
    last = records.group_by(READ).agg(before=pl.col("offset").max())
    return (
        reads.lazy()
        .join(last, on=READ, nulls_equal=True)
        .filter(pl.col("before") + 1 < pl.col("offset"))
        .join(compactable(events), on=KEY, how="anti")
    )


def in_plain_partitions(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return each record that an ordinary reader, not one of Jepsen's, received after another one,
    in partitions that have no transactions and no raw reads and are not compacted."""
    other = events.filter((IS_SEND & pl.col("txn").is_not_null()) | IS_RAW).select(KEY).unique()
    ordinary = events.filter(pl.col("client").ne_missing(JEPSEN) & pl.col("control").is_null())
    return steps(ordinary.join(pl.concat([other, compactable(events)]), on=KEY, how="anti"))
