"""An input is consumed by one committed transaction of a group."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Cut, Needs, Scope, count, describe
from linearizability.checkers.group_delivery import COUNTED, GROUP
from linearizability.ingest import COMMITTED, KEY


class ExactlyOnce(Checker):
    """Two committed transactions of subscribed members of one group were given the same record.

    A transaction commits the positions of what it polled (KIP-447, sendOffsetsToTransaction), so
    the next one goes on behind them. Source: docs, design#semantics ("exactly once").
    Counted: records that members were given in committed transactions.
    """

    name: ClassVar[str] = "exactly_once"
    title: ClassVar[str] = "a group consumes an input in one committed transaction"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.GROUP_READS, Needs.READS_IN_TRANSACTIONS})
    counted_under: ClassVar[frozenset[Needs]] = frozenset({Needs.GROUP_READS})
    cut: ClassVar[Cut | None] = Cut.GROUP

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        found = (
            inputs(events)
            .group_by(*GROUP, "offset", "value")
            .agg(ops=pl.col("op_id").unique(), transactions=pl.col("txn").n_unique())
            .filter(pl.col("transactions") > 1)
        )
        message = pl.format(
            "{} at offset {} was consumed by {} committed transactions of group {}",
            "value", "offset", "transactions", "group",
        )  # fmt: skip
        return describe(found, KEY, "consumed-twice", ["ops"], message)

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(inputs(events))


def inputs(events: pl.LazyFrame) -> pl.LazyFrame:
    """What members were given in committed transactions."""
    return events.filter(COUNTED & (pl.col("txn_outcome") == COMMITTED).fill_null(False))
