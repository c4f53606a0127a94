"""A fenced producer that asks for a new epoch gets one, and thereby fences its successor."""

from __future__ import annotations

from reference_impl.core.rules import Rules
from reference_impl.core.transactions.transaction import Transaction


class ReadmitFencedProducers(Rules):
    """Real-world kin: a recovery of producers (KIP-360) that does not check whether a successor has
    begun.

    Breaks:     InitProducerId with an older epoch must be refused: PRODUCER_FENCED (KIP-360;
                KIP-588).
    Caught by:  workload zombies, any nemesis or none, checker fencing; and the conformance cases of
                transactions. A client library gives up once it is fenced.
    Within:     one run of 30 seconds.
    """

    def check_returning_epoch(
        self, transaction: Transaction, expected: tuple[int, int] | None
    ) -> None:
        """Check nothing, so that older epochs are served; the id was checked before."""
