"""The existing topics, and the leaders of their partitions.

Source: MetadataRequest.json, MetadataResponse.json; KIP-320 (a leader epoch never goes back);
KIP-516 (topic ids); Java classes Metadata, MetadataCache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from reference_impl.client.cluster.network import Network, Node
from reference_impl.client.config import Config
from reference_impl.client.errors import Refusal, is_retriable
from reference_impl.client.kernel import Kernel
from reference_impl.client.values import TopicPartition
from reference_impl.links.kernel import Backoff
from reference_impl.links.link import Failure
from reference_impl.wire import ZERO_UUID, ApiKey, Struct, request_definition

TIMER = ("metadata",)


@dataclass(frozen=True, slots=True)
class Leader:
    """The leader of a partition. `node_id` is -1 while the partition has no leader."""

    node_id: int
    epoch: int


@dataclass(slots=True)
class Topic:
    """One topic as of the newest metadata. `error` is the code with which the broker described it,
    0 if it can be used; `leaders` has one entry for each partition."""

    name: str
    error: int
    topic_id: UUID = ZERO_UUID
    leaders: dict[int, Leader] = field(default_factory=dict)


class Metadata:
    """The metadata of the wanted topics. It is refreshed when it is old, or when an answer shows
    that it is wrong."""

    def __init__(
        self, kernel: Kernel, network: Network, config: Config, *, allow_auto_topic_creation: bool
    ) -> None:
        self._kernel = kernel
        self._network = network
        self._allow_auto_topic_creation = allow_auto_topic_creation
        self._max_age_ms: int = config["metadata.max.age.ms"]
        self._backoff = Backoff(kernel, config["retry.backoff.ms"], config["retry.backoff.max.ms"])
        self._wanted: dict[str, None] = {}
        self._topics: dict[str, Topic] = {}
        self._epochs_seen: dict[TopicPartition, int] = {}
        """The leader epochs that committed offsets and answers of leaders have named, where they
        are newer than those of the Metadata answers."""
        self._retry_backoff_ms: int = config["retry.backoff.ms"]
        self._asked_ms = -self._retry_backoff_ms
        self._is_asking = False
        self._is_stale = False
        self._listeners: list[Callable[[], None]] = []

    def on_update(self, listener: Callable[[], None]) -> None:
        """Register a function to call after each Metadata answer."""
        self._listeners.append(listener)

    # --- what is known ------------------------------------------------------------------------

    def topic(self, name: str) -> Topic | None:
        """Return a topic, or None until its metadata has arrived."""
        return self._topics.get(name)

    def refusal(self, name: str, doing: str) -> Refusal | None:
        """Return the error that explains why a topic cannot be used, or None if it can be or may be
        soon. `doing`: what fails for that reason."""
        topic = self._topics.get(name)
        if topic is None or not topic.error or is_retriable(topic.error):
            return None
        return Refusal(topic.error, doing)

    def topic_name(self, topic_id: UUID) -> str | None:
        """Return the name of the topic with this id, or None if it is not known."""
        for topic in self._topics.values():
            if topic.topic_id == topic_id:
                return topic.name
        return None

    def partitions(self, name: str) -> list[int]:
        """Return the sorted partitions of a topic, with or without a leader; [] while it is
        unknown."""
        topic = self._topics.get(name)
        return sorted(topic.leaders) if topic is not None else []

    def leader(self, partition: TopicPartition) -> tuple[Node, int] | None:
        """Return (broker, leader epoch), or None while no leader is known. A leader that is known
        to be replaced is none: it may still believe that it leads (KIP-320)."""
        topic = self._topics.get(partition.topic)
        leader = topic.leaders.get(partition.partition) if topic is not None else None
        if leader is None or leader.epoch < self._epochs_seen.get(partition, leader.epoch):
            return None
        node = self._network.node(leader.node_id)
        return (node, leader.epoch) if node is not None else None

    def saw_epoch(self, partition: TopicPartition, leader_epoch: int) -> None:
        """Note a leader epoch that a record or a committed offset has, and refresh the metadata if
        its epoch is older. Before the first Metadata answer it is ignored: the topic may have been
        created again since (Metadata.updateLastSeenEpochIfNewer)."""
        topic = self._topics.get(partition.topic)
        leader = topic.leaders.get(partition.partition) if topic is not None else None
        newest = max(leader.epoch, self._epochs_seen.get(partition, 0)) if leader else leader_epoch
        if leader_epoch > newest:
            self._epochs_seen[partition] = leader_epoch
            self.refresh()

    # --- asking -------------------------------------------------------------------------------

    def want(self, *names: str) -> None:
        """Add these topics to those whose metadata is kept up to date, and ask for it soon if one
        of them is new."""
        new = [name for name in names if name not in self._wanted]
        self._wanted.update(dict.fromkeys(new))
        if new:
            self._is_stale = True
            self._schedule(0)

    def want_only(self, names: list[str]) -> None:
        """Keep the metadata of these topics up to date, and forget all other topics."""
        self._wanted = {name: None for name in self._wanted if name in names}
        self._topics = {name: self._topics[name] for name in self._topics if name in names}
        self.want(*names)

    def refresh(self) -> None:
        """Refresh the metadata soon, because it was found wrong or incomplete."""
        self._is_stale = True
        # Not faster than `retry.backoff.ms`: many partitions may find out about one lost leader.
        earliest_ms = self._asked_ms + self._retry_backoff_ms
        self._schedule(max(0, earliest_ms - self._kernel.monotonic_ms))

    def _schedule(self, delay_ms: int) -> None:
        if not self._is_asking and not self._kernel.has_timer_before(TIMER, delay_ms):
            self._kernel.after(delay_ms, TIMER, self._ask)

    def _ask(self) -> None:
        self._is_asking, self._is_stale = True, False
        self._asked_ms = self._kernel.monotonic_ms
        of = request_definition(ApiKey.METADATA)
        body = of.new(
            topics=[of.struct("MetadataRequestTopic", name=name) for name in self._wanted],
            allow_auto_topic_creation=self._allow_auto_topic_creation,
        )
        node = self._network.least_loaded()
        # Version 4 is the first which knows allow_auto_topic_creation (KIP-204).
        self._network.ask(node, ApiKey.METADATA, body, self._answered, self._failed, version_min=4)

    def _failed(self, _: Failure) -> None:
        self._is_asking = False
        self._schedule(self._backoff.fail())

    def _answered(self, answer: Struct) -> None:
        self._is_asking = False
        self._network.learn([Node(row.node_id, row.host, row.port) for row in answer.brokers])
        leaderless = False
        for row in answer.topics:
            if row.name not in self._wanted:
                continue
            topic = self._updated(row)
            self._topics[row.name] = topic
            leaderless |= bool(topic.error) or any(
                leader.node_id < 0 for leader in topic.leaders.values()
            )
        if leaderless or self._is_stale:
            self._schedule(self._backoff.fail())
        else:
            self._backoff.succeed()
            self._schedule(self._max_age_ms)
        for listener in self._listeners:
            listener()

    def _updated(self, row: Struct) -> Topic:
        before = self._topics.get(row.name)
        topic = Topic(row.name, row.error_code, row.topic_id)
        is_same = before is not None and before.topic_id == row.topic_id
        for partition in row.partitions:
            leader = Leader(partition.leader_id, partition.leader_epoch)
            known = before.leaders.get(partition.partition_index) if before and is_same else None
            if known is not None and 0 <= leader.epoch < known.epoch:
                leader = known  # told by a broker which is behind the others (KIP-320)
            topic.leaders[partition.partition_index] = leader
            if not is_same:
                self._epochs_seen.pop(TopicPartition(row.name, partition.partition_index), None)
        if row.error_code and before is not None and not topic.leaders:
            topic.leaders = before.leaders  # keep known partitions during a temporary error
            topic.topic_id = before.topic_id
        return topic
