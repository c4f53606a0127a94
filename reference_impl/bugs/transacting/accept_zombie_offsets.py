"""The partition of a group accepts offsets that a fenced producer commits."""

from __future__ import annotations

from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules
from reference_impl.core.transactions.transaction import Transaction


class AcceptZombieOffsets(Rules):
    """Real-world kin: fencing that is done where records are written, and nowhere else.

    Breaks:     a fenced producer must not commit offsets (KIP-98; TxnOffsetCommit).
    Caught by:  workload offsets-transactions, any nemesis or none, checkers fencing, ends_honoured
                and committed_offsets; and the conformance cases of TxnOffsetCommit.
    Within:     one run of 30 seconds.
    """

    def check_offset_writer(self, partition: Partition, producer_id: int, epoch: int) -> None:
        """Check nothing, so that older epochs of the producer may commit."""

    def check_producer(self, transaction: Transaction, producer_id: int, epoch: int) -> None:
        """Accept every epoch here, too: this check comes before the other one and would refuse the
        same producer."""
