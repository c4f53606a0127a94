"""Make sure that a partition is part of the transaction in which a producer writes to it.

Source: ReplicaManager.scala (maybeSendPartitionsToTransactionCoordinator, handleProduceAppend),
AddPartitionsToTxnManager.scala, TransactionSupportedOperation; KIP-890. Without this check a batch
that comes late, after the end of its transaction, would begin one that nobody ends, and readers
would wait for ever (a hanging transaction). Older clients say beforehand which partitions take
part, and that is verified; newer ones just write, and the partition is added.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.refused import Refused
from reference_impl.core.transactions.transaction import EPOCH_PER_TRANSACTION
from reference_impl.wire import ErrorCode

_SINCE = {"Produce": (11, 12), "TxnOffsetCommit": (4, 5)}
"""First version of each that knows TRANSACTION_ABORTABLE, and first that adds implicitly."""


@dataclass(frozen=True, slots=True)
class Writer:
    """The writer in a transaction, and what its client understands."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    api: str
    api_version: int

    @property
    def knows_abortable(self) -> bool:
        """Whether the client aborts on TRANSACTION_ABORTABLE."""
        # [Modified in Produce v11: KIP-890]
        return self.api_version >= _SINCE[self.api][0]

    @property
    def adds_implicitly(self) -> bool:
        """Whether writing to a partition adds it to the transaction."""
        # [New in Produce v12: KIP-890]
        return self.api_version >= _SINCE[self.api][1]


def ensure_takes_part(broker: Broker, partition: Partition, writer: Writer) -> Iterator[Effect]:
    """Add the partition to the transaction, or verify that it was added. Raise Refused."""
    producers = partition.log.producer_state
    if producers.has_open_transaction(writer.producer_id, writer.producer_epoch):
        return
    key = (partition.topic, partition.index)
    name, producer_id, epoch = writer.transactional_id, writer.producer_id, writer.producer_epoch
    leader_epoch = partition.leader_epoch
    try:
        coordinator = broker.transactions.of(name)
        if writer.adds_implicitly:
            yield from coordinator.add_partitions(
                name, producer_id, epoch, frozenset([key]), EPOCH_PER_TRANSACTION
            )
        elif broker.config.flag("transaction.partition.verification.enable"):
            coordinator.check_partition(name, producer_id, epoch, key)
    except Refused as refused:
        code = told_to_writer(refused.code, writer)
        # Only this one is put into words (ReplicaManager.handleProduceAppend).
        why = "Partition was not added to the transaction"
        raise Refused(code, why if code is ErrorCode.INVALID_TXN_STATE else None) from None
    partition.check_still_leads(leader_epoch)  # the coordinator may have taken its time


def told_to_writer(code: ErrorCode, writer: Writer) -> ErrorCode:
    """Return the error for the writer's client that corresponds to the coordinator's."""
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and not writer.knows_abortable:
        return ErrorCode.INVALID_TXN_STATE
    return code
