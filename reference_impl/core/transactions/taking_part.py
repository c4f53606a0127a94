"""Make sure that a partition is part of the transaction in which a producer writes to it.

Source: ReplicaManager.scala (maybeSendPartitionsToTransactionCoordinator, handleProduceAppend),
AddPartitionsToTxnManager.scala, TransactionSupportedOperation; KIP-890. Without this check a batch
that arrives after the end of its transaction would begin a new one that no marker ends, and readers
would wait for ever (a hanging transaction). Older clients add partitions by AddPartitionsToTxn
first, which is verified here; newer ones just write, and the partition is added here.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, cast

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.partitions.purgatory import PartitionKey
from reference_impl.core.refused import Refused
from reference_impl.core.transactions.transaction import EPOCH_PER_TRANSACTION
from reference_impl.core.waiting.waits import Answer
from reference_impl.links.effects import Lane
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

REQUEST = request_definition(ApiKey.ADD_PARTITIONS_TO_TXN)
_UNANSWERED = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.BROKER_NOT_AVAILABLE,
)
"""The errors that mean that the coordinator could not be reached: the client may try again."""
_SINCE = {"Produce": (11, 12), "TxnOffsetCommit": (4, 5)}
"""API -> the first version whose clients know TRANSACTION_ABORTABLE, and the first that adds
partitions implicitly."""


@dataclass(frozen=True, slots=True)
class Writer:
    """The producer that writes in a transaction, and the abilities of its client."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    api: str
    api_version: int

    @property
    def knows_abortable(self) -> bool:
        """Return whether the client understands the error TRANSACTION_ABORTABLE, on which it
        aborts."""
        # [Modified in Produce v11: KIP-890]
        return self.api_version >= _SINCE[self.api][0]

    @property
    def adds_implicitly(self) -> bool:
        """Return whether writing to a partition adds it to the transaction."""
        # [New in Produce v12: KIP-890]
        return self.api_version >= _SINCE[self.api][1]


def ensure_takes_part(broker: Broker, partition: Partition, writer: Writer) -> Iterator[Effect]:
    """Add the partition to the transaction (newer clients), or verify that it was added (older
    ones, if transaction.partition.verification.enable). Return at once if the producer's
    transaction is open in the partition. Raise Refused with the error for the client, or if the
    transaction ended or the partition changed its leader meanwhile."""
    producers = partition.log.producer_state
    if producers.has_open_transaction(writer.producer_id, writer.producer_epoch):
        return
    key = (partition.topic, partition.index)
    name, producer_id, epoch = writer.transactional_id, writer.producer_id, writer.producer_epoch
    leader_epoch, ended_before = partition.leader_epoch, producers.last_marker(producer_id)
    try:
        leader = broker.transactions.topic.leader_of(name)
        if leader != broker.node_id:
            yield from ask_coordinator(broker, leader, key, writer)
        elif writer.adds_implicitly:
            yield from broker.transactions.of(name).add_partitions(
                name, producer_id, epoch, frozenset([key]), EPOCH_PER_TRANSACTION
            )
        elif broker.config.flag("transaction.partition.verification.enable"):
            broker.transactions.of(name).check_partition(name, producer_id, epoch, key)
        broker.rules.check_not_ended(ended_before, producers.last_marker(producer_id))
    except Refused as refused:
        code = told_to_writer(refused.code, writer)
        # Only this error has a message of its own (ReplicaManager.handleProduceAppend).
        why = "Partition was not added to the transaction"
        raise Refused(code, why if code is ErrorCode.INVALID_TXN_STATE else None) from None
    partition.check_still_leads(leader_epoch)  # the coordinator's answer may have taken long


def ask_coordinator(
    broker: Broker, node: int, key: PartitionKey, writer: Writer
) -> Generator[Effect, Any, None]:
    """Let the coordinator on another node add or verify the partition; ask nothing if there is
    nothing to verify. Raise Refused with the error in its answer, or if none comes."""
    if not (
        writer.adds_implicitly or broker.config.flag("transaction.partition.verification.enable")
    ):
        return
    row = REQUEST.struct(
        "AddPartitionsToTxnTransaction",
        transactional_id=writer.transactional_id,
        producer_id=writer.producer_id,
        producer_epoch=writer.producer_epoch,
        verify_only=not writer.adds_implicitly,
        topics=[REQUEST.struct("AddPartitionsToTxnTopic", name=key[0], partitions=[key[1]])],
    )
    body = REQUEST.new(transactions=[row])
    timeout_ms = broker.config.number("request.timeout.ms")
    asked = Answer(node, ApiKey.ADD_PARTITIONS_TO_TXN, body, timeout_ms, Lane.COORDINATOR)
    answer = cast("Struct", (yield asked))
    codes = [
        ErrorCode(each.partition_error_code)
        for result in answer.results_by_transaction
        for topic in result.topic_results
        for each in topic.results_by_partition
    ]
    code = codes[0] if codes else ErrorCode(answer.error_code)
    if code is not ErrorCode.NONE or not codes:
        raise Refused(code)


def told_to_writer(code: ErrorCode, writer: Writer) -> ErrorCode:
    """Return the error to send to the writer's client for this error of the coordinator: one that
    its version understands, and that tells it to try again if the coordinator could not be
    reached."""
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code in _UNANSWERED:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code is ErrorCode.TRANSACTION_ABORTABLE and not writer.knows_abortable:
        return ErrorCode.INVALID_TXN_STATE
    return code
