"""Store the state of transactions in `__transaction_state`, in Kafka's own records.

Source: TransactionLog.java, TransactionStateManager.java (partitionFor, appendTransactionToLog);
record definitions TransactionLogKey and TransactionLogValue. One log partition holds everything of
a transactional id; its newest record counts, and a null value ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

from reference_impl.core.partitions.keyed_topic import KeyedTopic
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.transactions.states import STATE_IDS, State
from reference_impl.core.transactions.transaction import Transaction
from reference_impl.wire import (
    Record,
    RecordBatch,
    Struct,
    decode_record,
    definition,
    encode_record,
    read_header,
)

TOPIC = "__transaction_state"
MODULE = "transaction-coordinator"
VALUE_VERSION = 1
"""The version of the record value, which allows tagged fields since transaction.version 1
(TransactionVersion.java)."""
_STATUS = {state: number for number, state in STATE_IDS.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Saving:
    """A state of a transactional id (None: its removal) that is written to the log but not
    replicated yet: it is once the high watermark reaches end_offset."""

    name: str
    transaction: Transaction | None
    partition: Partition
    leader_epoch: int
    end_offset: int


class TransactionLog:
    """The log of one shard of `__transaction_state`: it appends states, and reads them from
    batches."""

    def __init__(self, topic: KeyedTopic, partition: Callable[[], Partition]) -> None:
        """Create a log. partition: returns the partition, or raises Refused when it is not led any
        more."""
        self._topic, self._partition = topic, partition

    def append(self, transactional_id: str, transaction: Transaction | None) -> Partition:
        """Write the state of a transactional id (None: a tombstone), which need not be replicated
        when this returns, and return the partition. Raise Refused if the append fails, or if this
        broker no longer leads the partition."""
        partition = self._partition()
        key = definition("TransactionLogKey").new(transactional_id=transactional_id)
        value = None if transaction is None else value_of(transaction)
        key_bytes, value_bytes = encode_record(key, value, VALUE_VERSION)
        batch = RecordBatch([Record(value_bytes, key_bytes)], base_timestamp=self._topic.now_ms)
        data = bytearray(batch.encode())
        self._topic.append(partition, data, read_header(data))
        return partition


def values_in(batch: RecordBatch) -> Iterator[tuple[str, Struct | None]]:
    """Yield the transactional id and the value (None: deleted) of every record that has a key.
    Yield nothing for a control batch. Raise Malformed for a record that cannot be decoded."""
    for record in batch.records:
        if record.key is not None and not batch.is_control:
            key, value = decode_record(record.key, record.value, MODULE)
            yield key.transactional_id, value


def value_of(transaction: Transaction) -> Struct:
    """Return the record value that stores a transaction (TransactionLog.valueToBytes). It has no
    `last_epoch`."""
    of = definition("TransactionLogValue")
    rows = [
        of.struct("PartitionsSchema", topic=topic, partition_ids=[index for _, index in keys])
        for topic, keys in groupby(sorted(transaction.partitions), key=lambda key: key[0])
    ]
    return of.new(
        producer_id=transaction.producer_id,
        previous_producer_id=transaction.previous_producer_id,
        next_producer_id=transaction.next_producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=_STATUS[transaction.state],
        # An id without a transaction has no list at all.
        transaction_partitions=None if transaction.state is State.EMPTY else rows,
        transaction_last_update_timestamp_ms=transaction.last_update_ms,
        transaction_start_timestamp_ms=transaction.start_ms,
        client_transaction_version=transaction.client_version,
    )


def transaction_from(transactional_id: str, value: Struct) -> Transaction:
    """Return the transaction that a record value describes. Its `last_epoch` is NO_EPOCH, since the
    log does not hold that."""
    return Transaction(
        transactional_id,
        value.producer_id,
        value.producer_epoch,
        value.transaction_timeout_ms,
        value.transaction_last_update_timestamp_ms,
        state=STATE_IDS[value.transaction_status],
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        partitions=frozenset(
            (row.topic, index)
            for row in value.transaction_partitions or ()
            for index in row.partition_ids
        ),
        start_ms=value.transaction_start_timestamp_ms,
        client_version=value.client_transaction_version,
    )
