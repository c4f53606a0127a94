"""A fenced producer may add partitions to the transaction of its successor."""

from __future__ import annotations

from reference_impl.core.refused import Refused
from reference_impl.core.rules import Rules
from reference_impl.core.transactions.transaction import Transaction
from reference_impl.wire import ErrorCode


class AdmitFencedProducers(Rules):
    """Real-world kin: coordinators that compare producer ids and not epochs.

    Breaks:     after InitProducerId the older producer's requests must get PRODUCER_FENCED or
                INVALID_PRODUCER_EPOCH (KIP-98; KIP-588), also in partitions where its successor has
                not written yet.
    Caught by:  workload zombies, any nemesis or none, checkers fencing and ends_honoured (a late
                record joins); and the conformance cases of transactions.
    Within:     one run of 30 seconds.
    """

    def check_producer(self, transaction: Transaction, producer_id: int, epoch: int) -> None:
        """Check the producer id, and ignore the epoch."""
        try:
            super().check_producer(transaction, producer_id, epoch)
        except Refused as refused:
            if refused.code is not ErrorCode.PRODUCER_FENCED:
                raise
