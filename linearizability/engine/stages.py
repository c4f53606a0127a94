"""The work of the executors on pieces of a history: tables in, chunks out (`exchange`). It uses the
same functions of `ingest`, `opinion` and the evidence as the local engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from linearizability import ingest
from linearizability.checkers.base import COLUMNS_READ, Cut, Scope
from linearizability.cycles import evidence as cycles
from linearizability.engine.cuts import COLUMNS as CUT_COLUMNS
from linearizability.engine.cuts import COLUMNS_CUT, cut_by, pieces
from linearizability.engine.exchange import Chunk, Tables, Whereabouts, packed, remainder, scattered
from linearizability.engine.large_partitions import on_disk
from linearizability.engine.opinion import judge
from linearizability.evidence.fencing import COLUMNS as EPOCH_COLUMNS
from linearizability.evidence.fencing import of_logs
from linearizability.evidence.lost_polls import with_eras
from linearizability.evidence.time_outs import with_longest
from linearizability.evidence.transactions import COLUMNS as EVIDENCE_COLUMNS
from linearizability.evidence.transactions import transaction_evidence
from linearizability.excuses.faults import IS_FAULT
from linearizability.history import PARTITION, SCHEMA
from linearizability.reads import waiting
from linearizability.reads.contents import FIELDS
from linearizability.reads.pauses import COLUMNS as PAUSE_COLUMNS
from linearizability.reads.pauses import WHO, pauses

MARKED_COLUMNS = (
    *PARTITION,
    "f",
    "op_id",
    "record_index",
    "replica",
    "txn",
    "offset",
    "control",
    "value",
    "producer_id",
)
"""The columns that `ingest.markers_of_transactions` reads."""
VALUE_COLUMNS = (*PARTITION, "f", "type", "op_id", "offset", "control", "value", *FIELDS)
"""The columns that the checkers of Scope.VALUE read."""

EVENT, VALUE, MARKED = "event", "value", "marked"
LARGE = "large"
"""The kind of rows like EVENT, but of partitions that some checkers judge in pieces. Each piece has
only the columns `cuts.COLUMNS_CUT` of its cut; its kind is `Cut.name`."""
END, ASKER, MARKER, OUTCOME = "end", "asker", "marker", "outcome"
OPINION, EVIDENCE, READ, BACK, COUNT = "opinion", "evidence", "read", "back", "count"
PAUSE, OTHER, POLL, EPOCH = "pause", "other", "poll", "epoch"


def _schema(*columns: str) -> pl.Schema:
    return pl.Schema({column: SCHEMA[column] for column in columns})


EVENTS = pl.Schema(
    [
        *_schema(*COLUMNS_READ).items(),
        ("era", pl.Int32()),
        ("own_era", pl.Int32()),
        ("longest_ns", pl.Int64()),
    ]
)
VALUES = _schema(*VALUE_COLUMNS)
MARKED_ROWS = _schema(*MARKED_COLUMNS)
MARKERS = pl.Schema({"txn": pl.Int64, "marker": pl.String})
ASKERS = pl.Schema({"txn": pl.Int64, "asker": pl.Int32})
OUTCOMES = pl.Schema(
    {
        "txn": pl.Int64,
        "commit_asked_ns": pl.Int64,
        "commit_done_ns": pl.Int64,
        "txn_outcome": pl.String,
        "told": pl.String,
        "commit_op": pl.Int64,
        "end_ns": pl.Int64,
        "end_op": pl.Int64,
    }
)
PAUSES = pl.Schema(PAUSE_COLUMNS)
EPOCHS = pl.Schema(EPOCH_COLUMNS)
EVIDENCES = pl.Schema(EVIDENCE_COLUMNS)
READS = pl.Schema(
    [(column, dtype) for column, dtype in cycles.COLUMNS.items() if column in cycles.OF_READS]
    + [(column, pl.Int64) for column in cycles.INSTANTS]
)
INSTANTS = pl.Schema([(column, pl.Int64) for column in cycles.INSTANTS])
ENDS = _schema(*cycles.END_COLUMNS)
OTHER_COLUMNS = (
    "process",
    "group",
    "f",
    "type",
    "topic",
    "offset",
    "t_invoke_ns",
    "t_complete_ns",
    "detail",
)
POLL_COLUMNS = (
    "op_id",
    "process",
    "group",
    "member_id",
    "f",
    "type",
    "offset",
    "t_invoke_ns",
    "t_complete_ns",
)
OTHERS = _schema(*OTHER_COLUMNS)
POLLS = pl.Schema(waiting.ASKED)
COUNTS = pl.Schema({"reads": pl.Int64})

TO_OUTCOMES: Mapping[str, pl.Schema] = {
    END: _schema(*ingest.END_COLUMNS),
    ASKER: ASKERS,
    MARKER: MARKERS,
}
TO_JUDGE: Mapping[str, pl.Schema] = {
    EVENT: EVENTS,
    LARGE: EVENTS,
    **{cut.name: EVENTS for cut in Cut},
    VALUE: VALUES,
    OUTCOME: OUTCOMES,
}


def scatter_events(where: Whereabouts, position: int, rows: pl.DataFrame) -> Iterator[Chunk]:
    """Yield each row to the bucket of its partition (to pieces as well, if that is large), and rows
    judged by value also to the bucket of that value. Rows without a partition are left out
    otherwise. position: the number of the first row in the history."""
    rows = where.with_buckets(rows)
    timed = with_longest(rows.lazy(), where.longest_ns)
    events = with_eras(timed, where.lost_polls).collect()
    for cut, piece in pieces(where, events):
        yield from scattered(piece.select(*COLUMNS_CUT[cut], "bucket"), cut.name, position)
    yield from scattered(events.filter("is_large").drop("is_large"), LARGE, position)
    yield from scattered(events.filter(~pl.col("is_large")).drop("is_large"), EVENT, position)
    values = rows.filter(Scope.VALUE.rows).select(
        *VALUE_COLUMNS, bucket=remainder("value", where.count) + where.count
    )
    yield from scattered(values, VALUE, position)


def scatter_transactions(where: Whereabouts, position: int, rows: pl.DataFrame) -> Iterator[Chunk]:
    """Yield the known ends of transactions, and for each transaction the buckets that need its
    outcome, all to the bucket of the transaction."""
    rows = rows.filter(pl.col("txn").is_not_null())
    number = remainder("txn", where.count)
    ended = ingest.ends_of_transactions(rows.lazy()).with_columns(bucket=number).collect()
    yield from scattered(ended, END, position)
    placed = where.with_buckets(rows)
    for part in (placed, *(piece for _, piece in pieces(where, placed))):
        asking = part.select("txn", asker="bucket").drop_nulls().unique()
        yield from scattered(asking.with_columns(bucket=number), ASKER, position)


def transaction_columns(where: Whereabouts) -> tuple[str, ...]:
    """Return the columns of this history that `scatter_transactions` reads."""
    cut = CUT_COLUMNS if where.has_large else ()
    return tuple(dict.fromkeys([*ingest.END_COLUMNS, *PARTITION, *cut]))


def scatter_marked(where: Whereabouts, position: int, rows: pl.DataFrame) -> Iterator[Chunk]:
    """Yield the rows from which markers are found (sends in transactions, and rows with a producer
    id), each to the bucket of its partition."""
    in_transactions = ingest.IS_SEND & pl.col("txn").is_not_null()
    rows = rows.filter(in_transactions | pl.col("producer_id").is_not_null())
    yield from scattered(where.with_buckets(rows).drop("is_large"), MARKED, position)


def find_markers(count: int, tables: Tables) -> Iterator[Chunk]:
    """Yield the markers of the transactions in this bucket's partitions (`ingest`, step 1), each to
    the bucket of its transaction. count: the number of buckets."""
    events = ingest.with_places(tables[MARKED]).lazy()
    markers = ingest.markers_of_transactions(events).with_columns(bucket=remainder("txn", count))
    yield from scattered(
        markers.select(*MARKERS, "bucket").collect().cast({"marker": pl.String}), MARKER
    )


def find_outcomes(delivered: pl.DataFrame, tables: Tables) -> Iterator[Chunk]:
    """Yield the outcomes (`ingest`, step 2), for each bucket that needs them. delivered:
    `ingest.delivered_transactions` of the whole history."""
    ends, markers = tables[END].lazy(), tables[MARKER].lazy()
    found = ingest.outcomes_of_transactions(ends, markers, delivered)
    asked = found.join(tables[ASKER].unique().lazy(), on="txn")
    known = asked.select(*(pl.col(c).cast(t) for c, t in OUTCOMES.items()), bucket="asker")
    yield from scattered(known.collect(), OUTCOME)


def judge_bucket(
    checkers: Sequence[str], where: Whereabouts, stale_after_ns: int, tables: Tables
) -> Iterator[Chunk]:
    """Judge one bucket: yield the opinions of the checkers that judge by partition, by value, or by
    pieces of large partitions, and the evidence that other scopes need."""
    if tables.chunks(VALUE):
        values = tables[VALUE].lazy().with_columns(outcome=pl.lit(None, dtype=pl.String))
        yield from packed(judge(values, Scope.VALUE, checkers), OPINION)
        del values
    outcomes = tables[OUTCOME].lazy()
    for cut in Cut:
        if tables.chunks(cut.name):
            piece = with_transactions(tables[cut.name], outcomes).lazy()
            rules = cut_by(checkers, cut)
            yield from packed(judge(piece, Scope.PARTITION, rules, is_cut=True), OPINION)
            del piece
    if tables.chunks(EVENT):
        events = ingest.with_record_outcomes(with_transactions(tables[EVENT], outcomes)).lazy()
        yield from packed(judge(events, Scope.PARTITION, checkers), OPINION)
        yield from told_by_partitions(where, stale_after_ns, events, outcomes)
        del events
    if tables.chunks(LARGE):
        with on_disk(tables.chunks(LARGE), outcomes) as events:
            yield from packed(judge(events, Scope.PARTITION, cut_by(checkers, None)), OPINION)
            yield from told_by_partitions(where, stale_after_ns, events, outcomes)


def with_transactions(rows: pl.DataFrame, outcomes: pl.LazyFrame) -> pl.DataFrame:
    """Return the rows with `place` and the outcomes of the transactions that they belong to
    (`ingest`)."""
    return ingest.with_transaction_outcomes(ingest.with_places(rows), outcomes)


def told_by_partitions(
    where: Whereabouts, stale_after_ns: int, events: pl.LazyFrame, outcomes: pl.LazyFrame
) -> Iterator[Chunk]:
    """Yield what the events of whole partitions show to the checkers of other scopes: about
    transactions, producers' epochs, reads for cycles and, if the history lasted as long as
    stale_after_ns, readers that paused."""
    told = transaction_evidence(events).with_columns(bucket=remainder("txn", where.count)).collect()
    yield from scattered(told, EVIDENCE)
    yield from packed(of_logs(events).collect(), EPOCH)
    reads = cycles.reads_between(events).select(pl.col(c).cast(t) for c, t in READS.items())
    yield from packed(reads.collect(), READ)
    if where.ended_ns - where.began_ns >= stale_after_ns:
        ends = outcomes.select("txn", ended_ns="end_ns").drop_nulls()
        yield from packed(
            pauses(events, ends, where.lost_anywhere, where.ended_ns, stale_after_ns), PAUSE
        )


def judge_transactions(checkers: Sequence[str], tables: Tables) -> Iterator[Chunk]:
    """Yield the opinions on transactions whose complete evidence is in this bucket."""
    yield from packed(judge(tables[EVIDENCE].lazy(), Scope.TRANSACTION, checkers), OPINION)


def find_leading_back(tables: Tables) -> Iterator[Chunk]:
    """Yield the number of reads, and the instants of the few reads that lead back in time; every
    cycle contains one of those."""
    reads = tables[READ]
    yield from packed(pl.DataFrame({"reads": [reads.height]}, schema=COUNTS), COUNT)
    yield from packed(reads.filter(cycles.LEADS_BACK).select(cycles.INSTANTS), BACK)


def keep_within(spans: cycles.Spans, tables: Tables) -> Iterator[Chunk]:
    """Yield the reads that may be part of a cycle: those inside these spans."""
    yield from packed(cycles.within(tables[READ], spans), READ)


def keep_ends(txns: Sequence[int], position: int, rows: pl.DataFrame) -> Iterator[Chunk]:
    """Yield all rows of these transactions, among them their ends."""
    yield from packed(rows.filter(pl.col("txn").is_in(txns)), END, position=position)


def keep_others(position: int, rows: pl.DataFrame) -> Iterator[Chunk]:
    """Yield the other rows that decide about waiting readers, besides the partitions' evidence:
    changes of readers' positions, and faults."""
    others = rows.filter(waiting.IS_TURN | IS_FAULT)
    yield from packed(others, OTHER, position=position)


def find_polls(who: pl.DataFrame, position: int, rows: pl.DataFrame) -> Iterator[Chunk]:
    """Yield the answered polls of these readers, one row per operation."""
    yield from packed(waiting.polls_of(polls_with_readers(rows), who), POLL, position=position)


def polls_with_readers(rows: pl.DataFrame) -> pl.LazyFrame:
    return (
        rows.lazy()
        .filter(waiting.IS_ANSWERED_POLL)
        .select("op_id", "t_invoke_ns", **WHO, nothing=pl.col("offset").is_null())
    )
