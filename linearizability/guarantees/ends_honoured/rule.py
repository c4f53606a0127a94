"""A transaction ends as it was acknowledged to its producer."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, describe
from linearizability.evidence.ends import JOINED, UNMARKED, UNSENT
from linearizability.evidence.offsets import IN_FORCE, NOT_IN_FORCE
from linearizability.evidence.transactions import ABORT, COMMIT, DELIVERED, PASSED
from linearizability.ingest import TOLD_ABORT, TOLD_COMMIT, UNASKED, UNKNOWN

COMMIT_BROKEN, ABORT_BROKEN = "committed-but-not", "aborted-but-committed"
NEVER_ASKED, TORN_OFFSETS = "committed-unasked", "torn-offsets"
NO_MARKER, CAME_LATE = "no-marker", "joined-after-its-end"
OVER_FAILURE = "committed-over-failed-send"

TOLD = pl.col("told").fill_null(UNASKED)
EVIDENCE = pl.col("kind")
RULES: tuple[tuple[str, pl.Expr], ...] = (
    (COMMIT_BROKEN, (TOLD == TOLD_COMMIT) & EVIDENCE.is_in([ABORT, NOT_IN_FORCE])),
    (ABORT_BROKEN, (TOLD == TOLD_ABORT) & EVIDENCE.is_in([COMMIT, IN_FORCE])),
    (NEVER_ASKED, (TOLD == UNASKED) & EVIDENCE.is_in([COMMIT, DELIVERED, IN_FORCE])),
    (NO_MARKER, EVIDENCE == UNMARKED),
    (CAME_LATE, EVIDENCE == JOINED),
    (OVER_FAILURE, EVIDENCE == UNSENT),
)
"""Kind of anomaly -> the evidence that shows it."""
SEEN = {
    COMMIT: "a COMMIT marker follows {}",
    ABORT: "an ABORT marker follows {}",
    DELIVERED: "a read_committed reader received {}",
    IN_FORCE: "its group fetched {} as committed, which no other commit explains",
    NOT_IN_FORCE: "its group did not fetch {} as committed",
    UNMARKED: "{} has no COMMIT or ABORT marker behind it",
    JOINED: "{} was appended after that",
    UNSENT: "the client had not delivered {}, and must then refuse to commit",
}
ENDED = {
    TOLD_COMMIT: "its commit was acknowledged",
    TOLD_ABORT: "its abort was acknowledged and no commit was asked for",
    UNASKED: "no commit was ever asked for",
    UNKNOWN: "whether it was committed or aborted is not known",
}


class EndsHonoured(Checker):
    """The acknowledged end of a transaction agrees with what its partitions and its group show.
    These are anomalies:

    - A commit was acknowledged, but an ABORT marker follows a record of the transaction, or the
      offsets that it sent are not in force.
    - An abort was acknowledged and a commit was never requested, but a COMMIT marker follows a
      record, or the offsets are in force.
    - Neither was requested, but a COMMIT marker follows a record, a read_committed reader received
      a record, or the offsets are in force. (If an abort was requested, `aborted_reads` reports the
      reader.)
    - Whatever the end: a whole raw read shows no marker after a record, although the last stable
      offset had passed the record before, or a record of the producer's next transaction follows
      it.
    - Whatever the end: a record was appended after the end had been acknowledged.
    - The end is unknown: the offsets are in force although records are aborted, or the other way
      round; or the offsets of one partition are in force and those of another are not; or an answer
      did not show them, and a later one does.
    - A client library committed a transaction after it had reported that a send in it had failed,
      or may have failed. The application then believes that all records are committed, but one is
      missing. The broker cannot know of the failed send, so the client must refuse the commit
      (KafkaProducer.commitTransaction; librdkafka, txn_requires_abort).

    An acknowledged end is final: EndTxn is answered when the coordinator has written its decision
    (TransactionCoordinator.endTransaction, PrepareCommit), before the markers are written. A
    transaction without a commit request may be aborted by its timeout or by the next
    InitProducerId, but never committed. Source: KIP-98, "Transactional Guarantees"; KIP-447;
    KIP-890, "Motivation". Counted: transactions about which markers, readers or offsets give
    evidence.
    """

    name: ClassVar[str] = "ends_honoured"
    title: ClassVar[str] = "a transaction ends as it was acknowledged to its producer"
    scope: ClassVar[Scope] = Scope.TRANSACTION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.TRANSACTIONS})

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        found = [events.filter(shows).with_columns(anomaly=pl.lit(name)) for name, shows in RULES]
        order = ["topic", "topic_id", "partition", "offset", "kind", "value"]
        first = (
            pl.concat([*found, torn_offsets(events)])
            .sort(*order, pl.col("op_ids").list.min(), pl.col("op_ids").list.max(), "send_op")
            .unique(["txn", "anomaly"], keep="first", maintain_order=True)
        )
        position = pl.format("offset {}", "offset")
        record = pl.format("record {} at offset {}", "value", "offset")
        unplaced = pl.col("offset").is_null()
        what = pl.when(pl.col("value").is_null()).then(position).otherwise(record)
        what = pl.when(unplaced).then(pl.format("record {}", "value")).otherwise(what)
        seen = pl.lit("")
        for kind, words in SEEN.items():
            seen = pl.when(kind == EVIDENCE).then(pl.format(words, what)).otherwise(seen)
        message = pl.format("transaction {}: {}, but {}", "txn", TOLD.replace_strict(ENDED), seen)
        where = ["topic", "topic_id", "partition", "txn"]
        operations = ["op_ids", "send_op", "end_op"]
        by_client = pl.col("anomaly") == OVER_FAILURE
        blame = pl.when(by_client).then(pl.lit("client")).otherwise(pl.lit("broker"))
        return describe(first, where, pl.col("anomaly"), operations, message, blame)

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return events.select(checked=pl.col("txn").n_unique().cast(pl.Int64))


def torn_offsets(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the evidence about offsets that contradicts the evidence about a record, or about
    other offsets, of the same transaction, for transactions of unknown end, with anomaly =
    TORN_OFFSETS."""
    undecided = events.filter(TOLD == UNKNOWN)
    known = undecided.group_by("txn").agg(
        committed=EVIDENCE.is_in([COMMIT, DELIVERED, IN_FORCE]).any(),
        aborted=EVIDENCE.is_in([ABORT, PASSED, NOT_IN_FORCE]).any(),
    )
    contradicted = ((EVIDENCE == IN_FORCE) & pl.col("aborted")) | (
        (EVIDENCE == NOT_IN_FORCE) & pl.col("committed")
    )
    return (
        undecided.join(known, on="txn")
        .filter(contradicted)
        .drop("committed", "aborted")
        .with_columns(anomaly=pl.lit(TORN_OFFSETS))
    )
