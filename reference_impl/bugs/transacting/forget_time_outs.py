"""A transaction that was open at a restart never times out."""

from __future__ import annotations

from dataclasses import replace

from reference_impl.core.rules import Rules
from reference_impl.core.transactions.transaction import Transaction
from reference_impl.wire import Struct

FAR_AWAY_MS = 1 << 53


class ForgetTimeOuts(Rules):
    """Real-world kin: coordinators that take the start of a transaction from memory.

    Breaks:     a transaction must be aborted when transaction.timeout.ms is over, even if its
                coordinator has changed or restarted (KIP-98).
    Caught by:  workload transactions, nemesis kill, checker hanging_transactions: a transaction
                that never ends blocks readers for ever.
    Within:     one run of 20 seconds.
    """

    def loaded(self, transactional_id: str, value: Struct) -> Transaction:
        """Return the loaded transaction with a start in the far future."""
        return replace(super().loaded(transactional_id, value), start_ms=FAR_AWAY_MS)
