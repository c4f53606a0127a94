"""A fenced producer may end its successor's transaction."""

from __future__ import annotations

from reference_impl.core.refused import Refused
from reference_impl.core.rules import Rules
from reference_impl.core.transactions.transaction import Transaction
from reference_impl.wire import ErrorCode


class EndOthersTransactions(Rules):
    """Real-world kin: KIP-890's first motive: an EndTxn that comes late ends a later transaction
    than the intended one.

    Breaks:     an EndTxn of an older epoch must be refused (KIP-98; KIP-588; KIP-890).
    Caught by:  workload zombies, any nemesis or none, checkers fencing and ends_honoured; and the
                conformance cases of transactions.
    Within:     one run of 30 seconds.
    """

    def check_ending(
        self, transaction: Transaction, producer_id: int, epoch: int, version: int
    ) -> None:
        """Ignore the epoch: let requests pass that would get PRODUCER_FENCED."""
        try:
            super().check_ending(transaction, producer_id, epoch, version)
        except Refused as refused:
            if refused.code is not ErrorCode.PRODUCER_FENCED:
                raise
