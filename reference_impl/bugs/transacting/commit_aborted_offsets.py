"""The offsets of an aborted transaction take effect."""

from __future__ import annotations

from reference_impl.core.groups.offsets import CommittedOffset
from reference_impl.core.rules import Rules


class CommitAbortedOffsets(Rules):
    """Real-world kin: redpanda#6018: the half of a transaction that is kept in the group survives
    the other one.

    Breaks:     offsets that were sent in a transaction must count if it is committed, and only then
                (KIP-98): otherwise its input is skipped, although its output does not exist.
    Caught by:  workload offsets-transactions, any nemesis or none, checkers ends_honoured and
                committed_offsets; and the conformance cases of transactions.
    Within:     one run of 30 seconds.
    """

    def offset_in_force(
        self, known: CommittedOffset | None, pending: CommittedOffset, *, committed: bool
    ) -> CommittedOffset | None:
        """Return the pending offset even if the transaction was aborted, so never None."""
        return super().offset_in_force(known, pending, committed=True)
