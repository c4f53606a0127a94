"""A consumer begins at the position that it requested, and skips no record that exists."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, describe
from linearizability.evidence.removals import still_there
from linearizability.ingest import IS_DATA, KEY
from linearizability.plans import collect, needed, once
from linearizability.reads.inferred_log import (
    ACKNOWLEDGED,
    PROVEN_POLL,
    VISIBLE_COMMITTED,
    inferred_log,
)
from linearizability.reads.look_ups import IS_LOOK_UP, look_ups, missed, wrong_look_ups
from linearizability.reads.readers import (
    IS_MISLED,
    IS_START,
    distinct_jumps,
    first_steps,
    jumps,
    steps,
    walked,
)

READ_UNCOMMITTED = "read_uncommitted"
BEGINS_EARLY, BEGINS_LATE, WRONG = "begins-early", "begins-late", "wrong-look-up"
MISSED = "missed-look-up"


class PollSkips(Checker):
    """A reader goes from one offset to a later one over a record that it should have received. Or,
    where the history says at which offset it began (`position` rows): its first record lies above
    one that it should have received, or below its start (`begins-early`), although the log was
    known to reach that far, so that the start cannot have been out of range. Or a reader that
    requested the earliest offset got an offset above a log start that a later answer named
    (`begins-late`): log starts only rise. Or a look-up by time did not return the first record at
    or after that time (`wrong-look-up`), or returned nothing although one was there before it was
    invoked (`missed-look-up`; not judged where records were deleted or may be compacted away).

    Which records exist is known from the inferred log. For read_committed (and where the isolation
    is not recorded): plain and committed records, and records that another read_committed reader
    received. For read_uncommitted: every record that some reader received, or that was
    acknowledged. Control records, aborted records and everything below the log start may be passed
    over. Source: KafkaConsumer, "Offsets and Consumer Position"; KIP-98. Jepsen: poll-skip and its
    internal twin. Counted: records read after another, or after a recorded start, and look-ups.
    """

    name: ClassVar[str] = "poll_skips"
    title: ClassVar[str] = (
        "a consumer begins at the position that it requested and skips no visible record"
    )
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.READERS})
    whole: ClassVar[str] = "the log between two polls"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        first = first_steps(events)
        message = pl.format(
            "process {}, session {} received offset {} after {}, but not {} at offset {}",
            "process",
            pl.col("session").cast(pl.String).fill_null("-"),
            "offset",
            pl.when(pl.col("before") < 0)
            .then(pl.lit("its start at offset 0"))
            .otherwise(pl.col("before").cast(pl.String)),
            "skipped_value",
            "skipped_offset",
        )
        operations = ["before_op", "op_id", "skipped_op"]
        early = too_early(first, events)
        began = pl.format(
            "process {}, session {} asked to begin at offset {} but received offset {}",
            "process",
            pl.col("session").cast(pl.String).fill_null("-"),
            pl.col("before") + 1,
            "offset",
        )
        wrong = pl.format(
            "process {} asked for the first offset at or after timestamp {} ms and got {}, but "
            "offset {} has timestamp {} ms",
            "process",
            "wanted",
            "offset",
            "proof_offset",
            "proof_ms",
        )
        nothing = pl.format(
            "process {} asked for the first offset at or after timestamp {} ms and got nothing, "
            "but offset {} has timestamp {} ms",
            "process",
            "wanted",
            "proof_offset",
            "proof_ms",
        )
        late = pl.format(
            "process {} asked for the earliest offset and got {}, but the log started at {} then",
            "process",
            "offset",
            "log_start",
        )
        return pl.concat(
            [
                describe(events.filter(IS_MISLED), KEY, BEGINS_LATE, ["op_id"], late),
                describe(wrong_look_ups(events), KEY, WRONG, ["op_id", "proof_op"], wrong),
                describe(missed(events), KEY, MISSED, ["op_id", "proof_op"], nothing),
                describe(skips(events), KEY, "poll-skip", operations, message),
                describe(early, KEY, BEGINS_EARLY, ["before_op", "op_id"], began),
            ]
        )

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        data = events.filter(IS_DATA | IS_START | IS_LOOK_UP)
        judged = [first_steps(data), look_ups(data)]
        if collect(events.select(pl.col("control").is_not_null().any())).item():
            judged.append(steps(data))
            total = 0
        else:
            total = once(walked, events).total
        counts = [rows.select(checked=pl.len().cast(pl.Int64)) for rows in judged]
        return pl.concat([*counts, pl.LazyFrame({"checked": [total]}, {"checked": pl.Int64})]).sum()


def skips(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the jumps of readers that pass over a record which they should have received, each
    with the first such record (skipped_offset, skipped_value, skipped_op)."""
    log = still_there(inferred_log(events), events).filter(
        pl.col("control").is_null() & pl.col("value").is_not_null()
    )
    uncommitted = (pl.col("isolation") == READ_UNCOMMITTED).fill_null(False)
    jump, made, found = [*KEY, "before", "offset"], distinct_jumps(events), []
    for is_theirs, records in ((uncommitted, log), (~uncommitted, log.filter(VISIBLE_COMMITTED))):
        over = passed_over(made.filter(is_theirs).select(jump), records)
        theirs = jumps(needed(events, over)).filter(is_theirs)
        found.append(theirs.join(over.lazy(), on=jump))
    return pl.concat(found)


def too_early(first: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the first records below the start of their session, in sessions whose start the log
    was known to have reached before."""
    early = collect(first.filter(pl.col("offset") <= pl.col("before")))
    reach = (
        needed(events, early)
        .filter(ACKNOWLEDGED | PROVEN_POLL)
        .select(*KEY, known_ns="t_complete_ns", reach=pl.col("offset") + 1)
        .filter(pl.col("known_ns").is_not_null())
        .sort("known_ns")
        .with_columns(pl.col("reach").cum_max().over(KEY))
    )
    return (
        early.lazy()
        .sort("begun_ns")
        .join_asof(
            reach,
            left_on="begun_ns",
            right_on="known_ns",
            by=KEY,
            strategy="backward",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .filter(pl.col("reach") > pl.col("before"))
    )


def passed_over(made: pl.LazyFrame, log: pl.LazyFrame) -> pl.DataFrame:
    """Return the distinct jumps (KEY, before, offset) that pass over at least one entry of the log,
    with the first such entry (skipped_offset, skipped_value, skipped_op)."""
    entries = (
        log.sort("offset", "value")
        .unique([*KEY, "offset"], keep="first", maintain_order=True)
        .select(
            *KEY,
            next_offset="offset",
            skipped_offset="offset",
            skipped_value="value",
            skipped_op="op_id",
        )
        .sort("next_offset")
    )
    jump = [*KEY, "before", "offset"]
    # Readers make the same jumps: over a marker, over an aborted transaction.
    distinct = collect(made.select(jump).unique())
    return collect(
        distinct.lazy()
        .with_columns(wanted=pl.col("before") + 1)
        .sort("wanted")
        .join_asof(
            entries if distinct.height else pl.LazyFrame(schema=entries.collect_schema()),
            left_on="wanted",
            right_on="next_offset",
            by=KEY,
            strategy="forward",
            check_sortedness=False,
        )
        .filter(pl.col("skipped_offset") < pl.col("offset"))
        .select(*jump, "skipped_offset", "skipped_value", "skipped_op")
    )
