"""Writing the markers which end a transaction in its partitions: COMMIT or ABORT (KIP-98).

Source: UnifiedLog.java (append as coordinator), ProducerAppendInfo.java (appendEndTxnMarker),
KafkaApis.java (handleWriteTxnMarkersRequest).
"""

from __future__ import annotations

from collections.abc import Generator

from reference_impl.core.controller.image.metadata_image import MetadataImage
from reference_impl.core.effects import Effect, Report
from reference_impl.core.groups import group_log
from reference_impl.core.groups.service import GroupCoordinators
from reference_impl.core.moment import Moment
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.partitions.replicas import Replicas
from reference_impl.core.refused import Refused
from reference_impl.core.rules import Rules
from reference_impl.core.transactions.asking_leaders import FENCED
from reference_impl.core.transactions.transaction import Marker
from reference_impl.wire import ControlRecordType, end_txn_marker, read_header


class MarkerWriter:
    """Writes the markers that end transactions into the partitions of this broker."""

    def __init__(
        self,
        rules: Rules,
        moment: Moment,
        replicas: Replicas,
        groups: GroupCoordinators,
        image: MetadataImage,
    ) -> None:
        self._rules, self._moment, self._image = rules, moment, image
        self._replicas, self._groups = replicas, groups

    def leader(self, topic: str, index: int) -> int | None:
        """Return the node that leads a partition, -1 if none does, or None if the topic is
        deleted and needs no marker."""
        known = self._image.topics.get(topic)
        state = None if known is None else known.partitions.get(index)
        return None if state is None else state.leader

    def partition(self, topic: str, index: int) -> Partition | None:
        """Return a partition of this broker that takes part, or None if the broker has it no
        longer, as its topic is deleted and needs no marker. Raise Refused if its files cannot be
        used: the marker must be written later, since without it readers would wait for ever."""
        partition = self._replicas.get(topic, index)
        if partition is None:
            self._replicas.check_online(topic, index)
        return partition

    def mark(self, topic: str, index: int, marker: Marker) -> Generator[Effect, None, int]:
        """Write one marker, and return the offset that its replicas must reach: 0 if there is
        nothing to mark, because the partition is deleted or a newer epoch has written there. Raise
        what `partition` and `write` raise."""
        partition = self.partition(topic, index)
        if partition is None:
            return 0
        try:
            self.write(partition, marker)
        except Refused as refused:
            if refused.code not in FENCED:
                raise  # for example while groups are being loaded: try again later
            # A newer epoch has written there, after an administrator ended the transaction: there
            # is nothing left to mark (TransactionMarkerRequestCompletionHandler.scala).
            yield Report(f"{topic}-{index} needs no marker any more: {refused}")
            return 0
        return partition.log.log_end_offset

    def write(self, partition: Partition, marker: Marker) -> None:
        """End the producer's transaction in one partition; in a partition of `__consumer_offsets`,
        also apply or drop the offsets that were committed in it. Raise Refused if the marker is not
        acceptable there now, or if the group coordinator of that partition is not here or still
        loading; StorageError if the append fails."""
        groups = None if partition.topic != group_log.TOPIC else self._groups.at(partition.index)
        self._rules.check_marker(partition, marker)
        now_ms = self._moment.now_ms
        kind = ControlRecordType.COMMIT if marker.committed else ControlRecordType.ABORT
        batch = end_txn_marker(
            kind,
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            coordinator_epoch=marker.coordinator_epoch,
            timestamp_ms=now_ms,
        )
        data = bytearray(batch.encode())
        partition.append(data, read_header(data), now_ms)
        if groups is not None:
            # Apply or drop the offsets that were committed in the transaction.
            groups.transaction_ended(marker.producer_id, marker.committed)
