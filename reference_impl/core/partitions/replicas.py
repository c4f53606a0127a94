"""The partitions that this broker has replicas of. It opens, creates and deletes them as the
metadata says.

Source: ReplicaManager.java, LogManager.java (KIP-112). A partition whose files cannot be opened is
offline: every request for it gets KAFKA_STORAGE_ERROR, and the others are served. A partition whose
disk fails later stays in the table, and answers each append with the error. Making or removing the
files of thousands of partitions takes long: a request does it one by one, and gives way to others
in between. If its client disconnects, a missing partition is made when a request needs it, and
housekeeping removes the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from uuid import UUID

from reference_impl.core.controller.image.metadata_image import (
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from reference_impl.core.log.directories.log_directory import LogDirectory
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.partitions.partition import Holder, Partition
from reference_impl.core.partitions.purgatory import PartitionKey
from reference_impl.core.refused import Refused
from reference_impl.core.storage import StorageError
from reference_impl.wire import ErrorCode


class Replicas:
    """The partitions of this broker by (topic, index): the open ones, those still to be opened, and
    those whose files are still to be removed."""

    def __init__(
        self,
        directory: LogDirectory,
        topic_defaults: dict[str, str],
        now_ms: Callable[[], int],
        holder: Holder,
    ) -> None:
        self.directory = directory
        self._holder = holder
        self.topic_defaults = topic_defaults
        self._now_ms = now_ms
        self._by_name: dict[PartitionKey, Partition] = {}
        self._unopened: dict[PartitionKey, TopicImage] = {}
        self._leaving: dict[PartitionKey, None] = {}
        """The partitions that were deleted, or given up, and whose files have not been removed
        yet."""

    def __iter__(self) -> Iterator[Partition]:
        return iter(list(self._by_name.values()))

    def heard_of(self, broker_id: int) -> list[Partition]:
        """Note that a broker fetches as a follower, whatever partitions it names. Return those that
        this broker leads and whose ISR it is still to join."""
        self._holder.heard_ms[broker_id] = self._holder.monotonic_ms()
        return list(self._holder.outsiders.get(broker_id, ()))

    def holds(self, partition: Partition) -> bool:
        """Return whether this is still one of the open partitions."""
        return self._by_name.get((partition.topic, partition.index)) is partition

    def config_of(self, topic: TopicImage) -> LogConfig:
        """Return a topic's configuration: its own overrides over the broker's defaults."""
        return LogConfig.from_configs({**self.topic_defaults, **topic.configs})

    def serve(self, topic: TopicImage, indexes: Iterable[int]) -> None:
        """Note which of these partitions this broker must open later (`open`). Put the new state of
        the open ones in force; give up those of which this broker is no replica any more."""
        for index in sorted(indexes):
            key, state = (topic.name, index), topic.partitions[index]
            partition = self._by_name.get(key)
            if self._holder.node_id not in state.replicas:
                self._give_up(key)
            elif partition is not None:
                self._take_state(partition, state)
            elif self._may_open(key):
                self._unopened[key] = topic

    def _give_up(self, key: PartitionKey) -> None:
        """Stop serving a partition that was reassigned to other brokers; `remove` then removes its
        log (BrokerMetadataPublisher.java, ReplicaManager.applyDelta)."""
        self._unopened.pop(key, None)
        partition = self._by_name.pop(key, None)
        if partition is not None:
            partition.resign()
            self._holder.changed(*key)
        if partition is not None or key in self.directory.offline:
            self._leaving[key] = None

    def _may_open(self, key: PartitionKey) -> bool:
        """Return whether a partition may be opened: its files are not known to be damaged, or they
        belong to a partition that will be removed first."""
        return key not in self.directory.offline or key in self._leaving

    def _take_state(self, partition: Partition, state: PartitionImage) -> None:
        try:
            partition.take_state(state)
        except StorageError as error:
            self.directory.take_offline(partition.topic, partition.index, error)
            del self._by_name[partition.topic, partition.index]
            self._holder.changed(partition.topic, partition.index)

    def unopened(self) -> list[PartitionKey]:
        """Return the partitions of this broker that are not open yet."""
        return list(self._unopened)

    def open(self, key: PartitionKey) -> Partition | None:
        """Open or create the log of a partition, after the log of a deleted one of this name is
        removed, and begin to lead or follow it. Return None if it is open already, is not to be
        opened, or its files cannot be used: then it is offline."""
        topic = self._unopened.pop(key, None)
        if topic is None:
            return None
        self.remove(key)
        name, index = key
        state = topic.partitions[index]
        try:
            config, now_ms = self.config_of(topic), self._now_ms()
            log = self.directory.open_log(name, index, topic.topic_id, config, now_ms)
        except StorageError as error:
            self.directory.take_offline(name, index, error)
            return None
        partition = Partition(name, index, topic.topic_id, state, log, self._holder)
        partition.begin_epoch()
        partition.advance_high_watermark()
        self._by_name[key] = partition
        return partition

    def forget_topic(self, topic: TopicImage) -> None:
        """Stop serving the partitions of a deleted topic; `remove` then removes their logs."""
        for index in sorted(topic.partitions):
            key = topic.name, index
            if (partition := self._by_name.pop(key, None)) is not None:
                partition.resign()
            if self._unopened.pop(key, None) is None:
                self._leaving[key] = None

    def leaving(self) -> list[PartitionKey]:
        """Return the partitions whose logs `remove` has still to remove."""
        return list(self._leaving)

    def remove(self, key: PartitionKey) -> None:
        """Close and remove the log of a partition that was deleted or given up, if it is still
        there."""
        if key in self._leaving:
            self.directory.delete_log(*key)
            del self._leaving[key]

    def get(self, topic: str, index: int) -> Partition | None:
        """Return a partition of this broker, as leader or follower, opening it first if it must.
        Return None if there is none or its files cannot be used."""
        return self._by_name.get((topic, index)) or self.open((topic, index))

    def led(self, image: MetadataImage, name: str, topic_id: UUID | None, index: int) -> Partition:
        """Return the partition if this broker leads it. Raise Refused with the reason if it does
        not, as `held` does or with NOT_LEADER_OR_FOLLOWER. `name` is empty in versions of requests
        that use topic ids (KIP-516); topic_id is None in the others."""
        partition = self.held(image, name, topic_id, index)
        if not partition.leads:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return partition

    def held(self, image: MetadataImage, name: str, topic_id: UUID | None, index: int) -> Partition:
        """Return the partition, opening it first if it must be. Raise Refused if it does not exist,
        or this broker has no replica of it that is online. For name and topic_id see `led`."""
        if not name and topic_id is not None:
            topic = image.topics_by_id.get(topic_id)
            if topic is None:
                raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)
            name = topic.name
        partition = self._by_name.get((name, index)) or self.open((name, index))
        if partition is None:
            self.check_online(name, index)
            known = image.topics.get(name)
            if known is not None and index in known.partitions:
                raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return partition

    def check_online(self, topic: str, index: int) -> None:
        """Raise Refused(KAFKA_STORAGE_ERROR) for a partition whose files cannot be used."""
        error = self.directory.offline.get((topic, index))
        if error is not None:
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, str(error))

    def reconfigure(self, topic: TopicImage) -> None:
        """Put the current configuration of a topic in force in its open partitions."""
        config = self.config_of(topic)
        for index in sorted(topic.partitions):
            partition = self._by_name.get((topic.name, index))
            if partition is not None:
                partition.log.config = config
