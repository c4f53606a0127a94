"""Rows of the history about transactions that no operation's own rows contain: InitProducerId and
the offsets of a transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chaos.values.protocols import ClientSettings, Outcome
from linearizability.history import F

Row = Mapping[str, Any]


def init_producer_row(
    now_ns: int, settings: ClientSettings, producer_id: int | None = None, epoch: int | None = None
) -> Row:
    """Return the row of an InitProducerId that was answered. producer_id, epoch: None if the client
    library hides them. now_ns: a time of the monotonic clock, in nanoseconds, by which previous
    producers are fenced."""
    timeout = {"transaction.timeout.ms": str(settings.transaction_timeout_ms)}
    told = json.dumps(timeout) if settings.transactional else None
    return {
        "f": F.INIT_PRODUCER.value,
        "transactional_id": settings.transactional_id,
        "txn": None,
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "settings": told,
        "t_complete_ns": now_ns,
    }


def answered(
    now_ns: int, rows: Iterable[Row], outcome: Outcome, error: str | None = None
) -> Sequence[Mapping[str, Any]]:
    """Return these rows of offsets with the outcome of TxnOffsetCommit. If that is OK, also set
    their completion time to `now_ns`."""
    now = {"t_complete_ns": now_ns} if outcome is Outcome.OK else {}
    return [{**row, "type": outcome.value, "error": error, **now} for row in rows]
