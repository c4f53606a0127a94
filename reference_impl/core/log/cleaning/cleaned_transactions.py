"""The state of transactions that the cleaner keeps while it reads a log from its start.

Source: CleanedTransactionMetadata.java, AbortedTransactionMetadata.java. Records of aborted
transactions are removed at once. A marker is removed last: when no batch of its transaction is
left, and only after the delete horizon, so that no reader that has seen the records misses their
end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reference_impl.core.log.segments.transaction_index import AbortedTransaction
from reference_impl.wire import Malformed
from reference_impl.wire.batches.control_records import ControlRecordType, control_type
from reference_impl.wire.batches.records import BatchHeader, RecordBatch


@dataclass
class _Open:
    aborted: AbortedTransaction
    has_batches: bool = False


class CleanedTransactions:
    """The transactions that the cleaner has met so far. It is given every batch in order, and says
    which records and markers may be removed."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._coming = sorted(aborted, key=lambda each: each.first_offset, reverse=True)
        self._aborted: dict[int, _Open] = {}
        self._committed: set[int] = set()
        self.still_there: list[AbortedTransaction] = []
        """The aborted transactions that still have records in the log. Their markers stay, and so
        do their entries in the transaction index of the segment that holds the marker."""

    def _begin(self, last_offset: int) -> None:
        while self._coming and self._coming[-1].first_offset <= last_offset:
            entry = self._coming.pop()
            self._aborted.setdefault(entry.producer_id, _Open(entry))

    def is_aborted(self, header: BatchHeader) -> bool:
        """Return whether a batch of data belongs to an aborted transaction. Note that its
        transaction has records. Call it for each batch in the order of the log."""
        self._begin(header.last_offset)
        if not header.is_transactional:
            return False
        found = self._aborted.get(header.producer_id)
        if found is None:
            self._committed.add(header.producer_id)
            return False
        found.has_batches = True
        return True

    def is_useless_marker(self, header: BatchHeader, batch: RecordBatch) -> bool:
        """Return whether the log holds no other batch of the transaction that this marker ends, and
        forget that transaction. A marker that was emptied before is useless, a malformed one is
        not. Call it once for each marker in the order of the log."""
        self._begin(header.last_offset)
        if not batch.records:
            return True  # cleaned before
        try:
            kind = control_type(batch.records[0])
        except Malformed:
            return False
        if kind is ControlRecordType.ABORT:
            found = self._aborted.pop(header.producer_id, None)
            if found is None or not found.has_batches:
                return True
            self.still_there.append(found.aborted)
            return False
        if kind is ControlRecordType.COMMIT:
            had_batches = header.producer_id in self._committed
            self._committed.discard(header.producer_id)
            return not had_batches
        return False
