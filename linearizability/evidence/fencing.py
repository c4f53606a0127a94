"""Find when each producer epoch was known, and when it was used: the rows of `Scope.PRODUCER`.

A producer sends requests to many partitions and to coordinators, so they cannot be judged partition
by partition. The evidence comes from the raw reads of each partition (`of_logs`) and from
coordinators' answers in the whole history (`of_requests`); `told_of_producers` joins both. The
kinds of rows:

- `behind`: a record or marker of an older epoch follows one of a newer in a raw read;
- `pairs`: how many records and markers of a partition follow another of their producer;
- `wrote`: one transaction's records of one epoch in a partition;
- `given`: InitProducerId returned an epoch;
- `rejoined`: InitProducerId accepted this epoch from a producer that continues after an error
  (KIP-360);
- `offsets`: TxnOffsetCommit accepted an offset;
- `ended`: EndTxn accepted the end of a transaction, whose epoch other rows tell;
- `replaced`: InitProducerId returned another producer id for the same transactional id
  (`other_producers`);
- `early`: a commit was refused as fenced although nothing can have fenced its producer
  (`early_aborts`);
- `sent`, `effective`, `succeeded`, `resumed`, `outlived`: what a transaction did after its
  producer had a successor (`successors`).

known_ns: when an answer first proved the epoch. asked_ns: when the last request was invoked (of
`wrote`: before the last record was appended).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from linearizability.evidence.early_aborts import fenced_early
from linearizability.evidence.removals import ALLOWS_UNCLEAN
from linearizability.evidence.successors import (
    EFFECTIVE,
    ENDED,
    OFFSETS,
    RESUMED,
    SENT,
    SUCCEEDED,
    effective,
    of_succeeded,
    resumed,
    sent,
    succeeded,
)
from linearizability.history import PARTITION, F
from linearizability.ingest import IS_OK, IS_SEND, KEY, NO_TOPIC_ID
from linearizability.reads.inferred_log import ACKNOWLEDGED, latest_asked
from linearizability.reads.raw_reads import IS_RAW, OF_PRODUCER, raw_records

BEHIND, PAIRS, WROTE = "behind", "pairs", "wrote"
GIVEN, REJOINED = "given", "rejoined"
EARLY, REPLACED = "early", "replaced"
COLUMNS: Mapping[str, Any] = {
    "kind": pl.String,
    "producer_id": pl.Int64,
    "producer_epoch": pl.Int32,
    "txn": pl.Int64,
    "topic": pl.String,
    "topic_id": pl.String,
    "partition": pl.Int32,
    "offset": pl.Int64,
    "newest": pl.Int32,
    "pairs": pl.Int64,
    "known_ns": pl.Int64,
    "known_op": pl.Int64,
    "asked_ns": pl.Int64,
    "asked_op": pl.Int64,
}
NAMES_EPOCH = (pl.col("producer_id") >= 0) & (pl.col("producer_epoch") >= 0)
LAST_EPOCH = 2**15 - 2
"""The epoch after which a transactional id gets a new producer id
(ProducerIdAndEpoch, TransactionMetadata.isEpochExhausted)."""
REMEMBERED_NS = 60 * 1_000_000_000
"""The nanoseconds for which a coordinator remembers any transactional id. The default of
transactional.id.expiration.ms is a week, but an operator may choose a minute."""
OF_TRANSACTION = ["txn", "producer_id", "producer_epoch"]
OF_EARLY = ("txn", "known_op", "asked_op", "asked_ns")
REQUESTS = (F.INIT_PRODUCER.value, F.SEND_OFFSETS.value, F.COMMIT.value, F.ABORT.value)
_KIND_OF_REQUEST = {
    F.INIT_PRODUCER.value: GIVEN,
    F.SEND_OFFSETS.value: OFFSETS,
    F.COMMIT.value: ENDED,
    F.ABORT.value: ENDED,
}


def fencing_evidence(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return rows (COLUMNS) of a whole resolved history."""
    return told_of_producers(pl.concat([of_logs(events), of_requests(events)]))


def of_logs(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return what the partitions prove, as rows (COLUMNS) of five kinds: records of an epoch behind
    a newer one in raw reads (`behind`), how many records could have been so (`pairs`), what each
    transaction wrote (`wrote`, from the sends of the records read), its last accepted send
    (`sent`), and a commit that took effect unanswered (`effective`). `events` must have all rows of
    each of its partitions."""
    names = events.filter(pl.col("topic").is_not_null()).select(*KEY, *PARTITION).unique()
    found = [behind_newer(events), pairs(events), written(events), sent(events), effective(events)]
    return pl.concat(_whole(rows.join(names, on=KEY)) for rows in found)


def of_requests(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows (COLUMNS) about coordinators: what InitProducerId, TxnOffsetCommit and EndTxn
    accepted (`given`, `rejoined`, `replaced`, `succeeded`, `offsets`, `ended`), the transactions
    that may have ended before (`resumed`), and the commits that were refused as fenced without a
    reason (`early`). The rows of transactions' ends have no epoch yet."""
    kind = pl.col("f").cast(pl.String).replace_strict(_KIND_OF_REQUEST, return_dtype=pl.String)
    kind = (
        pl.when((kind == OFFSETS) & ~NAMES_EPOCH.fill_null(False))
        .then(pl.lit(SENT))
        .otherwise(kind)
    )
    needs_no_epoch = pl.col("kind").is_in([ENDED, SENT])
    is_judged = (needs_no_epoch & pl.col("txn").is_not_null()) | (~needs_no_epoch & NAMES_EPOCH)
    told = _whole(
        events.filter(pl.col("f").is_in(REQUESTS) & IS_OK & pl.col("t_complete_ns").is_not_null())
        .with_columns(
            kind=kind,
            known_ns="t_complete_ns",
            known_op="op_id",
            asked_ns="t_invoke_ns",
            asked_op="op_id",
        )
        .filter(is_judged.fill_null(False))
        .select(
            "kind",
            *OF_TRANSACTION,
            *PARTITION,
            "offset",
            "known_ns",
            "known_op",
            "asked_ns",
            "asked_op",
        )
    )
    early = pl.LazyFrame(fenced_early(events), schema={name: COLUMNS[name] for name in OF_EARLY})
    early = early.with_columns(kind=pl.lit(EARLY), topic_id=pl.lit(NO_TOPIC_ID))
    of_txns = pl.concat([succeeded(events), resumed(events)], how="diagonal_relaxed")
    of_txns = of_txns.with_columns(topic_id=pl.lit(NO_TOPIC_ID))
    return pl.concat(
        [told, rejoined(events), other_producers(events), _whole(early), _whole(of_txns)]
    )


def other_producers(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return rows (COLUMNS, `replaced`) of the producer ids that InitProducerId returned for a
    transactional id that had got another one less than REMEMBERED_NS earlier, although that one's
    epoch (producer_epoch) cannot have been the last: then nothing fences the former producer. Each
    transaction and request of the run may have raised it by two. Return none if any topic allows
    unclean elections, after which a coordinator may have forgotten ids."""
    is_init = (pl.col("f") == F.INIT_PRODUCER.value) & IS_OK & NAMES_EPOCH
    inits = events.filter(
        is_init & pl.col("transactional_id").is_not_null() & pl.col("t_complete_ns").is_not_null()
    )
    run = events.select(
        raised=2 * (pl.col("txn").n_unique() + pl.col("f").is_in(REQUESTS).sum().cast(pl.Int64)),
        is_unclean=ALLOWS_UNCLEAN.any(),
    )
    former = inits.sort("t_complete_ns", "op_id").select(
        "transactional_id",
        "producer_epoch",
        former_id="producer_id",
        known_ns="t_complete_ns",
        known_op="op_id",
        since_ns="t_invoke_ns",
    )
    return _whole(
        inits.sort("t_invoke_ns", "op_id")
        .select(
            "transactional_id",
            "producer_id",
            began_ns="t_invoke_ns",
            over_ns="t_complete_ns",
            asked_op="op_id",
        )
        .join_asof(
            former,
            left_on="began_ns",
            right_on="known_ns",
            by="transactional_id",
            strategy="backward",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .join(run, how="cross")
        .filter(
            (pl.col("producer_id") != pl.col("former_id"))
            & (pl.col("over_ns") - pl.col("since_ns") < REMEMBERED_NS)
            & (pl.col("producer_epoch").cast(pl.Int64) + pl.col("raised") < LAST_EPOCH)
            & ~pl.col("is_unclean")
        )
        .drop("known_ns")
        .with_columns(kind=pl.lit(REPLACED), topic_id=pl.lit(NO_TOPIC_ID))
    )


def rejoined(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return rows (COLUMNS) of the epochs that InitProducerId accepted from producers that continue
    after an error (KIP-360)."""
    names_epoch = (pl.col("asked") == "epoch") & (pl.col("asked_offset") >= 0)
    is_init = (pl.col("f") == F.INIT_PRODUCER.value) & IS_OK
    is_told = (pl.col("producer_id") >= 0) & pl.col("t_complete_ns").is_not_null()
    found = events.filter(is_init & names_epoch & is_told)
    return _whole(
        found.select(
            "producer_id",
            producer_epoch="asked_offset",
            asked_ns="t_invoke_ns",
            asked_op="op_id",
            kind=pl.lit(REJOINED),
            topic_id=pl.lit(NO_TOPIC_ID),
        )
    )


def told_of_producers(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows, with each end of a transaction (`ended`) completed by the producer id and
    newest epoch that the transaction's `wrote` and `offsets` rows show, and with the rows `sent`,
    `effective`, `succeeded` and `resumed` replaced by `outlived`. Drop an end for which they show
    no producer id, or two. known_ns and known_op of ends become null: an end proves no epoch that
    is not known without it."""
    is_end = pl.col("kind") == ENDED
    epochs = (
        rows.filter(pl.col("kind").is_in([WROTE, OFFSETS]) & pl.col("txn").is_not_null())
        .group_by("txn")
        .agg(
            ids=pl.col("producer_id").n_unique(),
            producer_id=pl.col("producer_id").first(),
            producer_epoch=pl.col("producer_epoch").max(),
        )
        .filter(pl.col("ids") == 1)
    )
    ends = rows.filter(is_end).drop("producer_id", "producer_epoch").join(epochs, on="txn")
    # An end tells of no epoch that is not known without it.
    ends = ends.with_columns(known_ns=pl.lit(None), known_op=pl.lit(None))
    others = rows.filter(~pl.col("kind").is_in([ENDED, SENT, EFFECTIVE, SUCCEEDED, RESUMED]))
    return pl.concat([others, _whole(ends), _whole(of_succeeded(rows))])


def _whole(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows with exactly COLUMNS; a column that the rows lack becomes null."""
    known = rows.collect_schema().names()
    return rows.select(
        (pl.col(name) if name in known else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in COLUMNS.items()
    )


def after_another(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return each record and marker that follows another of its producer in the same raw read, with
    the newest epoch among those before it (newest)."""
    newest = pl.col("producer_epoch").cum_max().shift(1).over(OF_PRODUCER)
    return (
        raw_records(events)
        .filter(NAMES_EPOCH)
        .with_columns(newest=newest)
        .filter(pl.col("newest").is_not_null())
    )


def behind_newer(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records and markers that follow one of a newer epoch in the log."""
    found = after_another(events).filter(pl.col("producer_epoch") < pl.col("newest"))
    return found.with_columns(kind=pl.lit(BEHIND), asked_op="op_id")


def pairs(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return, for each partition, the number of records and markers that follow another of their
    producer."""
    found = after_another(events).group_by(KEY).agg(pairs=pl.len())
    return found.with_columns(kind=pl.lit(PAIRS))


def written(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row for each transaction, partition and epoch. known_ns, known_op: its first
    acknowledgement. asked_ns, asked_op: the latest request that was certainly invoked before its
    last record was appended: a send of its own or, if nobody acknowledged that one, an acknowledged
    send of a record at a lower offset. Count only records that were sent once, and that raw reads
    show in one epoch."""
    shown = (
        events.filter(IS_RAW & pl.col("control").is_null() & NAMES_EPOCH)
        .group_by(*KEY, "value")
        .agg(
            pl.col("offset").min(),
            pl.col("producer_id").first(),
            pl.col("producer_epoch").first(),
            places=pl.col("offset").n_unique(),
            ids=pl.col("producer_id").n_unique(),
            epochs=pl.col("producer_epoch").n_unique(),
        )
        .filter((pl.col("ids") == 1) & (pl.col("epochs") == 1))
        .drop("ids", "epochs")
    )
    sent = events.filter(IS_SEND & pl.col("value").is_not_null()).select(
        *KEY,
        "value",
        "txn",
        "op_id",
        "t_invoke_ns",
        done_ns=pl.when(ACKNOWLEDGED).then("t_complete_ns"),
        is_open=~IS_OK,
    )
    once = sent.join(shown, on=[*KEY, "value"]).unique([*KEY, "value"], keep="none")
    in_transactions = appended(once.filter(pl.col("txn").is_not_null()), events)
    return (
        in_transactions.sort("asked_ns", "asked_op", "offset")
        .group_by(*KEY, *OF_TRANSACTION)
        .agg(
            pl.col("offset").last(),
            pl.col("asked_ns").last(),
            pl.col("asked_op").last(),
            known_ns=pl.col("done_ns").min(),
            known_op=pl.col("op_id").filter(pl.col("done_ns") == pl.col("done_ns").min()).min(),
        )
        .with_columns(kind=pl.lit(WROTE))
    )


def appended(records: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records with the last request (asked_ns, asked_op) that was certainly invoked
    before each was appended."""
    behind = (
        pl.col("is_open") & (pl.col("places") == 1) & (pl.col("latest_ns") > pl.col("t_invoke_ns"))
    )
    return latest_asked(records, events.filter(ACKNOWLEDGED)).with_columns(
        asked_ns=pl.when(behind).then("latest_ns").otherwise("t_invoke_ns"),
        asked_op=pl.when(behind).then("latest_op").otherwise("op_id"),
    )
