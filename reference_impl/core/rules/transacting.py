"""What a transaction coordinator, and a leader that gets its markers, decide."""

from __future__ import annotations

from reference_impl.core.parking import PartitionKey
from reference_impl.core.partition import Partition
from reference_impl.core.refused import Refused
from reference_impl.core.transactions.markers import Marker
from reference_impl.core.transactions.states import State
from reference_impl.core.transactions.transaction import (
    EPOCH_LAST,
    EPOCH_PER_TRANSACTION,
    NO_EPOCH,
    Transaction,
)
from reference_impl.wire import ErrorCode


class Transacting:
    """Who is fenced, what takes part in a transaction, and how it ends."""

    def check_producer(self, transaction: Transaction, producer_id: int, epoch: int) -> None:
        """Only the newest producer of a transactional id may act in its name (KIP-98; KIP-588)."""
        if transaction.producer_id != producer_id:
            raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if transaction.producer_epoch != epoch:
            raise Refused(ErrorCode.PRODUCER_FENCED)

    def check_returning_id(
        self, transaction: Transaction, expected: tuple[int, int] | None
    ) -> None:
        """A producer that goes on after an error must still be the one of this id (KIP-360).

        Source: TransactionCoordinator.scala, prepareInitProducerIdTransit (isValidProducerId).
        """
        if expected is None or transaction.producer_epoch == NO_EPOCH:
            return
        producer_id, epoch = expected
        is_retry_of_rotation = (
            producer_id == transaction.previous_producer_id and epoch >= EPOCH_LAST
        )
        if producer_id != transaction.producer_id and not is_retry_of_rotation:
            raise Refused(ErrorCode.PRODUCER_FENCED)

    def check_returning_epoch(
        self, transaction: Transaction, expected: tuple[int, int] | None
    ) -> None:
        """... with the current epoch, or the one before, in a retry (KIP-360).

        Source: TransactionMetadata.java, prepareIncrementProducerEpoch.
        """
        current = transaction.producer_epoch
        if expected is None or current == NO_EPOCH:
            return
        if expected[1] not in (current, transaction.last_epoch):
            raise Refused(ErrorCode.PRODUCER_FENCED)

    def check_takes_part(self, transaction: Transaction, partition: PartitionKey) -> None:
        """Nothing is written outside of an open transaction, where no marker would end it
        (KIP-890, part 1)."""
        if transaction.state is not State.ONGOING or partition not in transaction.partitions:
            raise Refused(ErrorCode.TRANSACTION_ABORTABLE)

    def check_marker(self, partition: Partition, marker: Marker) -> None:
        """A marker ends the producer's newest transaction, and comes from the newest coordinator.

        Source: ProducerAppendInfo.java (checkProducerEpoch, checkCoordinatorEpoch); KIP-98,
        KIP-890 (a marker has an epoch of its own, unless it is a repeated one).
        """
        entry = partition.log.producer_state.entry(marker.producer_id)
        if entry is None:
            return
        is_old = marker.producer_epoch < entry.producer_epoch
        if marker.transaction_version >= EPOCH_PER_TRANSACTION:
            is_open = entry.current_txn_first_offset is not None
            is_old = is_old or (is_open and marker.producer_epoch == entry.producer_epoch)
        if is_old:
            raise Refused(ErrorCode.INVALID_PRODUCER_EPOCH)
        if marker.coordinator_epoch < entry.coordinator_epoch:
            raise Refused(ErrorCode.TRANSACTION_COORDINATOR_FENCED)

    def check_offset_writer(self, partition: Partition, producer_id: int, epoch: int) -> None:
        """A fenced producer commits no offsets (KIP-98; ProducerAppendInfo.checkProducerEpoch)."""
        entry = partition.log.producer_state.entry(producer_id)
        if entry is not None and epoch < entry.producer_epoch:
            raise Refused(ErrorCode.INVALID_PRODUCER_EPOCH)

    def completes_decided_transactions(self) -> bool:
        """What was decided before a crash is carried out after it (KIP-98)."""
        return True

    def has_timed_out(self, transaction: Transaction, now_ms: int) -> bool:
        """A transaction that takes too long is aborted (KIP-98; transaction.timeout.ms)."""
        return (
            transaction.state is State.ONGOING
            and transaction.start_ms + transaction.timeout_ms < now_ms
        )
