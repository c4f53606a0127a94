"""No read_committed reader is given a record of an aborted transaction."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.ingest import ABORTED, IS_DATA, IS_SEND, KEY, READ_COMMITTED

COMMITTED_READ = IS_DATA & (pl.col("isolation") == READ_COMMITTED)


class AbortedReads(Checker):
    """A read_committed reader received an aborted record, whatever the outcome of its own operation
    (Jepsen's G1a looks at successful ones only). A record is aborted if the marker after it is
    ABORT or, where no raw read shows a marker, if the abort was acknowledged and a commit was never
    requested. Source: KIP-98, Consumer ("read_committed"); docs, design#semantics. Counted: records
    read under read_committed."""

    name: ClassVar[str] = "aborted_reads"
    title: ClassVar[str] = "read_committed readers see no aborted record"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.TRANSACTIONS, Needs.COMMITTED_READS})
    whole: ClassVar[str] = "the marker behind each record"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        writers = (
            events.filter(IS_SEND)
            .group_by(*KEY, "value")
            .agg(send_op=pl.col("op_id").min(), txn=pl.col("txn").min())
        )
        found = (
            events.filter(COMMITTED_READ & (pl.col("outcome") == ABORTED))
            .group_by(*KEY, "offset", "value")
            .agg(readers=pl.col("op_id").unique())
            .join(writers, on=[*KEY, "value"], how="left")
        )
        message = pl.format(
            "a read_committed reader received record {} at offset {}, but its transaction{} "
            "aborted",
            "value",
            "offset",
            pl.format(" {}", "txn").fill_null(""),
        )
        return describe(found, KEY, "aborted-read", ["readers", "send_op"], message)

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(events.filter(COMMITTED_READ))
