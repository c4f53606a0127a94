"""A record sent after another was acknowledged gets a higher offset."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, describe
from linearizability.ingest import KEY
from linearizability.porcupy import append_order as kernel


class AppendOrder(Checker):
    """Record A was acknowledged before the send of B was invoked, both with acks=all, but B has the
    lower offset; or two records were acknowledged with the same offset; or a record was read before
    it was sent.

    Linearizability of the partition as an append-only log; the kernel is porcupy's fast checker,
    and porcupine itself confirms and draws the failing window (`confirm.confirm_with_porcupine`).
    Jepsen allows this (its G0-realtime). Counted: appends whose place is known.
    """

    name: ClassVar[str] = "append_order"
    title: ClassVar[str] = "a record sent after another was acknowledged gets a higher offset"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.ACKED_SENDS})
    whole: ClassVar[str] = "the latest invocation below each offset"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        found = kernel.append_order_anomalies(events)
        return describe(found, KEY, pl.col("kind"), ["op_ids"], pl.col("message"), "broker")

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return kernel.checked(events).select(checked=pl.first().cast(pl.Int64))
