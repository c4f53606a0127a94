"""No request of an older producer epoch succeeds once a newer epoch is known."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, describe
from linearizability.evidence.fencing import BEHIND, EARLY, GIVEN, PAIRS, REJOINED, REPLACED, WROTE
from linearizability.evidence.successors import ENDED, OFFSETS, OUTLIVED

REUSED = "reused-epoch"
KINDS = {
    BEHIND: "fenced-epoch-writes",
    WROTE: "zombie-writes",
    OFFSETS: "zombie-commits-offsets",
    ENDED: "zombie-ends",
    GIVEN: REUSED,
    REJOINED: "zombie-rejoins",
}
TOO_EARLY, OTHER_ID = "fenced-early", "other-producer-id"
SUPERSEDED = "superseded-producer"
REQUESTS = (WROTE, OFFSETS, ENDED, OUTLIVED, REJOINED, EARLY, REPLACED)
"""The kinds of rows that are each one check."""


class Fencing(Checker):
    """A newer epoch of a producer id fences the older ones, and nothing else fences a producer.
    These are anomalies:

    - The broker accepts a request with an older epoch, although the client invoked it after a newer
      epoch was known: to write a record of a transaction to any partition, to commit an offset in a
      transaction, to end a transaction, or to get a new epoch in exchange for its own (KIP-360;
      recorders leave out the epoch of a repeated request, which may be accepted).
    - The broker accepts a record, an offset or the end of a transaction by a request that was
      invoked after InitProducerId had returned to a newer producer of its transactional id
      (`successors`), whatever the epochs. A fault that may take what a coordinator had written
      excuses this (`overdue.py`).
    - A send that nobody acknowledged is appended after a newer epoch was known, since it follows a
      record that was sent only then.
    - InitProducerId returns an epoch that was known before.
    - InitProducerId returns another producer id for a transactional id whose last one had epochs
      left (`other_producers`): the coordinator has forgotten it, and nothing fences its producers.
    - A raw read shows a record or marker of an older epoch after one of a newer epoch.
    - A commit is refused as fenced although no newer producer can have caused that: the transaction
      is younger than its transaction.timeout.ms, its producer has not requested an abort, and no
      other InitProducerId of its transactional id was acknowledged or has an unknown outcome
      (`early_aborts`).

    An epoch is known once InitProducerId has returned it, or a record or offset with it has been
    acknowledged: by then the markers of the previous transaction are written, and the coordinator
    refuses the older epoch. Leaders ask the coordinator before they accept a producer in a
    partition (KIP-890). The end of a transaction does not make its epoch known, because EndTxn
    itself may raise the epoch. The epoch of a send is the one that its record has in raw reads.
    Source: KIP-98, "Transactional Guarantees" (zombie fencing);
    ProducerAppendInfo.checkProducerEpoch; TransactionCoordinator. Counted: records and markers that
    follow another of their producer id; the partitions that transactions wrote to, the offsets that
    they sent, their ends, and once more those of transactions whose producer had a successor;
    epochs that InitProducerId accepted, and its answers about a producer id
    that other rows also name.
    """

    name: ClassVar[str] = "fencing"
    title: ClassVar[str] = (
        "no request of an older producer epoch succeeds once a newer one is known"
    )
    scope: ClassVar[Scope] = Scope.PRODUCER
    needs: ClassVar[frozenset[Needs]] = frozenset()

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        behind = events.filter(pl.col("kind") == BEHIND)
        found = pl.concat(
            [behind.with_columns(newest_op=pl.lit(None, pl.Int64)), after_newer(events)]
        )
        where = ["topic", "topic_id", "partition", "producer_id"]
        kinds = pl.col("kind").replace_strict(KINDS)
        fenced = pl.format(
            "the producer of transaction {} was fenced before its transaction.timeout.ms was over,"
            " although no newer producer had its transactional id",
            "txn",
        )
        early = events.filter(pl.col("kind") == EARLY)
        other = pl.format(
            "InitProducerId returned another producer id, {}, for a transactional id whose last one"
            " had only reached epoch {}, so nothing fences its former producer",
            "producer_id",
            "producer_epoch",
        )
        replaced = events.filter(pl.col("kind") == REPLACED)
        superseded = events.filter((pl.col("kind") == OUTLIVED) & pl.col("known_op").is_not_null())
        outlived = pl.format(
            "transaction {} went on, by a request that began after InitProducerId had returned to a"
            " newer producer of its transactional id",
            "txn",
        )
        return pl.concat(
            [
                describe(found, where, kinds, ["asked_op", "newest_op"], _message(), "broker"),
                describe(replaced, where, OTHER_ID, ["known_op", "asked_op"], other, "broker"),
                describe(early, where, TOO_EARLY, ["asked_op", "known_op"], fenced, "broker"),
                describe(
                    superseded, where, SUPERSEDED, ["known_op", "asked_op"], outlived, "broker"
                ),
            ]
        )

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        is_later = pl.col("known_ns").count().over("producer_id") > 1
        is_request = pl.col("kind").is_in(REQUESTS) | ((pl.col("kind") == GIVEN) & is_later)
        return events.select(
            checked=pl.col("pairs").filter(pl.col("kind") == PAIRS).sum() + is_request.sum()
        )


def after_newer(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the requests invoked after a newer epoch of their producer was known, and the answers
    of InitProducerId that repeat a known epoch; with that epoch (newest) and the operation that
    first shows it (newest_op)."""
    known = (
        events.filter(pl.col("known_ns").is_not_null())
        .sort("known_ns", "producer_epoch", "known_op")
        .with_columns(top=pl.col("producer_epoch").cum_max().over("producer_id"))
    )
    is_first = (pl.col("top") > pl.col("top").shift(1).over("producer_id")).fill_null(True)
    newest = known.with_columns(first_op=pl.when(is_first).then("known_op")).select(
        "producer_id",
        top="top",
        out_ns="known_ns",
        newest_op=pl.col("first_op").forward_fill().over("producer_id"),
    )
    is_asked = pl.col("asked_ns").is_not_null() & (pl.col("kind") != EARLY)
    asked = events.filter(is_asked).sort("asked_ns")
    is_again = (pl.col("kind") == GIVEN) & (pl.col("producer_epoch") == pl.col("top"))
    return (
        asked.join_asof(
            newest.sort("out_ns", "top"),
            left_on="asked_ns",
            right_on="out_ns",
            by="producer_id",
            strategy="backward",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .filter((pl.col("producer_epoch") < pl.col("top")) | is_again)
        .with_columns(newest="top")
        .drop("top", "out_ns")
    )


def _message() -> pl.Expr:
    epoch = pl.format("epoch {} of producer {}", "producer_epoch", "producer_id")
    after = pl.format("began after its newer epoch {} was known", "newest")
    return (
        pl.when(pl.col("kind") == BEHIND)
        .then(
            pl.format(
                "offset {} holds a record of {}, behind a record of its newer epoch {}",
                "offset",
                epoch,
                "newest",
            )
        )
        .when(pl.col("kind") == WROTE)
        .then(
            pl.format(
                "offset {} holds a record of {}, appended after its newer epoch {} was known",
                "offset",
                epoch,
                "newest",
            )
        )
        .when(pl.col("kind") == OFFSETS)
        .then(pl.format("{} committed offset {} by a request that {}", epoch, "offset", after))
        .when(pl.col("kind") == REJOINED)
        .then(pl.format("InitProducerId accepted {} in a request that {}", epoch, after))
        .when(pl.col("kind") == ENDED)
        .then(pl.format("{} ended transaction {} by a request that {}", epoch, "txn", after))
        .when(pl.col("producer_epoch") == pl.col("newest"))
        .then(
            pl.format(
                "InitProducerId returned {} again, to a request that began after that epoch was "
                "known",
                epoch,
            )
        )
        .otherwise(pl.format("InitProducerId returned {} to a request that {}", epoch, after))
    )
