"""The state of one broker and the current moment, which all handlers share.

A handler is a generator over effects: `handle_x(broker, request)`. It reads and changes this state;
it never talks to the outside except through what it yields and through `Storage`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.dynamic import ALL_BROKERS, MIN_INSYNC_REPLICAS
from reference_impl.core.controller.image.metadata_image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    TOPIC_RESOURCE,
    MetadataImage,
    TopicImage,
)
from reference_impl.core.controller.metadata_log import MetadataLog
from reference_impl.core.controller.producer_ids import ProducerIds
from reference_impl.core.controller.records import config_record, new_leadership
from reference_impl.core.effects import Effect, Report
from reference_impl.core.events import Event, Request
from reference_impl.core.groups import service as group_service
from reference_impl.core.groups.coordinator import GroupCoordinator
from reference_impl.core.groups.group_log import TOPIC as GROUPS_TOPIC
from reference_impl.core.groups.group_log import GroupLog
from reference_impl.core.groups.settings import GroupSettings
from reference_impl.core.log.cleaning.cleaner import Cleaner
from reference_impl.core.log.directories import stray_directories
from reference_impl.core.log.directories.data_directory import DataDirectory
from reference_impl.core.log.directories.log_directory import LogDirectory
from reference_impl.core.moment import Moment
from reference_impl.core.partitions.fetch_sessions import FetchSessions
from reference_impl.core.partitions.keyed_topic import KeyedTopic
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.partitions.purgatory import Purgatory
from reference_impl.core.partitions.replicas import Replicas
from reference_impl.core.quotas.throttling import Throttles
from reference_impl.core.requests.api import Api
from reference_impl.core.rules import Rules
from reference_impl.core.security.authorization.access import Access
from reference_impl.core.security.connection_listeners import ConnectionListeners
from reference_impl.core.security.listeners import Endpoint
from reference_impl.core.security.principals import Principals
from reference_impl.core.security.sasl.authentication import Authentication
from reference_impl.core.security.sasl.tokens import Tokens
from reference_impl.core.storage import Storage
from reference_impl.core.telemetry import Telemetry
from reference_impl.core.transactions.coordinator import TransactionCoordinator
from reference_impl.core.transactions.markers import MarkerWriter
from reference_impl.core.transactions.transaction_log import TOPIC as TRANSACTIONS_TOPIC
from reference_impl.core.transactions.transaction_log import TransactionLog
from reference_impl.wire import Struct


class Broker:
    """The state of one broker after it has started."""

    def __init__(
        self,
        config: BrokerConfig,
        storage: Storage,
        directory: str,
        advertised: Endpoint,
        rules: Rules,
        apis: Mapping[int, Api],
        moment: Event,
        also_advertised: Mapping[str, Endpoint] | None = None,
    ) -> None:
        self.started_with = self.config = config
        self.node_id = config.node_id
        self.connection_listeners = ConnectionListeners(
            config.listeners(), also_advertised or {}, advertised
        )
        self.rules = rules
        self.apis = apis
        self.moment = Moment(moment)
        self.data_directory = DataDirectory.open(storage, directory, self.node_id, self.random_uuid)
        self.logs = LogDirectory(storage, directory, rules)
        self.sends_from_files = storage.sends_from_files
        self.cleaner = Cleaner(storage, self.logs, rules)
        self.metadata = MetadataLog(self.logs, self.now_ms)
        if self.metadata.end_offset == 0:
            self._begin_history()
        self.config = self._config_in_force()
        self.producer_ids = ProducerIds(self.metadata, self.node_id, rules)
        self.replicas = Replicas(self.logs, self.config.topic_defaults, lambda: self.now_ms)
        self.purgatory = Purgatory()
        self.principals = Principals()
        self.tokens = Tokens(self.metadata, self.moment, self._now_in_force)
        self.authentication = Authentication(
            self.image.scram_users, self.tokens, self.principals, self.moment
        )
        self.telemetry = Telemetry(self.image, self.moment, self._now_in_force)
        self.throttles = Throttles(config, self.image.client_quotas, self.principals)
        self.access = Access(config, self.image.acls, self.principals)
        self.fetch_sessions = FetchSessions(
            config.number("max.incremental.fetch.session.cache.slots"), rules.renewed
        )
        self._notes = list(
            stray_directories.set_aside(storage, directory, self.image.topics, self.random_uuid)
        )
        self._lead_all_partitions()
        self.groups = self.read_groups()
        self.markers = MarkerWriter(rules, self.moment, self.replicas, self.purgatory, self.groups)
        self.transactions = TransactionCoordinator(
            TransactionLog(self._keyed_topic(TRANSACTIONS_TOPIC)),
            self.markers,
            self.moment,
            rules,
            self._now_in_force,
            self.producer_ids,
        )

    def read_groups(self) -> GroupCoordinator:
        """Return the coordinator of the groups that `__consumer_offsets` tells of."""
        log = GroupLog(self._keyed_topic(GROUPS_TOPIC))
        settings = GroupSettings(self._now_in_force, self.image)
        return GroupCoordinator(log, self.metadata, self.moment, self.rules, settings, self.access)

    def _keyed_topic(self, name: str) -> KeyedTopic:
        return KeyedTopic(name, self.image, self.replicas, self.purgatory, self.moment)

    def _now_in_force(self) -> BrokerConfig:
        """Return the configuration, which changes while the broker runs."""
        return self.config

    # --- the current moment -------------------------------------------------------------------

    @property
    def now_ms(self) -> int:
        """The wall clock of the current event."""
        return self.moment.now_ms

    def random_bytes(self, count: int) -> bytes:
        """Return bytes drawn from the entropy of the current event, different at each call."""
        return self.moment.random_bytes(count)

    def random_uuid(self) -> UUID:
        """Return a random UUID (version 4)."""
        return self.moment.random_uuid()

    def principal_of(self, request: Request) -> str:
        """Return the principal that sent the request: `User:NAME`."""
        return self.principals.of(request.connection)

    def advertised_to(self, request: Request) -> Endpoint:
        """Return this broker's address for the sender of the request: that of the listener it
        connected to (KIP-103)."""
        return self.connection_listeners.advertised_to(request.connection)

    # --- metadata -----------------------------------------------------------------------------

    @property
    def image(self) -> MetadataImage:
        """The cluster, as of the newest metadata record."""
        return self.metadata.image

    @property
    def cluster_id(self) -> str:
        """The id that the cluster got with its first data directory (KIP-78)."""
        return self.data_directory.cluster_id

    def publish(self, records: Sequence[Struct]) -> None:
        """Write metadata records, then bring partitions and groups in line with them."""
        kinds = [type(record).__name__ for record in records]
        removed = [
            self.image.topics_by_id[record.topic_id]
            for record, kind in zip(records, kinds, strict=True)
            if kind == "RemoveTopicRecord"
        ]
        self.metadata.append(records, self.now_ms)
        for topic in removed:
            self._forget_topic(topic)
        # Each topic once, however many of its partitions are new.
        for topic_id in dict.fromkeys(
            record.topic_id
            for record, kind in zip(records, kinds, strict=True)
            if kind == "PartitionRecord"
        ):
            if (topic_now := self.image.topics_by_id.get(topic_id)) is not None:
                self.replicas.expect_topic(topic_now)
        if "TopicRecord" in kinds:
            self.groups.topics_were_created()

    def publish_configs(self, records: Sequence[Struct]) -> None:
        """Write changed configurations of a topic or of brokers, and put them in force."""
        self.metadata.append(records, self.now_ms)
        self.config = self._config_in_force()
        self.replicas.topic_defaults = self.config.topic_defaults
        if any(row.resource_type == CLIENT_METRICS_RESOURCE for row in records):
            self.telemetry.subscriptions_changed()
        names = {row.resource_name for row in records if row.resource_type == TOPIC_RESOURCE}
        if any(row.resource_type == BROKER_RESOURCE for row in records):
            names.update(self.image.topics)  # it is the default of every topic
        for name in names:
            self.replicas.reconfigure(self.image.topics[name])

    def _begin_history(self) -> None:
        """Write the first record of a new cluster: min.insync.replicas for all brokers.

        With eligible leader replicas it is the cluster's, not a broker's (KIP-966).
        """
        value = self.started_with.text(MIN_INSYNC_REPLICAS)
        record = config_record(BROKER_RESOURCE, ALL_BROKERS, MIN_INSYNC_REPLICAS, value)
        self.metadata.append([record], self.now_ms)

    def _config_in_force(self) -> BrokerConfig:
        """Return what was set for this broker, over what was set for all, over what it started
        with."""
        return self.started_with.under(
            self.image.configs_of_broker(ALL_BROKERS),
            self.image.configs_of_broker(str(self.node_id)),
        )

    def _forget_topic(self, topic: TopicImage) -> None:
        self.replicas.forget_topic(topic)
        self.groups.forget_topic(topic.name)
        for index in topic.partitions:
            self.purgatory.note_change(topic.name, index)

    def _lead_all_partitions(self) -> None:
        """Begin to lead. Each start is a new leadership with its own epoch, so that records seen
        under the old one can be told from new ones (KIP-101)."""
        changes = [
            new_leadership(topic.topic_id, index, self.node_id)
            for topic in self.image.topics.values()
            for index in sorted(topic.partitions)
        ]
        if changes:
            self.metadata.append(changes, self.now_ms)
        for topic in self.image.topics.values():
            self.replicas.open_topic(topic)

    # --- partitions ---------------------------------------------------------------------------

    def led_partition(self, name: str, topic_id: UUID | None, index: int) -> Partition:
        """Return the partition, which this broker leads, or raise Refused with the reason."""
        return self.replicas.led(self.image, name, topic_id, index)

    def topic_configs(self, topic: TopicImage) -> Mapping[str, str]:
        """Return the configuration in force for a topic."""
        return {**self.config.topic_defaults, **topic.configs}

    def start(self) -> Iterator[Effect]:
        """Say what recovery found, and begin to look after groups and transactions."""
        for note in self._notes:
            yield Report(note)
        for log in self.logs.logs.values():
            for note in log.recovery_notes:
                yield Report(note)
        for (name, index), error in self.logs.offline.items():
            yield Report(
                f"{name}-{index} is offline until it is repaired and the broker restarted: {error}"
            )
        yield from group_service.start(self.groups)
        yield from self.transactions.start()

    def stop(self) -> None:
        """Shut down cleanly: write everything to disk, and a mark that says so."""
        for key in self.replicas.leaving():
            self.replicas.remove(key)
        self.logs.close()
