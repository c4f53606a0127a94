"""A group keeps the first of the offsets that a transaction sends for a partition, not the last."""

from __future__ import annotations

from reference_impl.core.groups.offsets import CommittedOffset
from reference_impl.core.rules import Rules


class KeepFirstOfTransaction(Rules):
    """Real-world kin: buffers of pending writes that keep the entry which is there already.

    Breaks:     of the offsets that a transaction sends for a partition the last one must count, as
                it does without a transaction (KIP-98; OffsetMetadataManager.replay): otherwise its
                input is read again, although its output was committed.
    Caught by:  workload offsets-transactions, any nemesis or none, checker ends_honoured (the
                offsets that were sent last are not in force); and the conformance cases of
                transactions.
    Within:     one run of 20 seconds.
    """

    def newer_pending(
        self, pending: CommittedOffset | None, commit: CommittedOffset
    ) -> CommittedOffset:
        """Return the offset that was sent before, if there is one."""
        return pending or commit
