"""The last stable offset waits for an open transaction, and not for one that has ended."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.bounds import NEVER
from linearizability.checkers.base import (
    IS_LEADER_ANSWER,
    OFF_MS,
    Checker,
    Needs,
    Scope,
    count,
    describe,
)
from linearizability.evidence.time_outs import SWEEP_NS
from linearizability.ingest import COMMITTED, IS_DATA, IS_SEND, KEY, READS_COMMITTED, TOLD_COMMIT
from linearizability.plans import collect, needed
from linearizability.reads.inferred_log import ACKNOWLEDGED, log_starts
from linearizability.reads.raw_reads import OF_PRODUCER, raw_records

MARKERS_NS = 60 * 1_000_000_000
"""The nanoseconds that markers take at most when every coordinator and leader can be reached."""
PATIENCE_NS = 5 * 1_000_000_000
"""The nanoseconds allowed beyond what the settings allow, since machines are slow."""
AHEAD = "stable-while-open"
FINALLY = "open-for-too-long"
AFTER_END, AFTER_TIME_OUT = "open-after-its-end", "open-after-its-time-out"
LONGEST_TIMEOUT_MS = 15 * 60 * 1_000
LONGEST_NS = LONGEST_TIMEOUT_MS * 1_000_000 + SWEEP_NS + MARKERS_NS
"""The longest time in nanoseconds that a transaction may last: transaction.max.timeout.ms is 15
minutes unless it is configured."""


class HangingTransactions(Checker):
    """An open transaction holds back the last stable offset, and only as long as it is open. The
    kinds of anomaly:

    - `ended-but-open`: a leader names a last stable offset below its high watermark, although the
      transaction that begins there has ended: a raw read that was over before the request shows the
      marker below that high watermark.
    - `open-for-too-long`: in the final phase, a leader names a last stable offset at a record that
      was acknowledged longer ago than any transaction may last. Or the final phase has lasted a
      minute, and the end of the transaction was acknowledged a minute before, or the transaction
      has lasted longer than the largest transaction.timeout.ms of the run's producers, the sweep
      and a minute together.
    - `open-after-its-end`, `open-after-its-time-out`: the same before the final phase has lasted
      so long, while the high watermark is above the place of the marker. Faults in the meantime
      excuse these (`overdue.py`).
    - `committed-too-late`: a commit was accepted, or took effect, that was requested later after a
      record's acknowledgement than the largest time-out, the sweep and 5 s together. Faults in
      between excuse this (`overdue.py`).
    - `stable-while-open`: a transaction was committed (the commit was accepted, or raw reads show
      that one of unknown outcome took effect), but before that commit was requested, a leader named
      a last stable offset above a record of the transaction, or a read_committed reader received a
      record above it.

    The sweep is the interval at which a coordinator looks for timed-out transactions. A hanging
    transaction keeps read_committed readers from all records after it, for ever. In the final phase
    every fault is healed, and a coordinator that was down writes its markers. Source: KIP-98 (last
    stable offset); KIP-664 and KIP-890, "Motivation". Counted: answers that name a last stable
    offset, and the partitions of transactions whose commit was accepted.
    """

    name: ClassVar[str] = "hanging_transactions"
    title: ClassVar[str] = (
        "an open transaction holds back the last stable offset, and an ended one does not"
    )
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.TRANSACTIONS})
    whole: ClassVar[str] = "the marker behind each record"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        held_up = answers(events).filter(pl.col("last_stable_offset") < pl.col("high_watermark"))
        ended = (
            held_up.join(marked(events), on=[*KEY, "last_stable_offset"])
            .filter(
                (pl.col("marker_offset") < pl.col("high_watermark"))
                & (pl.col("read_ns") < pl.col("t_invoke_ns"))
            )
            .group_by(*KEY, "op_id", "last_stable_offset")
            .agg(proof=pl.col("read_op").min())
        )
        old = open_for_too_long(events, held_up)
        ended_message = pl.format(
            "the last stable offset is still {}, the first offset of a transaction that has ended",
            "last_stable_offset",
        )
        old_message = pl.format(
            "the last stable offset is still {}, and the high watermark {}: readers of committed"
            " records get nothing from there on, since transaction {} has not ended, {}",
            "last_stable_offset",
            "high_watermark",
            "txn",
            pl.when("has_ended")
            .then(pl.lit("although its end was acknowledged more than a minute before"))
            .otherwise(
                pl.format(
                    "although its record there is older than any transaction.timeout.ms of this"
                    " run's producers allows ({} ms at most)",
                    (pl.col("longest_ns") // 1_000_000).fill_null(LONGEST_TIMEOUT_MS),
                )
            ),
        )
        ahead = pl.format(
            "offsets up to {} were stable although transaction {}, which was committed later, was "
            "still open at offset {}",
            pl.col("reach") - 1,
            "txn",
            "offset",
        )
        operations = ["proof", "op_id"]
        return pl.concat(
            [
                describe(ended, KEY, "ended-but-open", operations, ended_message, "broker"),
                describe(old, [*KEY, OFF_MS], pl.col("kind"), operations, old_message, "broker"),
                describe(
                    committed_late(events),
                    [*KEY, OFF_MS],
                    "committed-too-late",
                    ["send_op", "end_op"],
                    pl.format("transaction {} was committed although it had timed out", "txn"),
                    "broker",
                ),
                describe(
                    stable_while_open(events), KEY, AHEAD, ["op_id", "send_op"], ahead, "broker"
                ),
            ]
        )

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        commits = in_time_or_late(events).select("txn")
        return count(pl.concat([answers(events).select(txn="op_id"), commits]))


def answers(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the leaders' answers with a last stable offset; final_ns: when the partition's first
    operation of the final phase was invoked, or null. Leave out those at or below a log start above
    0: it holds the last stable offset up when an open transaction begins below it
    (UnifiedLog.maybeIncrementFirstUnstableOffset)."""
    named = IS_LEADER_ANSWER & pl.col("last_stable_offset").is_not_null()
    is_free = (pl.col("last_stable_offset") > pl.col("log_start_max")) | (
        pl.col("log_start_max") == 0
    )
    began = events.filter("final").group_by(KEY).agg(final_ns=pl.col("t_invoke_ns").min())
    return (
        events.filter(named)
        .join(log_starts(events), on=KEY, how="left")
        .filter(is_free.fill_null(True))
        .select(
            *KEY,
            "op_id",
            "final",
            "t_invoke_ns",
            "t_complete_ns",
            "last_stable_offset",
            "high_watermark",
        )
        .join(began, on=KEY, how="left")
    )


def open_for_too_long(events: pl.LazyFrame, held_up: pl.LazyFrame) -> pl.LazyFrame:
    """Return the answers in `held_up` whose last stable offset is at a record of a transaction that
    should have ended, with the first such record's send (proof), the transaction and the kind of
    anomaly: all answers of a final phase that has lasted long enough, and else the first and the
    last one for each such offset. off_ms: how much later than the longest time-out allows, or NEVER
    if the end was acknowledged."""
    waiting = held_up.join(acknowledged(events), on=[*KEY, "last_stable_offset"])
    asked_ns, longest_ns = pl.col("t_invoke_ns"), pl.col("longest_ns") + SWEEP_NS + MARKERS_NS
    beyond_ns = asked_ns - pl.col("sent_ns") - longest_ns.fill_null(LONGEST_NS)
    has_ended = (asked_ns > pl.col("end_ns") + MARKERS_NS).fill_null(False)
    since_healed_ns = asked_ns - pl.col("final_ns") - MARKERS_NS
    is_healed = (pl.col("final") & (since_healed_ns > 0)).fill_null(False)
    is_swept = (pl.col("final") & (since_healed_ns > SWEEP_NS)).fill_null(False)
    is_settled = (has_ended & is_healed) | (
        (beyond_ns > 0) & (is_swept | (pl.col("final") & pl.col("longest_ns").is_null()))
    )
    # A marker at the high watermark waits for followers.
    is_shown = pl.col("high_watermark") > pl.col("last_offset") + 1
    found = (
        waiting.filter((has_ended | (beyond_ns > 0)) & (is_settled | is_shown))
        .group_by(*KEY, "op_id", "last_stable_offset")
        .agg(
            pl.col("t_invoke_ns").first(),
            kind=pl.when(is_settled.any())
            .then(pl.lit(FINALLY))
            .when(has_ended.any())
            .then(pl.lit(AFTER_END))
            .otherwise(pl.lit(AFTER_TIME_OUT)),
            proof=pl.col("send_op").min(),
            has_ended=has_ended.any(),
            high_watermark=pl.col("high_watermark").min(),
            txn=pl.col("txn").sort_by("send_op").first(),
            longest_ns=pl.col("longest_ns").max(),
            # After an acknowledged end, no clock decides when the transaction is over.
            off_ms=pl.when(has_ended.any()).then(NEVER).otherwise(beyond_ns.max() // 1_000_000),
        )
    )
    midway = found.filter(pl.col("kind") != FINALLY).sort("t_invoke_ns", "op_id")
    of_offset = [*KEY, "last_stable_offset", "kind"]
    ends = [midway.unique(of_offset, keep=which) for which in ("first", "last")]
    return pl.concat([found.filter(pl.col("kind") == FINALLY), pl.concat(ends).unique()])


def committed_late(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the first acknowledged record of each transaction in each partition whose commit was
    accepted too late, and by how much (off_ms). Return none if the run's longest time-out is not
    known."""
    longest_ns = pl.col("longest_ns") + SWEEP_NS + PATIENCE_NS
    late_ns = pl.col("lasted_ns") - longest_ns
    return in_time_or_late(events).filter(late_ns > 0).with_columns(off_ms=late_ns // 1_000_000)


def in_time_or_late(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the first acknowledged record, in each partition, of each transaction that was
    committed for certain, and lasted_ns: how long after its acknowledgement the commit was
    requested."""
    return (
        committed_for_certain(events)
        .sort("t_complete_ns", "op_id")
        .group_by(*KEY, "txn", maintain_order=True)
        .agg(
            pl.col("longest_ns").first(),
            lasted_ns=(pl.col("commit_asked_ns") - pl.col("t_complete_ns")).first(),
            send_op=pl.col("op_id").first(),
            end_op=pl.coalesce("end_op", "commit_op").first(),
        )
    )


def stable_while_open(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return, for each record of an open transaction, the first answer whose last stable offset is
    above it, or the first read_committed read of another record above it (`dirty_reads` reports a
    read of the record itself); only the lowest record open at the time of an answer counts. reach:
    the offset below which everything was stable. Only transactions that were committed count, since
    they were certainly open until the commit was requested."""
    still_open = (
        committed_for_certain(events)
        .select(*KEY, "txn", "offset", send_op="op_id", until_ns="commit_asked_ns")
        .sort("until_ns", "offset", "send_op", descending=[True, True, False])
    )
    suspects = collect(read_while_open(events, still_open))
    told = answers(events).select(
        *KEY, "op_id", "t_complete_ns", reach="last_stable_offset", shown="last_stable_offset"
    )
    given = (
        needed(events, suspects)
        .filter(IS_DATA & READS_COMMITTED)
        .group_by(*KEY, "op_id")
        .agg(
            pl.col("t_complete_ns").max(),
            reach=pl.col("offset").max() + 1,
            shown=pl.col("offset").max(),
        )
    )
    reached = pl.concat([rows.drop_nulls() for rows in (told, given)])
    return (
        reached.sort("t_complete_ns")
        .join_asof(
            lowest_open(still_open),
            left_on="t_complete_ns",
            right_on="until_ns",
            by=KEY,
            strategy="forward",
            allow_exact_matches=False,
            coalesce=False,
            check_sortedness=False,
        )
        .filter(pl.col("offset") < pl.col("shown"))
        .sort("t_complete_ns", "op_id", "reach")
        .unique([*KEY, "send_op"], keep="first", maintain_order=True)
    )


def committed_for_certain(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the acknowledged records of transactions whose commit was accepted, or whose only end
    is a commit of unknown outcome that took effect: raw reads show its markers. Markers are found
    by value, so then only records whose value was sent once count."""
    has_taken_effect = (
        (pl.col("txn_outcome") == COMMITTED) & pl.col("end_op").is_null() & pl.col("is_sent_once")
    )
    return (
        events.filter(IS_SEND & pl.col("txn").is_not_null())
        .with_columns(is_sent_once=pl.len().over(*KEY, "value") == 1)
        .filter(
            ACKNOWLEDGED
            & pl.col("commit_asked_ns").is_not_null()
            & ((pl.col("told") == TOLD_COMMIT) | has_taken_effect)
        )
    )


def lowest_open(still_open: pl.LazyFrame) -> pl.LazyFrame:
    """Return, for each time (until_ns) at which a commit was requested, the lowest record of the
    transactions that were open until then or later. still_open: such records, the latest until_ns
    first."""
    is_lowest = pl.col("offset") == pl.col("offset").cum_min().over(KEY)
    return still_open.select(
        *KEY,
        "until_ns",
        *(
            pl.when(is_lowest).then(name).forward_fill().over(KEY)
            for name in ("offset", "txn", "send_op")
        ),
    ).sort("until_ns", "offset")  # of the records of one transaction the lowest comes first


def read_while_open(events: pl.LazyFrame, still_open: pl.LazyFrame) -> pl.LazyFrame:
    """Return the partition of each offset that a read_committed reader received before the commit
    of a transaction with a lower offset was requested: one row for each such offset."""
    first = (
        events.filter(IS_DATA & READS_COMMITTED)
        .group_by(*KEY, shown="offset")
        .agg(pl.col("t_complete_ns").min())
    )
    longest = still_open.sort("offset").select(
        *KEY, pl.col("until_ns").cum_max().over(KEY), below="offset"
    )
    return (
        first.sort("shown")
        .join_asof(
            longest,
            left_on="shown",
            right_on="below",
            by=KEY,
            strategy="backward",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .filter(pl.col("t_complete_ns") < pl.col("until_ns"))
        .select(KEY)
    )


def marked(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records read raw from leaders, each with the next marker of its producer in the
    read: their offsets (last_stable_offset is the record's), and the operation that read them and
    when it ended."""
    marker = pl.when(pl.col("control").is_not_null()).then(pl.col("offset"))
    return (
        raw_records(events)
        .filter((pl.col("producer_id") >= 0) & pl.col("replica").is_null())
        .with_columns(marker_offset=marker.backward_fill().over(OF_PRODUCER))
        .filter(pl.col("control").is_null() & pl.col("marker_offset").is_not_null())
        .select(
            *KEY,
            "marker_offset",
            read_ns="t_complete_ns",
            read_op="op_id",
            last_stable_offset="offset",
        )
    )


def acknowledged(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the acknowledged records of transactions: their offset (last_stable_offset, the column
    to join by), that of the transaction's last such record in the partition (last_offset), when
    they were acknowledged (sent_ns), when their transaction's end was acknowledged (end_ns, null:
    never), and how long a transaction of the run may last (longest_ns, null: unknown)."""
    last = pl.col("offset").max().over(*KEY, "txn")
    return events.filter(ACKNOWLEDGED & pl.col("txn").is_not_null()).select(
        *KEY,
        "end_ns",
        "longest_ns",
        "txn",
        last_stable_offset="offset",
        send_op="op_id",
        sent_ns="t_complete_ns",
        last_offset=last,
    )
