"""An idempotent producer's records are stored in the order of sending."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.guarantees.offset_gaps.rule import JEPSEN
from linearizability.history import Type
from linearizability.ingest import IS_DATA, IS_IDEMPOTENT, IS_SEND, KEY
from linearizability.reads.inferred_log import ACKNOWLEDGED, PROVEN_POLL
from linearizability.reads.raw_reads import IS_NUMBERED, IS_RAW

SESSION = [*KEY, "producer_id", "producer_epoch"]
WRAPPED = 2**30
"""Half of the range of sequences, which wrap from 2^31 - 1 to 0 (DefaultRecordBatch,
incrementSequence): a sequence that is lower by more than this is a later one."""


class ProducerOrder(Checker):
    """Two records of one send operation of an idempotent producer stand in the wrong order, though
    the leader knew the producer; or raw reads show a sequence below the one before it, of one
    producer id and epoch.

    (The order of separate operations is checked by `append_order`.) A leader that has no record of
    a producer id accepts a batch with any sequence (ProducerAppendInfo.checkSequence). So of a
    producer's first batches in a partition, the second may be accepted although the first was
    refused; the first is then sent again after it, in a new epoch (KIP-360). The leader knew the
    producer if raw reads show an earlier record of its id. If no raw read shows the two records,
    the leader knew it if an earlier operation of the same process and session was acknowledged and
    none had failed or has an unknown outcome. Jepsen's clients send a record only when the one
    before is acknowledged. Values that were sent twice, and records whose place is unknown, are not
    judged. Source: KIP-98, Idempotent Producer Guarantees. Jepsen: nonmonotonic-send and its
    internal twin. Counted: records after another one.
    """

    name: ClassVar[str] = "producer_order"
    title: ClassVar[str] = "an idempotent producer's records are stored in the order of sending"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.SEQUENCES})
    whole: ClassVar[str] = "where the values of an operation stand"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        sends = within_operations(events).filter(pl.col("offset") < pl.col("before"))
        sends = to_a_leader_that_knew_it(sends, events)
        sent = pl.format(
            "one operation sent {} after {}, but it is stored at offset {}, before offset {}",
            "value",
            "value_before",
            "offset",
            "before",
        )
        batches = within_sessions(events).filter(
            (pl.col("sequence") < pl.col("before"))
            & (pl.col("before") - pl.col("sequence") < WRAPPED)
        )
        stored = pl.format(
            "offset {} holds sequence {} of producer {}, epoch {}, after sequence {}",
            "offset",
            "sequence",
            "producer_id",
            "producer_epoch",
            "before",
        )
        return pl.concat(
            [
                describe(sends, KEY, "sends-reordered", ["op_id"], sent, "broker"),
                describe(
                    batches, KEY, "sequence-goes-back", ["op_before", "op_id"], stored, "broker"
                ),
            ]
        )

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        pairs = [within_operations(events), within_sessions(events)]
        return count(pl.concat([p.select("op_id") for p in pairs]))


def to_a_leader_that_knew_it(sends: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    """Return those of `sends`, rows of `within_operations`, whose leader knew their producer: its
    id has a record at a lower offset in the log or, if the ids are unknown, went_well_before is
    true. Keep all of imported Jepsen histories."""
    numbered = IS_RAW & (pl.col("producer_id") >= 0)
    first = events.filter(numbered).group_by(*KEY, "producer_id").agg(first=pl.col("offset").min())
    is_told = pl.col("producer_id").is_not_null() & pl.col("producer_before").is_not_null()
    is_known = (pl.col("producer_id") == pl.col("producer_before")) & (
        pl.col("first") < pl.col("offset")
    )
    return sends.join(first, on=[*KEY, "producer_id"], how="left").filter(
        (pl.col("client") == JEPSEN).fill_null(False)
        | pl.when(is_told).then(is_known).otherwise("went_well_before")
    )


def within_operations(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return each record sent by an idempotent producer with the one (before, value_before) that
    the same operation sent to the same partition before it. Values sent twice, refused sends and
    records of unknown place are left out. went_well_before: an earlier operation of the same
    process and session was acknowledged there, and no earlier one failed or has an unknown outcome.
    producer_id, producer_before: the producer ids of the two, from raw reads, or null."""
    acked_at = pl.when(ACKNOWLEDGED).then(pl.col("offset"))
    producer = [*KEY, "process", "session"]
    failed_first = pl.col("op_id").filter(pl.col("type") != Type.OK.value).min().over(producer)
    acked_first = pl.col("op_id").filter(ACKNOWLEDGED).min().over(producer)
    went_well = (acked_first < pl.col("op_id")) & (failed_first >= pl.col("op_id")).fill_null(True)
    sends = (
        events.filter(IS_SEND)
        .with_columns(acked_at=acked_at, went_well_before=went_well.fill_null(False))
        .drop("producer_id")
        .filter(pl.col("type") != Type.FAIL.value)
        .filter(pl.len().over(*KEY, "value") == 1)
        .filter(IS_IDEMPOTENT & pl.col("value").is_not_null())
        .filter(pl.len().over(*KEY, "op_id") > 1)
    )
    places = (
        events.filter(PROVEN_POLL & IS_DATA)
        .join(sends, on=[*KEY, "value"], how="semi")
        .group_by(*KEY, "value")
        .agg(
            pl.col("producer_id").filter(pl.col("producer_id") >= 0).min(),
            seen_at=pl.col("offset").min(),
            places=pl.col("offset").n_unique(),
        )
        .filter(pl.col("places") == 1)
    )
    return (
        sends.join(places, on=[*KEY, "value"], how="left")
        .with_columns(offset=pl.coalesce("acked_at", "seen_at"))
        .filter(pl.col("offset").is_not_null())
        .sort(*KEY, "op_id", "record_index")
        .with_columns(
            before=pl.col("offset").shift(1).over(*KEY, "op_id"),
            value_before=pl.col("value").shift(1).over(*KEY, "op_id"),
            producer_before=pl.col("producer_id").shift(1).over(*KEY, "op_id"),
        )
        .filter(pl.col("before").is_not_null())
    )


def within_sessions(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records read raw, each with the sequence of the previous record of the same
    producer id and epoch (before); the first record of each is left out."""
    return (
        events.filter(PROVEN_POLL & IS_DATA & IS_NUMBERED)
        .group_by(*SESSION, "offset", "sequence")
        .agg(pl.col("op_id").min())
        .sort(*SESSION, "offset", "sequence")
        .with_columns(
            before=pl.col("sequence").shift(1).over(SESSION),
            op_before=pl.col("op_id").shift(1).over(SESSION),
        )
        .filter(pl.col("before").is_not_null())
    )
