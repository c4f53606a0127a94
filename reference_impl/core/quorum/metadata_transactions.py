"""Transactions of the metadata log: records that count together, or never (KIP-868).

Source: QuorumController.java, MetadataBatchLoader.java (replay of BeginTransactionRecord,
EndTransactionRecord, AbortTransactionRecord).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reference_impl.wire import Malformed, Struct


@dataclass(frozen=True, slots=True)
class Committed:
    """Records that no change of leaders can take back, of one batch."""

    records: Sequence[Struct]
    base_offset: int
    end_offset: int
    """The offset after the last of the batch."""


class MetadataTransactions:
    """Holds the records of the open transaction back."""

    def __init__(self) -> None:
        self._held: list[Struct] | None = None

    @property
    def is_open(self) -> bool:
        """Return whether a transaction has begun and has not ended."""
        return self._held is not None

    def take(self, batch: Committed) -> Committed:
        """Return the batch's records that count now: hold those of an open transaction back, and
        add those of one that ends here. Raise Malformed where transactions overlap."""
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
        """Begin or end a transaction, and return the records that count from here on."""
        held = self._held
        if (held is None) != (bound == _BEGIN):
            state = "no transaction is open" if held is None else "a transaction is already open"
            raise Malformed(f"{state} at this record", message=bound)
        self._held = [] if bound == _BEGIN else None
        return held if held is not None and bound == _END else []


_BEGIN, _END = "BeginTransactionRecord", "EndTransactionRecord"
BOUNDS = (_BEGIN, _END, "AbortTransactionRecord")
