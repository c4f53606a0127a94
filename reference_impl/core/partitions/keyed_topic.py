"""The internal topic of a kind of coordinator: all records of a key are in one partition, and the
newest record of a key is valid.

Source: GroupCoordinatorService.java and TransactionStateManager.java (partitionFor);
CoordinatorPartitionWriter.java.
"""

from __future__ import annotations

from functools import lru_cache

from reference_impl.core.controller.image.metadata_image import MetadataImage
from reference_impl.core.moment import Moment
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.partitions.replicas import Replicas
from reference_impl.core.refused import Refused
from reference_impl.core.storage import StorageError
from reference_impl.wire import BatchHeader, ErrorCode


class KeyedTopic:
    """The internal topic of one kind of coordinator, of groups or of transactions: finds the
    partition of a key, and appends to it."""

    def __init__(self, name: str, image: MetadataImage, replicas: Replicas, moment: Moment) -> None:
        self.name, self._image, self._replicas, self._moment = name, image, replicas, moment
        self.uncommitted: dict[Partition, int] = {}
        """Partition -> leader epoch, for the partitions in which the current handler has read or
        written records that are not committed yet. Each handler has its own dictionary
        (core/waiting/held.py)."""

    @property
    def now_ms(self) -> int:
        """Return the wall clock of the current event, in milliseconds."""
        return self._moment.now_ms

    def index_of(self, key: str) -> int:
        """Return the index of the partition that keeps a key. Raise Refused(NOT_COORDINATOR) while
        the topic does not exist."""
        topic = self._image.topics.get(self.name)
        if topic is None:
            raise Refused(ErrorCode.NOT_COORDINATOR)
        return partition_for(key, len(topic.partitions))

    def leader_of(self, key: str) -> int:
        """Return the node that leads the partition of a key, -1 if none does. Raise
        Refused(NOT_COORDINATOR) while the topic does not exist."""
        index = self.index_of(key)
        return self._image.topics[self.name].partitions[index].leader

    def held(self, index: int) -> Partition | None:
        """Return a partition that this broker holds, as leader or follower, and open it if need be.
        Return None if there is none, or its files cannot be used."""
        return self._replicas.get(self.name, index)

    def note_read(self, partition: Partition) -> None:
        """Note that the current handler's answer depends on records of this partition that are not
        committed yet, if there are any: they must be replicated before the answer is sent."""
        if partition.log.high_watermark < partition.log.log_end_offset:
            self.uncommitted[partition] = partition.leader_epoch

    def append(self, partition: Partition, data: bytearray, header: BatchHeader) -> int:
        """Append an encoded batch, note that the answer depends on it, and return its base offset.
        Raise Refused(NOT_COORDINATOR) if the append fails."""
        try:
            appended = partition.append(data, header, self.now_ms)
        except StorageError as error:
            raise Refused(ErrorCode.NOT_COORDINATOR, str(error)) from None
        self.note_read(partition)
        return appended.base_offset


def java_hash(text: str) -> int:
    """Return what Java's String.hashCode returns: a signed 32-bit number, computed over UTF-16
    units."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


@lru_cache(10_000)
def partition_for(key: str, partitions: int) -> int:
    """Return the partition that keeps a key: Utils.abs(hash) % n, where the smallest integer counts
    as 0."""
    value = java_hash(key)
    return (0 if value == -(1 << 31) else abs(value)) % partitions
