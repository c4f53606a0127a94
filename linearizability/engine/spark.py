"""The Spark engine: the same kernels on pieces of the history, cut by shuffles.

Executors read the history's file and scatter its rows over buckets of whole partitions (and of
whole values); each bucket goes to the kernels as one table (`groupBy(bucket).applyInArrow`). A
bucket holds many partitions: a kernel judges them in one call, and a call for each would cost five
times as much. Before that, the outcomes of transactions are found and sent to the buckets that need
them. Afterwards the partitions' evidence about transactions is shuffled once more, by transaction.
`exchange` defines the chunks that Spark moves, `stages` the work on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from linearizability.bounds import NOTHING_STATED, Bounds
from linearizability.checkers.base import COLUMNS_READ, Scope
from linearizability.checkers.table import CHECKERS
from linearizability.cycles import evidence as cycles
from linearizability.engine import stages
from linearizability.engine.connect import is_connect
from linearizability.engine.exchange import (
    CHUNK_SQL,
    SURVEY,
    SURVEYED,
    Chunk,
    Source,
    Tables,
    Whereabouts,
    on_batches,
    on_chunks,
    on_runs,
    surveyed,
    unpacked,
    whereabouts,
)
from linearizability.engine.opinion import ROWS, judge, opinions
from linearizability.engine.progress import progress_shown
from linearizability.engine.session import LOCAL, spark_session
from linearizability.engine.table import tuned
from linearizability.evidence.fencing import of_requests, told_of_producers
from linearizability.evidence.groups import group_evidence
from linearizability.excuses.faults import faults_of
from linearizability.history import history_file
from linearizability.ingest import delivered_transactions, topic_ids, with_topic_ids
from linearizability.reads import waiting
from linearizability.verdict import CheckerVerdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OPINIONS: Mapping[str, pl.Schema] = {stages.OPINION: ROWS}


def name(master: str | None) -> str:
    """Return the engine's name in verdicts, with its master (LOCAL for None)."""
    return f"spark {master or LOCAL}"


def run(
    path: Path,
    master: str | None = None,
    checkers: Sequence[str] | None = None,
    bounds: Bounds = NOTHING_STATED,
) -> list[CheckerVerdict]:
    """Return each checker's opinion on the history under `path`, UNKNOWN for all if a Spark job
    fails. Raise SparkError if Spark cannot be used, and HistoryError if there is no history."""
    checkers = tuple(CHECKERS) if checkers is None else checkers
    session = spark_session(master)
    file = history_file(path)
    buckets = tuned(session, file)
    try:
        with progress_shown(session, is_connect(master or LOCAL)):
            history = History(session, Source.of(file.resolve()))
            pieces = _pieces(history, checkers, buckets, bounds.stale_after_ns)
    except Exception as error:  # py4j, Arrow, the workers: the reason goes into the verdict
        return opinions(pl.DataFrame(schema=ROWS), checkers, f"Spark: {_first_cause(error)}")
    return opinions(pl.concat(pieces), checkers)


class History:
    """The history's file, and the session whose executors read it."""

    def __init__(self, session: SparkSession, source: Source) -> None:
        self._session, self._source = session, source

    def of_groups(self) -> pl.DataFrame:
        """Return `group_evidence`. It is computed on the driver, since it needs few columns, which
        polars reads as a stream."""
        rows = self._source.lazy(COLUMNS_READ)
        known = topic_ids(rows)
        return group_evidence(with_topic_ids(rows, known)).rechunk()

    def of_requests(self) -> pl.DataFrame:
        """Return `evidence.fencing.of_requests`, computed on the driver: it has only a few rows for
        each transaction."""
        rows = self._source.lazy(COLUMNS_READ)
        return of_requests(with_topic_ids(rows, topic_ids(rows))).collect()

    def delivered(self) -> pl.DataFrame:
        """Return `ingest.delivered_transactions`, computed on the driver: hardly any transaction of
        a history has an unknown end."""
        rows = self._source.lazy(COLUMNS_READ)
        return delivered_transactions(with_topic_ids(rows, topic_ids(rows)))

    def mapped(
        self, columns: Sequence[str], work: Callable[[int, pl.DataFrame], Iterable[Chunk]]
    ) -> DataFrame:
        """Return the chunks that `work` makes from these columns of each piece of the history.
        Spark computes them when they are collected."""
        runs = len(self._source.runs)
        numbers = self._session.range(0, runs, 1, max(1, runs))
        return numbers.mapInArrow(on_runs(self._source, columns, work), CHUNK_SQL)


def by_bucket(
    chunks: DataFrame, schemas: Mapping[str, pl.Schema], work: Callable[[Tables], Iterable[Chunk]]
) -> DataFrame:
    """Return the chunks that `work` makes from the tables of each bucket, after a shuffle by
    bucket. Spark computes them when they are collected."""
    return chunks.groupBy("bucket").applyInArrow(on_chunks(schemas, work), CHUNK_SQL)


def collected(chunks: DataFrame, schemas: Mapping[str, pl.Schema]) -> Tables:
    """Return all tables of these kinds, on the driver, after running the Spark job that makes
    them."""
    return unpacked(chunks.toArrow(), schemas)


def _pieces(
    history: History, checkers: Sequence[str], buckets: int, stale_after_ns: int
) -> list[pl.DataFrame]:
    """Return the rows that `opinion.judge` has made from every piece, scope by scope."""
    survey = collected(history.mapped(SURVEYED, lambda _, rows: surveyed(rows)), SURVEY)
    where = whereabouts(survey, buckets)
    has_markers = bool(survey["partitions"]["controls"].sum())
    outcomes = outcomes_of_transactions(history, where, has_markers)
    events = history.mapped(COLUMNS_READ, partial(stages.scatter_events, where))
    judging = partial(stages.judge_bucket, checkers, where, stale_after_ns)
    answers = by_bucket(events.union(outcomes), stages.TO_JUDGE, judging).persist()
    try:
        by_partition = collected(answers.where("kind = 'opinion'"), OPINIONS)
        by_transaction = collected(
            by_bucket(
                answers.where("kind = 'evidence'"),
                {stages.EVIDENCE: stages.EVIDENCES},
                partial(stages.judge_transactions, checkers),
            ),
            OPINIONS,
        )
        epochs = collected(answers.where("kind = 'epoch'"), {stages.EPOCH: stages.EPOCHS})
        paused = collected(answers.where("kind = 'pause'"), {stages.PAUSE: stages.PAUSES})
        kept_waiting = reader_evidence(history, paused[stages.PAUSE], stale_after_ns)
        found = run_evidence(history, answers.where("kind = 'read'"))
    finally:
        answers.unpersist()
    of_producers = pl.concat([epochs[stages.EPOCH], history.of_requests()]).rechunk()
    return [
        by_partition[stages.OPINION],
        by_transaction[stages.OPINION],
        judge(kept_waiting.lazy(), Scope.READER, checkers),
        judge(history.of_groups().lazy(), Scope.GROUP, checkers),
        judge(told_of_producers(of_producers.lazy()), Scope.PRODUCER, checkers),
        judge(found, Scope.RUN, checkers),
    ]


def outcomes_of_transactions(history: History, where: Whereabouts, has_markers: bool) -> DataFrame:
    """Return the outcome of each transaction, as chunks for the buckets that need it. has_markers:
    whether the history shows markers; if it does, they decide together with the known ends."""
    columns = stages.transaction_columns(where)
    known = history.mapped(columns, partial(stages.scatter_transactions, where))
    if has_markers:
        marked = history.mapped(stages.MARKED_COLUMNS, partial(stages.scatter_marked, where))
        schemas = {stages.MARKED: stages.MARKED_ROWS}
        known = known.union(by_bucket(marked, schemas, partial(stages.find_markers, where.count)))
    find = partial(stages.find_outcomes, history.delivered())
    return by_bucket(known, stages.TO_OUTCOMES, find)


def run_evidence(history: History, reads: DataFrame) -> pl.LazyFrame:
    """Return `cycles.evidence.run_evidence`, computed on the driver, since the relevant reads are
    few."""
    of_reads = {stages.READ: stages.READS}
    backward = reads.mapInArrow(on_batches(of_reads, stages.find_leading_back), CHUNK_SQL)
    found = collected(backward, {stages.BACK: stages.INSTANTS, stages.COUNT: stages.COUNTS})
    given = int(found[stages.COUNT]["reads"].sum())
    spans = cycles.spans_of(found[stages.BACK])
    of_ends = {stages.END: stages.ENDS}
    kept, ended = pl.DataFrame(schema=stages.READS), pl.DataFrame(schema=stages.ENDS)
    if len(spans):
        within = reads.mapInArrow(
            on_batches(of_reads, partial(stages.keep_within, spans)), CHUNK_SQL
        )
        kept = collected(within, of_reads)[stages.READ]
        txns = cycles.transactions_of(kept)["txn"].to_list()
        of_txns = history.mapped(cycles.END_COLUMNS, partial(stages.keep_ends, txns))
        ended = collected(of_txns, of_ends)[stages.END]
    return cycles.told(kept, cycles.ends(ended.lazy()), given)


def reader_evidence(history: History, paused: pl.DataFrame, stale_after_ns: int) -> pl.DataFrame:
    """Return the evidence of `waiting.waiting`. Fetch only the polls of readers that were watched
    for longer than the bound."""
    if paused.is_empty():
        return pl.DataFrame(schema=pl.Schema(waiting.COLUMNS))
    rows = history.mapped(stages.OTHER_COLUMNS, stages.keep_others)
    others = collected(rows, {stages.OTHER: stages.OTHERS})[stages.OTHER].lazy()
    turns, faults = pl.collect_all([waiting.turns_of(others), faults_of(others)])

    def polls(who: pl.DataFrame) -> pl.DataFrame:
        rows = history.mapped(stages.POLL_COLUMNS, partial(stages.find_polls, who))
        found = collected(rows, {stages.POLL: stages.POLLS})[stages.POLL]
        return waiting.polls_of(found.lazy(), who)

    return waiting.kept_waiting(paused, turns, faults, polls, stale_after_ns)


def _first_cause(error: Exception) -> str:
    """Return the last line of an error's text that names an Error or Exception, else its last line,
    else its type: the cause, without its stack, cut to 300 characters."""
    text = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in text if "Error" in line or "Exception" in line]
    return (telling or text or [type(error).__name__])[-1][:300]
