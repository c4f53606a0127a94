"""Writing the markers which end a transaction in its partitions: COMMIT or ABORT (KIP-98).

Source: UnifiedLog.java (append as coordinator), ProducerAppendInfo.java (appendEndTxnMarker),
KafkaApis.java (handleWriteTxnMarkersRequest).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reference_impl.core.groups import group_log
from reference_impl.core.partitions.partition import Partition
from reference_impl.wire import ControlRecordType, end_txn_marker, read_header

if TYPE_CHECKING:
    from reference_impl.core.broker import Broker


@dataclass(frozen=True, slots=True)
class Marker:
    """The marker that is written to each partition of a transaction."""

    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int
    transaction_version: int


def write_marker(broker: Broker, partition: Partition, marker: Marker) -> None:
    """End the producer's transaction in one partition, or raise Refused or StorageError."""
    broker.rules.check_marker(partition, marker)
    kind = ControlRecordType.COMMIT if marker.committed else ControlRecordType.ABORT
    batch = end_txn_marker(
        kind,
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        coordinator_epoch=marker.coordinator_epoch,
        timestamp_ms=broker.now_ms,
    )
    data = bytearray(batch.encode())
    partition.log.append(data, read_header(data), partition.leader_epoch, broker.now_ms)
    partition.advance_high_watermark()
    if partition.topic == group_log.TOPIC:
        # Offsets that were committed in the transaction count from now on, or never.
        broker.groups.transaction_ended(partition.index, marker.producer_id, marker.committed)
    broker.purgatory.note_change(partition.topic, partition.index)
