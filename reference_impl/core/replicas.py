"""The partitions which this broker holds: opened, made and deleted as the metadata says.

Source: ReplicaManager.java, LogManager.java (KIP-112). A partition whose files cannot be opened is
offline: every request for it gets KAFKA_STORAGE_ERROR, and the others go on. One whose disk fails
later stays in the table, and says so in the answer to each append.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from reference_impl.core.controller.metadata_image import MetadataImage, TopicImage
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.log_directory import LogDirectory
from reference_impl.core.log.recovery import Beliefs
from reference_impl.core.partition import Partition
from reference_impl.core.refused import Refused
from reference_impl.core.storage import StorageError
from reference_impl.wire import ErrorCode


class Replicas:
    """Partition objects by (topic, index)."""

    def __init__(
        self,
        directory: LogDirectory,
        topic_defaults: dict[str, str],
        beliefs: Beliefs,
    ) -> None:
        self.directory = directory
        self.topic_defaults = topic_defaults
        self._beliefs = beliefs
        self._by_name: dict[tuple[str, int], Partition] = {}

    def __iter__(self) -> Iterator[Partition]:
        return iter(list(self._by_name.values()))

    def config_of(self, topic: TopicImage) -> LogConfig:
        """Return the topic's own overrides over the broker's defaults."""
        return LogConfig.from_configs({**self.topic_defaults, **topic.configs})

    def open_topic(self, topic: TopicImage, now_ms: int) -> None:
        """Open, or make, the logs of a topic that are not open yet, and begin to lead them."""
        config = self.config_of(topic)
        for index, state in sorted(topic.partitions.items()):
            if (topic.name, index) in self._by_name:
                continue
            try:
                log = self.directory.open_log(
                    topic.name,
                    index,
                    topic.topic_id,
                    config,
                    now_ms,
                    beliefs=self._beliefs,
                )
                # Partition.makeLeader: the epoch begins here, even if nothing is written in it.
                log.leader_epochs.begin(state.leader_epoch, log.log_end_offset)
            except StorageError as error:
                self.directory.take_offline(topic.name, index, error)
                continue
            partition = Partition(topic.name, index, topic.topic_id, state, log)
            partition.advance_high_watermark()
            self._by_name[topic.name, index] = partition

    def delete_topic(self, topic: TopicImage) -> None:
        """Close and remove the logs of a topic that is gone."""
        for index in sorted(topic.partitions):
            self._by_name.pop((topic.name, index), None)
            self.directory.delete_log(topic.name, index)

    def get(self, topic: str, index: int) -> Partition | None:
        """Return a partition, whatever its state, or None."""
        return self._by_name.get((topic, index))

    def led(self, image: MetadataImage, name: str, topic_id: UUID, index: int) -> Partition:
        """Return the partition if this broker leads it, or raise Refused with the reason. `name` is
        empty where the version speaks in topic ids (KIP-516)."""
        if not name:
            topic = image.topics_by_id.get(topic_id)
            if topic is None:
                raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)
            name = topic.name
        partition = self._by_name.get((name, index))
        if partition is None:
            self.check_online(name, index)
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return partition

    def check_online(self, topic: str, index: int) -> None:
        """Raise Refused for a partition whose files cannot be used."""
        error = self.directory.offline.get((topic, index))
        if error is not None:
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, str(error))

    def reconfigure(self, topic: TopicImage) -> None:
        """Put the current configuration of a topic in force."""
        config = self.config_of(topic)
        for index in sorted(topic.partitions):
            partition = self._by_name.get((topic.name, index))
            if partition is not None:
                partition.log.config = config
