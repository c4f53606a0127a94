"""Find the requests of transactions whose producer had a successor: another InitProducerId of their
transactional id, requested and answered after the transaction began. By then the coordinator has
aborted the transaction and fenced its producer.

Part of `fencing_evidence`. Unlike its epochs, this needs neither raw reads nor producer ids.
"""

from __future__ import annotations

import polars as pl

from linearizability.history import PARTITION, F
from linearizability.ingest import IS_OK, KEY
from linearizability.reads.inferred_log import ACKNOWLEDGED

SENT, SUCCEEDED, OUTLIVED = "sent", "succeeded", "outlived"
OFFSETS, ENDED = "offsets", "ended"
REQUEST = ("txn", *PARTITION, "offset", "asked_ns", "asked_op")


def sent(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the acknowledged send of each transaction and partition that was invoked last: key,
    txn, offset, asked_ns and asked_op."""
    return (
        events.filter(ACKNOWLEDGED & pl.col("txn").is_not_null())
        .sort("t_invoke_ns", "op_id", "offset")
        .group_by(*KEY, "txn")
        .agg(
            pl.col("offset").last(),
            asked_ns=pl.col("t_invoke_ns").last(),
            asked_op=pl.col("op_id").last(),
        )
        .with_columns(kind=pl.lit(SENT))
    )


def succeeded(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return txn, known_ns and known_op of the first InitProducerId that returned to a successor of
    each transaction's producer: it was requested when the transaction had begun."""
    is_named = IS_OK & pl.col("transactional_id").is_not_null()
    named = events.filter(is_named & pl.col("t_complete_ns").is_not_null())
    begun = named.filter((pl.col("f") == F.BEGIN.value) & pl.col("txn").is_not_null())
    first_ns = pl.col("t_complete_ns").cum_min().over("transactional_id")
    is_first = pl.col("t_complete_ns") == first_ns
    inits = (
        named.filter(pl.col("f") == F.INIT_PRODUCER.value)
        .sort("t_invoke_ns", "op_id", descending=True)
        .select(
            "transactional_id",
            came_ns="t_invoke_ns",
            known_ns=first_ns,
            known_op=pl.when(is_first).then("op_id").forward_fill().over("transactional_id"),
        )
    )
    return (
        begun.select("txn", "transactional_id", began_ns="t_complete_ns")
        .sort("began_ns")
        .join_asof(
            inits.sort("came_ns", maintain_order=True),
            left_on="began_ns",
            right_on="came_ns",
            by="transactional_id",
            strategy="forward",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .filter(pl.col("known_ns").is_not_null())
        .select("txn", "known_ns", "known_op", kind=pl.lit(SUCCEEDED))
    )


def of_succeeded(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the accepted requests of transactions whose producer had a successor: REQUEST without
    its time, and known_op, the successor's InitProducerId if it had returned when the request was
    invoked, else null. rows: all rows of `fencing_evidence`. An end counts only if its transaction
    was not empty, since clients send no EndTxn for an empty one."""
    successors = rows.filter(pl.col("kind") == SUCCEEDED).select("txn", "known_ns", "known_op")
    is_filled = pl.col("kind").is_in([SENT, OFFSETS]).any().over("txn")
    is_known = pl.col("known_ns") < pl.col("asked_ns")
    return (
        rows.filter(pl.col("kind").is_in([SENT, OFFSETS, ENDED]) & pl.col("txn").is_not_null())
        .filter(is_filled | (pl.col("kind") != ENDED))
        .select(*REQUEST)
        .join(successors, on="txn")
        .with_columns(known_op=pl.when(is_known).then("known_op"), kind=pl.lit(OUTLIVED))
        .drop("known_ns", "asked_ns")
    )
