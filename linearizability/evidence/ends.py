"""Find evidence, besides markers, that contradicts the acknowledged end of a transaction.

Part of `transaction_evidence`, which names the kinds: records without a marker although readers of
committed records went on behind them, records that came after the end, and records that the client
had failed to send when it committed.
"""

from __future__ import annotations

import polars as pl

from linearizability.evidence.removals import compactable
from linearizability.history import PARTITION, F, Type
from linearizability.ingest import (
    IS_DATA,
    IS_OK,
    IS_SEND,
    KEY,
    READ_COMMITTED,
    TOLD_COMMIT,
    WHOLE_READ,
)
from linearizability.plans import collect, needed
from linearizability.reads.inferred_log import (
    ACKNOWLEDGED,
    BELOW_HIGH_WATERMARK,
    PROVEN_POLL,
    latest_asked,
)
from linearizability.reads.raw_reads import IS_RAW, OF_PRODUCER

UNMARKED, JOINED, UNSENT = "unmarked", "joined", "unsent"
REFUSING_CLIENTS = ("confluent", "java", "reference")
"""The client libraries that refuse to commit after a failed send (KafkaProducer.commitTransaction).
A raw client commits whatever it is asked to."""
REFUSED_BY_CALL = (
    "_QUEUE_FULL",
    "_STATE",
    "_INVALID_ARG",
    "_UNKNOWN_PARTITION",
    "_UNKNOWN_TOPIC",
    "MESSAGE_TOO_LARGE",
)
"""The errors with which librdkafka refuses a record in the call itself, so that it never belongs to
the transaction, which may commit (confluent-kafka 2 did on Apache Kafka 4.3.1)."""
NAMES_LAST_STABLE_OFFSET = (
    pl.col("f").is_in([F.POLL.value, F.READ_ALL.value])
    & pl.col("offset").is_null()
    & pl.col("replica").is_null()
    & pl.col("last_stable_offset").is_not_null()
)
IS_WHOLE_RAW_READ = WHOLE_READ & (pl.col("client") == "raw") & pl.col("replica").is_null()
OF_ITS_TRANSACTION = ("txn", "txn_outcome", "told", "end_op")
RECORD = (*OF_ITS_TRANSACTION, *PARTITION, "offset", "value", "send_op")


def unmarked(events: pl.LazyFrame, sent: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records after which a whole raw read shows no marker of their producer, though the
    last stable offset had passed them before that read began: so the marker must have been below
    the high watermark. Topics that may be compacted are left out, since compaction removes
    markers."""
    raw = events.filter(IS_RAW & pl.col("replica").is_null())
    last = (
        raw.filter(pl.col("control").is_not_null())
        .group_by(*KEY, "op_id", "producer_id")
        .agg(marker_offset=pl.col("offset").max())
    )
    whole = events.filter(IS_WHOLE_RAW_READ).select(*KEY, "op_id", "t_invoke_ns")
    shown = (
        raw.filter(pl.col("control").is_null() & (pl.col("producer_id") >= 0))
        .select(*KEY, "op_id", "offset", "value", "producer_id")
        .join(last, on=[*KEY, "op_id", "producer_id"], how="left")
        .filter((pl.col("marker_offset") < pl.col("offset")).fill_null(True))
        .join(whole, on=[*KEY, "op_id"])
        .join(compactable(events), on=KEY, how="anti")
    )
    bare = collect(sent.join(shown, on=[*KEY, "offset", "value"]))
    return (
        bare.lazy()
        .with_columns(behind=pl.col("offset") + 1)
        .sort("behind")
        .join_asof(
            stable_beyond(needed(events, bare)),
            left_on="behind",
            right_on="bound",
            by=KEY,
            strategy="forward",
            check_sortedness=False,
        )
        .filter(pl.col("passed_ns") < pl.col("t_invoke_ns"))
        .select(*RECORD, kind=pl.lit(UNMARKED), op_ids=pl.concat_list("op_id", "passed_op"))
    )


def followed(events: pl.LazyFrame, sent: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records that a raw read shows followed by a record of the producer's next
    transaction, with no marker between: that transaction could not begin before the marker was
    written. Topics that may be compacted are left out, since compaction removes markers."""
    in_transactions = events.filter(IS_SEND & pl.col("txn").is_not_null())
    writers = in_transactions.select(*KEY, "value", "txn").unique([*KEY, "value"], keep="none")
    logs = (
        events.filter(IS_RAW & (pl.col("producer_id") >= 0))
        .select(*OF_PRODUCER, "offset", "value", is_marker=pl.col("control").is_not_null())
        .join(writers, on=[*KEY, "value"], how="left")
        .sort(*OF_PRODUCER, "offset")
        .with_columns(
            next_txn=pl.col("txn").shift(-1).over(OF_PRODUCER),
            next_marks=pl.col("is_marker").shift(-1).over(OF_PRODUCER),
        )
        .filter(
            ~pl.col("is_marker") & ~pl.col("next_marks") & (pl.col("next_txn") != pl.col("txn"))
        )
        .join(compactable(events), on=KEY, how="anti")
        .select(*KEY, "op_id", "offset", "value")
    )
    return sent.join(logs, on=[*KEY, "offset", "value"]).select(
        *RECORD, kind=pl.lit(UNMARKED), op_ids=pl.concat_list("op_id")
    )


def stable_beyond(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return place, bound, passed_ns, passed_op: when, and by which operation, the last stable
    offset was first known to be `bound` at least; shown by an answer that names it, or by a record
    that a read_committed reader received."""
    is_given = IS_DATA & (pl.col("isolation") == READ_COMMITTED) & BELOW_HIGH_WATERMARK
    known = (
        events.filter((is_given | NAMES_LAST_STABLE_OFFSET) & pl.col("t_complete_ns").is_not_null())
        .select(
            *KEY,
            bound=pl.coalesce("offset", "last_stable_offset"),
            passed_ns="t_complete_ns",
            passed_op="op_id",
        )
        .sort("passed_ns", "passed_op")
        .with_row_index("order")
    )
    first = (
        known.group_by(*KEY, "bound")
        .agg(pl.col("order").min())
        .sort("bound", descending=True)
        .with_columns(pl.col("order").cum_min().over(KEY))
    )
    told = known.select("order", "passed_ns", "passed_op")
    return first.join(told, on="order").drop("order").sort("bound")


def joined_late(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records that were appended after the end of their transaction had been
    acknowledged: their send was invoked later, or they follow a record in the log whose send was
    invoked later."""
    sends = events.filter(IS_SEND & (pl.col("type") != Type.FAIL.value))
    sends = sends.filter((pl.len().over(*KEY, "value") == 1) & pl.col("value").is_not_null())
    # A record acknowledged before the end keeps its place (`append_order` judges that).
    answered_later = ~IS_OK | (pl.col("t_complete_ns") > pl.col("end_ns")).fill_null(True)
    late = sends.filter(pl.col("end_ns").is_not_null() & answered_later)
    seen = (
        events.filter(PROVEN_POLL & IS_DATA)
        .join(late, on=[*KEY, "value"], how="semi")
        .group_by(*KEY, "value")
        .agg(seen=pl.col("offset").min(), places=pl.col("offset").n_unique())
        .filter(pl.col("places") == 1)
    )
    placed = (
        late.join(seen, on=[*KEY, "value"], how="left")
        .with_columns(offset=pl.coalesce(pl.when(ACKNOWLEDGED).then("offset"), "seen"))
        .filter(pl.col("offset").is_not_null())
    )
    return (
        latest_asked(placed, sends.filter(ACKNOWLEDGED))
        .with_columns(
            asked_ns=pl.max_horizontal("latest_ns", "t_invoke_ns"),
            asked_op=pl.when(pl.col("t_invoke_ns") > pl.col("end_ns"))
            .then("op_id")
            .otherwise("latest_op"),
        )
        .filter(pl.col("asked_ns") > pl.col("end_ns"))
        .select(
            *OF_ITS_TRANSACTION,
            *PARTITION,
            "offset",
            "value",
            send_op="op_id",
            kind=pl.lit(JOINED),
            op_ids=pl.concat_list("asked_op"),
        )
    )


def unsent(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records that a client library did not deliver, or does not know whether it did,
    although it committed their transaction later. Raw clients, which commit whatever they are asked
    to, and records that librdkafka refused in the call itself do not count."""
    refused = (pl.col("client") == "confluent") & pl.col("error").is_in(REFUSED_BY_CALL)
    return events.filter(
        IS_SEND
        & ~IS_OK
        & (pl.col("told") == TOLD_COMMIT)
        & (pl.col("t_invoke_ns") < pl.col("commit_done_ns"))
        & pl.col("client").is_in(REFUSING_CLIENTS)
        & ~refused.fill_null(False)
    ).select(
        *OF_ITS_TRANSACTION,
        *PARTITION,
        "offset",
        "value",
        send_op="op_id",
        kind=pl.lit(UNSENT),
        op_ids=pl.concat_list("op_id"),
    )
