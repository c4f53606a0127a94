"""A transactional id whose last transaction has ended gets another producer id."""

from __future__ import annotations

from reference_impl.core.rules import Rules
from reference_impl.core.transactions.states import State
from reference_impl.core.transactions.transaction import Transaction


class ForgetEndedProducers(Rules):
    """Real-world kin: coordinators that let a transactional id expire too soon, as if it had not
    been used for transactional.id.expiration.ms.

    Breaks:     InitProducerId must fence the former producer by a newer epoch of its id (KIP-98).
    Caught by:  workload zombies, any nemesis or none, checker fencing.
    Within:     one run of 20 seconds.
    """

    def needs_new_id(self, transaction: Transaction) -> bool:
        """Return True also for an id without a transaction in progress."""
        is_over = transaction.state in (State.COMPLETE_COMMIT, State.COMPLETE_ABORT)
        return is_over or super().needs_new_id(transaction)
