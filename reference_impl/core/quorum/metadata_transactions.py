"""Transactions of the metadata log: records that all take effect together, or not at all (KIP-868).

Source: QuorumController.java, MetadataBatchLoader.java (replay of BeginTransactionRecord,
EndTransactionRecord, AbortTransactionRecord).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reference_impl.wire import Malformed, Struct


@dataclass(frozen=True, slots=True)
class Committed:
    """The records of one batch, or of a whole snapshot, as listeners receive them: once they are
    committed, so that no change of leaders can remove them."""

    records: Sequence[Struct]
    base_offset: int
    end_offset: int
    """The offset after the last of the batch."""
    epoch: int = 0
    """The epoch of the leader that wrote the batch."""
    timestamp_ms: int = -1
    size_bytes: int = 0
    is_snapshot: bool = False
    """Whether these records are all that the cluster has: what they do not name is gone."""


class MetadataTransactions:
    """Holds back the records of an open metadata transaction until it ends."""

    def __init__(self) -> None:
        self._held: list[Struct] | None = None

    @property
    def is_open(self) -> bool:
        """Return whether a transaction has begun and has not ended."""
        return self._held is not None

    def take(self, batch: Committed) -> Committed:
        """Return the batch with only the records that take effect now: hold back those of an open
        transaction, and add all that were held if the transaction is committed here. A snapshot
        passes unchanged and drops what was held. Raise Malformed if transactions overlap, or if one
        ends that was not begun."""
        if batch.is_snapshot:
            self._held = None  # no snapshot ends within a transaction
            return batch
        records: list[Struct] = []
        for record in batch.records:
            name = type(record).__name__
            if name in BOUNDS:
                records += self._cross(name)
            elif self._held is None:
                records.append(record)
            else:
                self._held.append(record)
        return replace(batch, records=records)

    def _cross(self, bound: str) -> list[Struct]:
        """Begin or end a transaction at this record. Return the held records that take effect now:
        all of them at a commit, else none. Raise Malformed if there is none to end, or one is open
        already."""
        held = self._held
        if (held is None) != (bound == _BEGIN):
            state = "no transaction is open" if held is None else "a transaction is already open"
            raise Malformed(f"{state} at this record", message=bound)
        self._held = [] if bound == _BEGIN else None
        return held if held is not None and bound == _END else []


_BEGIN, _END = "BeginTransactionRecord", "EndTransactionRecord"
BOUNDS = (_BEGIN, _END, "AbortTransactionRecord")
