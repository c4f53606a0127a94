"""Resolve the facts that every checker needs: the outcome of each transaction, and the transaction
that wrote each record.

Resolved once, before any checker runs, in three steps (each one definition, run by polars here and
by `engine/stages.py` on shuffled pieces):

1. `markers_of_transactions` (per partition): which control record ended which transaction.
2. `outcomes_of_transactions` (per transaction): committed, aborted or unknown.
3. `with_record_outcomes` (per partition): the column `outcome` of every send, and of every poll
   (there: of the transaction that *wrote* the record, not of the one that the reader is in).

The rules (guarantees.md, `aborted_reads`; KIP-98, "Control Records"):
- The marker in the log decides, for its record and for the transaction. Markers that contradict
  each other, or contradict an acknowledged end, leave the transaction unknown; each record that
  was itself read raw keeps what its own marker says.
- Without a marker: committed if a commit was acknowledged; aborted if an abort was acknowledged and
  no commit was ever asked for. A commit answered by an error, even by a fencing error, is unknown
  unless a read_committed reader received a record of it, which proves that it took effect. A
  transaction that nobody ended (its client died) is unknown.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from linearizability.evidence.lost_polls import lost_polls, with_eras
from linearizability.evidence.time_outs import longest_of, time_outs_in, with_longest
from linearizability.history import PARTITION, F, Type
from linearizability.plans import collect

PLAIN, COMMITTED, ABORTED, UNKNOWN = "plain", "committed", "aborted", "unknown"
"""The values of `outcome`: the record is not transactional, or its transaction ended in this way or
has an unknown end. On a poll, null means that there is no send of this value to this partition, or
several that ended differently."""

NO_TOPIC_ID = ""
"""The value that stands for an absent topic id, so that joins and groups need no special case for
null."""

IS_SEND = pl.col("f") == F.SEND.value
IS_POLL = pl.col("f") == F.POLL.value
IS_OK = pl.col("type") == Type.OK.value
HAS_RECORD = IS_POLL & pl.col("offset").is_not_null()
IS_DATA = HAS_RECORD & pl.col("control").is_null()
# Predicates that are never null: what a history does not tell of a row is taken for no.
READ_COMMITTED = "read_committed"
READS_COMMITTED = (pl.col("isolation") == READ_COMMITTED).fill_null(False)
BY_RAW_CLIENT = (pl.col("client") == "raw").fill_null(False)
IS_FINAL = pl.col("final").fill_null(False)
IS_IDEMPOTENT = pl.col("idempotent").fill_null(False)
WHOLE_READ = (pl.col("f") == F.READ_ALL.value) & IS_OK
"""The condition on a complete read of a partition, by any client."""
LOG_START = pl.col("log_start").fill_null(0)
IS_DELETION = (
    (pl.col("f") == F.COMMIT_OFFSETS.value)
    & pl.col("offset").is_null()
    & pl.col("topic").is_not_null()
)
"""The condition on a deletion of a group's committed offset (OffsetDelete, DeleteGroups)."""
NO_POSITION = -1
"""The number that stands for the position of a group that has none, since null does not match in
joins."""

DECIDED_BY = "unknown in the file, but operation {} was given a record of it"
"""The `detail` of a transaction's sends and end if its client did not learn that it committed, but
a reader received one of its records (`importers.decided`)."""
IS_DECIDED = (
    IS_SEND
    & IS_OK
    & pl.col("detail").str.starts_with(DECIDED_BY.partition("{}")[0]).fill_null(False)
)

PLACE = "place"
"""The partition's number in this piece of the history: to group by one number costs a third of
grouping by two texts and a number. `places` gives the names back."""

KEY = [PLACE]

END_COLUMNS = ("txn", "f", "type", "op_id", "t_invoke_ns", "t_complete_ns")
"""The columns of the requests to end transactions."""

COMMIT_TIMES = ("commit_asked_ns", "commit_done_ns")
TOLD_COMMIT, TOLD_ABORT, UNASKED = "commit", "abort", "unasked"
"""Values of `told`, besides UNKNOWN: a commit was acknowledged, and no abort; an abort was
acknowledged, and no commit was ever requested; neither was acknowledged, and no commit was ever
requested."""
OPERATIONS = ("commit_op", "end_ns", "end_op")
OF_TRANSACTION = ("txn_outcome", *COMMIT_TIMES, "told", *OPERATIONS)
"""The columns added to each row of a transaction. commit_op: its first request to commit. end_ns,
end_op: its first acknowledged end."""

CATEGORIES = ("f", "type", "isolation", "client", "topic", "topic_id")


def topic_ids(history: pl.LazyFrame) -> pl.DataFrame:
    """Return topic -> topic_id for the topics with exactly one id in the history, to fill it into
    the rows without an id."""
    return collect(
        history.filter(pl.col("topic").is_not_null() & pl.col("topic_id").is_not_null())
        .group_by("topic")
        .agg(ids=pl.col("topic_id").n_unique(), only_id=pl.col("topic_id").first())
        .filter(pl.col("ids") == 1)
        .select("topic", "only_id")
    )


def with_topic_ids(history: pl.LazyFrame, known: pl.DataFrame) -> pl.LazyFrame:
    """Return the rows with null topic ids replaced by the topic's only one (`topic_ids`), or by
    NO_TOPIC_ID if it has none or several."""
    if known.is_empty():
        return history.with_columns(pl.col("topic_id").fill_null(NO_TOPIC_ID))
    only_id = pl.col("topic").replace_strict(
        dict(known.iter_rows()), default=NO_TOPIC_ID, return_dtype=pl.String
    )
    return history.with_columns(topic_id=pl.coalesce("topic_id", only_id, pl.lit(NO_TOPIC_ID)))


def places(events: pl.LazyFrame) -> pl.DataFrame:
    """Return place (a number), topic, topic_id and partition of every partition of a piece, sorted
    by these names and numbered from 0."""
    named = events.filter(pl.col("topic").is_not_null())
    return collect(named.select(PARTITION).unique().sort(PARTITION).with_row_index(PLACE))


def in_order(events: pl.DataFrame) -> pl.DataFrame:
    """Return the rows sorted by operation and record, the order in which they were recorded."""
    op, record = pl.col("op_id").diff(), pl.col("record_index").diff()
    unordered = (op < 0) | ((op == 0) & (record < 0))
    if events.select(unordered.any()).item():
        return events.sort("op_id", "record_index")
    return events


def with_places(events: pl.DataFrame) -> pl.DataFrame:
    """Return the rows sorted by operation and record, with `place`, null on rows that belong to no
    partition. Texts of few values (CATEGORIES) become categories, a quarter of the memory and of
    the time to compare."""
    texts = [column for column in CATEGORIES if column in events.columns]
    events = in_order(events).with_columns(pl.col(texts).cast(pl.Categorical))
    named = places(events.lazy())
    # In most histories one column distinguishes all partitions. Each further join key would cost
    # a third of the time.
    keys = [name for name in PARTITION if named[name].n_unique() > 1] or PARTITION[-1:]
    found = (
        events.lazy()
        .select("topic", *set(keys) - {"topic"})
        .join(
            named.lazy().select(*keys, PLACE),
            on=keys,
            how="left",
            maintain_order="left",
            nulls_equal=True,
        )
    )
    place = pl.when(pl.col("topic").is_not_null()).then(PLACE)
    return events.hstack(collect(found.select(place)))


def markers_of_records(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return partition, offset, value -> the marker that ended the record's transaction, from raw
    reads, and the first read that shows it. Records for which reads show different markers are left
    out.

    It is the next control record of the same producer id in the same read operation, since between
    two operations a marker may have gone unread. (A producer id writes one transaction at a time,
    and the next may begin in this partition only when the marker of the one before is written.)
    """
    reader = [*KEY, "op_id", "replica", "producer_id"]
    # A marker with the record's own offset (one of the two is a phantom) does not end it, so it
    # is sorted before the record.
    order = [*reader, "offset", pl.col("control").is_null()]
    return (
        events.filter(HAS_RECORD & (pl.col("producer_id") >= 0))
        .sort(order, maintain_order=True)
        .with_columns(marker=pl.col("control").backward_fill().over(reader))
        .filter(pl.col("control").is_null() & pl.col("marker").is_not_null())
        .group_by(*KEY, "offset", "value")
        .agg(
            marker=pl.col("marker").first(),
            markers=pl.col("marker").n_unique(),
            op_id=pl.col("op_id").min(),
        )
        .filter(pl.col("markers") == 1)
        .select(*KEY, "offset", "value", "marker", "op_id")
    )


def markers_of_transactions(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return (txn, marker) once for each marker that raw reads show after a record of the
    transaction."""
    sends = events.filter(IS_SEND & pl.col("txn").is_not_null()).select(*KEY, "value", "txn")
    return (
        markers_of_records(events).join(sends, on=[*KEY, "value"]).select("txn", "marker").unique()
    )


def ends_of_transactions(history: pl.LazyFrame) -> pl.LazyFrame:
    """Return the columns END_COLUMNS of every request to commit or abort."""
    return history.filter(pl.col("f").is_in([F.COMMIT.value, F.ABORT.value])).select(END_COLUMNS)


def delivered_transactions(history: pl.LazyFrame) -> pl.DataFrame:
    """Return the numbers (txn) of the transactions that were asked to commit, of which no end was
    acknowledged, and of which a read_committed reader received a record by a successful poll that
    ended after that request. Only values that were sent to their partition once count. history: all
    rows, with topic ids."""
    is_commit = pl.col("f") == F.COMMIT.value
    undecided = (
        history.filter(pl.col("f").is_in([F.COMMIT.value, F.ABORT.value]))
        .group_by("txn")
        .agg(is_ended=IS_OK.any(), asked_ns=pl.col("t_invoke_ns").filter(is_commit).min())
        .filter(~pl.col("is_ended") & pl.col("asked_ns").is_not_null())
    )
    asked = collect(undecided.select("txn", "asked_ns").drop_nulls())
    if asked.is_empty():
        return asked.select("txn")
    record = [*PARTITION, "value"]
    may_exist = pl.col("value").is_not_null() & (pl.col("type") != Type.FAIL.value)
    sends = history.filter(IS_SEND & may_exist).select(*record, "txn")
    own = collect(sends.join(asked.lazy(), on="txn"))
    once = sends.join(own.lazy(), on=record, how="semi").group_by(record).len()
    found = (
        history.filter(IS_DATA & IS_OK & READS_COMMITTED)
        .select(*record, given_ns=pl.coalesce("t_complete_ns", "t_invoke_ns"))
        .join(own.lazy(), on=record)
        .join(once.filter(pl.col("len") == 1), on=record, how="semi")
        .filter(pl.col("asked_ns") < pl.col("given_ns"))
    )
    return collect(found.select("txn").unique())


def outcomes_of_transactions(
    ends: pl.LazyFrame, markers: pl.LazyFrame, delivered: pl.DataFrame
) -> pl.LazyFrame:
    """Return txn, OF_TRANSACTION (commit_asked_ns, commit_done_ns: when a commit was first invoked,
    and first acknowledged; null: never). A transaction that is missing here has an unknown outcome,
    and its end was never requested. delivered: `delivered_transactions`."""
    asked = (
        ends.filter(pl.col("txn").is_not_null())
        .sort("t_invoke_ns", "op_id")
        .group_by("txn", maintain_order=True)
        .agg(
            commit_asked=(pl.col("f") == F.COMMIT.value).any(),
            commit_ok=((pl.col("f") == F.COMMIT.value) & IS_OK).any(),
            abort_ok=((pl.col("f") == F.ABORT.value) & IS_OK).any(),
            commit_asked_ns=pl.col("t_invoke_ns").filter(pl.col("f") == F.COMMIT.value).min(),
            commit_done_ns=pl.col("t_complete_ns")
            .filter((pl.col("f") == F.COMMIT.value) & IS_OK)
            .min(),
            commit_op=pl.col("op_id").filter(pl.col("f") == F.COMMIT.value).first(),
            end_ns=pl.col("t_complete_ns").filter(IS_OK).min(),
            end_op=pl.col("op_id").filter(IS_OK).min(),
        )
    )
    marked = markers.group_by("txn").agg(
        commit_marked=(pl.col("marker") == "commit").any(),
        abort_marked=(pl.col("marker") == "abort").any(),
    )
    committed_by_answer = pl.col("commit_ok") & ~pl.col("abort_ok")
    aborted_by_answer = pl.col("abort_ok") & ~pl.col("commit_asked")
    commit_only = pl.col("commit_marked") & ~pl.col("abort_marked")
    abort_only = pl.col("abort_marked") & ~pl.col("commit_marked")
    unmarked = ~pl.col("commit_marked") & ~pl.col("abort_marked")
    is_delivered = pl.col("txn").is_in(delivered["txn"].to_list())
    committed = (commit_only & ~aborted_by_answer) | (
        unmarked & (committed_by_answer | is_delivered)
    )
    aborted = (abort_only & ~pl.col("commit_ok")) | (unmarked & aborted_by_answer)
    return (
        asked.join(marked, on="txn", how="full", coalesce=True)
        .with_columns(pl.exclude("txn", *COMMIT_TIMES, *OPERATIONS).fill_null(False))
        .select(
            "txn",
            *COMMIT_TIMES,
            *OPERATIONS,
            told=pl.when(committed_by_answer)
            .then(pl.lit(TOLD_COMMIT))
            .when(aborted_by_answer)
            .then(pl.lit(TOLD_ABORT))
            .when(~pl.col("commit_asked"))
            .then(pl.lit(UNASKED))
            .otherwise(pl.lit(UNKNOWN)),
            txn_outcome=pl.when(committed)
            .then(pl.lit(COMMITTED))
            .when(aborted)
            .then(pl.lit(ABORTED))
            .otherwise(pl.lit(UNKNOWN)),
        )
    )


def with_record_outcomes(events: pl.DataFrame) -> pl.DataFrame:
    """Return the events with the column `outcome`, null on other rows than sends and polls of data
    records. The events must be those of whole partitions, and have the columns `place` and
    `txn_outcome`."""
    rows = events.lazy().with_row_index("row")
    known = collect(record_outcomes(rows, markers_of_records(rows)))
    # Each row has one outcome at most, so an index suffices; a join would search for more.
    at = np.full(events.height, known.height)
    at[known["row"]] = np.arange(known.height)
    return events.with_columns(known["outcome"].extend_constant(None, 1).gather(at))


def record_outcomes(rows: pl.LazyFrame, markers: pl.LazyFrame) -> pl.LazyFrame:
    """Return the columns row and outcome (plain, committed, aborted or unknown) for every send, and
    for every poll that received a data record (null if its sends are none, or ended differently).

    rows must have their number in the column `row`. They may be a part of the partitions, but must
    include every row with one of their values. markers: `markers_of_records` of the partitions.
    """
    markers = markers.drop("op_id").with_columns(
        pl.col("marker").replace({"commit": COMMITTED, "abort": ABORTED})
    )
    by_value = markers.group_by(*KEY, "value").agg(
        marker_of_value=pl.col("marker").first(), n=pl.col("marker").n_unique()
    )
    by_value = by_value.filter(pl.col("n") == 1).drop("n")
    sends = (
        rows.filter(IS_SEND)
        .select("row", *KEY, "value", "txn", "txn_outcome", "type")
        .join(by_value, on=[*KEY, "value"], how="left")
        .with_columns(
            outcome=pl.when(pl.col("txn").is_null())
            .then(pl.lit(PLAIN))
            .otherwise(pl.coalesce("marker_of_value", "txn_outcome", pl.lit(UNKNOWN)))
        )
    )
    writers = (
        sends.filter(pl.col("type") != Type.FAIL.value)
        .group_by(*KEY, "value")
        .agg(writer=pl.col("outcome").first(), n=pl.col("outcome").n_unique())
        .filter(pl.col("n") == 1)
        .drop("n")
    )
    polls = (
        rows.filter(IS_DATA)
        .select("row", *KEY, "offset", "value")
        .join(markers, on=[*KEY, "offset", "value"], how="left")
        .join(writers, on=[*KEY, "value"], how="left")
        .with_columns(outcome=pl.coalesce("marker", "writer"))
    )
    return pl.concat([sends.select("row", "outcome"), polls.select("row", "outcome")])


def with_transaction_outcomes(events: pl.DataFrame, outcomes: pl.LazyFrame) -> pl.DataFrame:
    """Return the rows with the columns OF_TRANSACTION of `outcomes`, null outside transactions and
    for those without an entry."""
    known = collect(outcomes).with_row_index("at")
    found = (
        events.lazy()
        .select("txn")
        .join(known.lazy().select("txn", "at"), on="txn", how="left", maintain_order="left")
    )
    at = collect(found.select("at"))["at"]
    return events.hstack(known.select(pl.col(name).gather(at) for name in OF_TRANSACTION))


def resolved(history: pl.LazyFrame) -> pl.DataFrame:
    """Return the history after the three steps, done in one process, for a history that fits into
    memory."""
    longest_ns = longest_of(time_outs_in(history))
    known = with_eras(with_longest(history, longest_ns), lost_polls(history))
    events = with_places(collect(with_topic_ids(known, topic_ids(history))))
    lazy = events.lazy()
    outcomes = outcomes_of_transactions(
        ends_of_transactions(lazy), markers_of_transactions(lazy), delivered_transactions(lazy)
    )
    return with_record_outcomes(with_transaction_outcomes(events, outcomes))
