"""InitProducerId accepts a producer id that belongs to another transactional id."""

from __future__ import annotations

from reference_impl.core.rules import Rules
from reference_impl.core.transactions.transaction import Transaction


class ReadmitForeignProducers(Rules):
    """Real-world kin: a recovery of producers (KIP-360) that compares epochs across ids.

    Breaks:     InitProducerId with a producer id that the transactional id does not have any more
                must be refused: PRODUCER_FENCED (KIP-360).
    Caught by:  workload zombies, any nemesis or none, checker fencing; and the conformance cases of
                InitProducerId.
    Within:     one run of 20 seconds.
    """

    def check_returning_id(
        self, transaction: Transaction, expected: tuple[int, int] | None
    ) -> None:
        """Check nothing, so that other producer ids are served; the epoch is checked elsewhere."""
