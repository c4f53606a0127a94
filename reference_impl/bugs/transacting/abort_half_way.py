"""A transaction is aborted at half of its time-out."""

from __future__ import annotations

from reference_impl.core.rules import Rules
from reference_impl.core.transactions.states import State
from reference_impl.core.transactions.transaction import Transaction


class AbortHalfWay(Rules):
    """Real-world kin: coordinators that add the interval of their check to the age.

    Breaks:     a coordinator may abort a transaction by itself only after transaction.timeout.ms
                (KIP-98).
    Caught by:  workload transactions, any nemesis or none, checker fencing (fenced-early).
    Within:     one run of 30 seconds.
    """

    def has_timed_out(self, transaction: Transaction, now_ms: int) -> bool:
        """Return whether an open transaction is older than half of its time-out."""
        age_ms = now_ms - transaction.start_ms
        return transaction.state is State.ONGOING and age_ms > transaction.timeout_ms // 2
