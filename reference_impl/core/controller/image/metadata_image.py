"""The image of the cluster: the state that results from the records of the metadata log.

Source: KIP-631; the record definitions TopicRecord, PartitionRecord, PartitionChangeRecord,
ConfigRecord, RemoveTopicRecord, ProducerIdsRecord, AccessControlEntryRecord; Java classes
TopicsImage, PartitionRegistration (merge). Nothing here decides anything: the controller writes
records, every broker applies them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from reference_impl.core.configs.client_metrics import MATCH
from reference_impl.core.controller.image.client_quotas import ClientQuotas
from reference_impl.core.controller.image.delegation_tokens import DelegationTokens
from reference_impl.core.controller.image.registrations import (
    BrokerImage,
    ControllerImage,
    Registrations,
)
from reference_impl.core.controller.image.scram_users import ScramUsers
from reference_impl.core.controller.image.topic_names import collision_key
from reference_impl.core.security.authorization.acls import Acl, Acls
from reference_impl.wire import Malformed, Struct

TOPIC_RESOURCE, BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE = 2, 4, 16, 32
"""The types of resources in ConfigRecord (ConfigResource.Type)."""
NO_LEADER_CHANGE = -2
NO_RECOVERY_CHANGE, RECOVERED, RECOVERING = -1, 0, 1
"""The values of LeaderRecoveryState in a PartitionChangeRecord."""


@dataclass(frozen=True, slots=True)
class PartitionImage:
    """The replicas and leader of a partition. `leader` is -1 while there is none. `leader_epoch`
    counts leaderships, `partition_epoch` every change."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    adding: tuple[int, ...] = ()
    """The replicas that a reassignment adds (KIP-455)."""
    removing: tuple[int, ...] = ()
    """The replicas that go when the reassignment is complete."""
    directories: tuple[UUID, ...] = ()
    """The log directory of each replica (KIP-858)."""
    elr: tuple[int, ...] = ()
    """The eligible leader replicas: out of the ISR, yet complete (KIP-966)."""
    last_known_elr: tuple[int, ...] = ()
    """The last leader, while the partition has none (KIP-966)."""
    is_recovering: bool = False
    """Whether the leader was elected uncleanly and has not said that it has recovered (KIP-704)."""


@dataclass(slots=True)
class TopicImage:
    """One topic. A topic that is deleted and made again has another id (KIP-516)."""

    name: str
    topic_id: UUID
    partitions: dict[int, PartitionImage] = field(default_factory=dict)
    configs: dict[str, str] = field(default_factory=dict)
    """The configuration overrides of this topic."""


class MetadataImage:
    """The metadata of the cluster: topics, nodes, the next free producer id, ACLs and users. A
    node's broker has one, of committed records, and its controller another, which also has the
    controller's own decisions."""

    def __init__(self) -> None:
        self.end_offset = 0
        """The offset after the last record of the metadata log that was applied."""
        self.newest_topic_offset = 0
        """The end offset when topics were created last, as far as this process knows."""
        self.topics: dict[str, TopicImage] = {}
        self.topics_by_id: dict[UUID, TopicImage] = {}
        self.names_by_collision_key: dict[str, str] = {}
        """Collision key -> topic name. No two topics may have the same key
        (`topic_names.collision_key`)."""
        self.features: dict[str, int] = {}
        """The level in force of each feature that has one (KIP-584)."""
        self.next_producer_id = 0
        self.broker_configs: dict[str, dict[str, str]] = {}
        """The configurations that were set at run time, for a broker (its id) or for all ("")."""
        self.group_configs: dict[str, dict[str, str]] = {}
        """The configurations set for single groups, which need not exist."""
        self.client_metrics: dict[str, dict[str, str]] = {}
        """Subscriptions to clients' metrics, by name (KIP-714)."""
        self.match_characters = 0
        """The length of the patterns of all these subscriptions together."""
        self.acls = Acls()
        self.scram_users = ScramUsers()
        self.delegation_tokens = DelegationTokens()
        self.client_quotas = ClientQuotas()
        self.registrations = Registrations()

    @property
    def brokers(self) -> Mapping[int, BrokerImage]:
        """Return the registered brokers by their ids, those that are fenced included."""
        return self.registrations.brokers

    @property
    def controllers(self) -> Mapping[int, ControllerImage]:
        """Return the registered controllers by their ids."""
        return self.registrations.controllers

    def apply(self, record: Struct) -> None:
        """Apply one record of the metadata log. Raise Malformed if this version does not know the
        type of the record, or if the record is about an incarnation of a broker that is not
        registered."""
        name = type(record).__name__
        action = _ACTIONS.get(name)
        if action is not None:
            action(self, record)
        elif name not in WITHOUT_EFFECT:
            raise Malformed("this version does not know what the record changes", message=name)

    def topic_of(self, name: str | None, topic_id: UUID) -> TopicImage | None:
        """Return the topic with this name or, if the name is empty or null, with this id. Return
        None if there is no such topic."""
        return self.topics.get(name) if name else self.topics_by_id.get(topic_id)

    def configs_of_broker(self, name: str) -> Mapping[str, str]:
        """Return the configurations that were set at run time for a broker (name: its id), or for
        all of them (""); an empty mapping if there are none."""
        return self.broker_configs.get(name, {})

    def _topic(self, record: Struct) -> None:
        topic = TopicImage(record.name, record.topic_id)
        self.topics[topic.name] = self.topics_by_id[topic.topic_id] = topic
        self.names_by_collision_key[collision_key(topic.name)] = topic.name

    def _partition(self, record: Struct) -> None:
        self.topics_by_id[record.topic_id].partitions[record.partition_id] = PartitionImage(
            tuple(record.replicas),
            tuple(record.isr),
            record.leader,
            record.leader_epoch,
            record.partition_epoch,
            tuple(record.adding_replicas),
            tuple(record.removing_replicas),
            tuple(record.directories),
            tuple(record.eligible_leader_replicas or ()),
            tuple(record.last_known_elr or ()),
            record.leader_recovery_state == RECOVERING,
        )

    def _partition_change(self, record: Struct) -> None:
        partitions = self.topics_by_id[record.topic_id].partitions
        old = partitions[record.partition_id]
        given: dict[str, Any] = {
            name: tuple(value)
            for name, of_record in _CHANGED.items()
            if (value := getattr(record, of_record)) is not None
        }
        if record.leader_recovery_state != NO_RECOVERY_CHANGE:
            given["is_recovering"] = record.leader_recovery_state == RECOVERING
        if record.leader != NO_LEADER_CHANGE:
            # Also when the leader stays the same node: each leadership has an epoch of its own.
            given |= {"leader": record.leader, "leader_epoch": old.leader_epoch + 1}
        # One copy with all changes: the death of a broker changes thousands of partitions.
        new = replace(old, partition_epoch=old.partition_epoch + 1, **given)
        partitions[record.partition_id] = new

    def _clear_elr(self, record: Struct) -> None:
        """Forget the eligible replicas of a topic, or of all topics where none is named."""
        topics = [self.topics[record.topic_name]] if record.topic_name else self.topics.values()
        for topic in topics:
            for index, state in topic.partitions.items():
                if state.elr or state.last_known_elr:
                    epoch = state.partition_epoch + 1
                    topic.partitions[index] = replace(
                        state, elr=(), last_known_elr=(), partition_epoch=epoch
                    )

    def _config(self, record: Struct) -> None:
        by_resource: dict[str, dict[str, str]]
        name = record.resource_name
        if record.resource_type == TOPIC_RESOURCE:
            by_resource = {name: self.topics[name].configs} if name in self.topics else {}
        elif record.resource_type == BROKER_RESOURCE:
            by_resource = self.broker_configs
        elif record.resource_type == GROUP_RESOURCE:
            by_resource = self.group_configs
        elif record.resource_type == CLIENT_METRICS_RESOURCE:
            by_resource = self.client_metrics
        else:
            return
        configs = by_resource.setdefault(name, {})
        if record.resource_type == CLIENT_METRICS_RESOURCE and record.name == MATCH:
            self.match_characters += len(record.value or "") - len(configs.get(MATCH, ""))
        if record.value is not None:
            configs[record.name] = record.value
            return
        configs.pop(record.name, None)
        if not configs:
            del by_resource[name]

    def _remove_topic(self, record: Struct) -> None:
        topic = self.topics_by_id.pop(record.topic_id)
        del self.topics[topic.name]
        self.names_by_collision_key.pop(collision_key(topic.name), None)

    def _access_control_entry(self, record: Struct) -> None:
        self.acls.add(record.id, Acl.from_record(record))

    def _remove_access_control_entry(self, record: Struct) -> None:
        self.acls.remove(record.id)

    def _feature_level(self, record: Struct) -> None:
        if record.feature_level == 0:
            self.features.pop(record.name, None)
        else:
            self.features[record.name] = record.feature_level

    def _producer_ids(self, record: Struct) -> None:
        self.next_producer_id = record.next_producer_id


_CHANGED = {
    "isr": "isr",
    "replicas": "replicas",
    "adding": "adding_replicas",
    "removing": "removing_replicas",
    "directories": "directories",
    "elr": "eligible_leader_replicas",
    "last_known_elr": "last_known_elr",
}
"""The fields of PartitionImage, and those of PartitionChangeRecord that replace them."""

_ACTIONS: dict[str, Callable[[MetadataImage, Struct], None]] = {
    "TopicRecord": MetadataImage._topic,
    "PartitionRecord": MetadataImage._partition,
    "PartitionChangeRecord": MetadataImage._partition_change,
    "ConfigRecord": MetadataImage._config,
    "RemoveTopicRecord": MetadataImage._remove_topic,
    "FeatureLevelRecord": MetadataImage._feature_level,
    "ProducerIdsRecord": MetadataImage._producer_ids,
    "AccessControlEntryRecord": MetadataImage._access_control_entry,
    "RemoveAccessControlEntryRecord": MetadataImage._remove_access_control_entry,
    "UserScramCredentialRecord": lambda image, record: image.scram_users.set(record),
    "RemoveUserScramCredentialRecord": lambda image, record: image.scram_users.remove(record),
    "DelegationTokenRecord": lambda image, record: image.delegation_tokens.set(record),
    "RemoveDelegationTokenRecord": lambda image, record: image.delegation_tokens.remove(record),
    "ClientQuotaRecord": lambda image, record: image.client_quotas.apply(record),
    "ClearElrRecord": MetadataImage._clear_elr,
    "RegisterBrokerRecord": lambda image, record: image.registrations.register_broker(record),
    "UnregisterBrokerRecord": lambda image, record: image.registrations.unregister_broker(record),
    "BrokerRegistrationChangeRecord": (
        lambda image, record: image.registrations.change_broker(record)
    ),
    "FenceBrokerRecord": lambda image, record: image.registrations.fence_broker(record),
    "UnfenceBrokerRecord": lambda image, record: image.registrations.unfence_broker(record),
    "RegisterControllerRecord": (
        lambda image, record: image.registrations.register_controller(record)
    ),
}

_TRANSACTION = "the metadata log hands out what its transactions have decided on"
WITHOUT_EFFECT: dict[str, str] = {
    "BeginTransactionRecord": _TRANSACTION,
    "EndTransactionRecord": _TRANSACTION,
    "AbortTransactionRecord": _TRANSACTION,
    "NoOpRecord": "it moves the high watermark, and says nothing (KIP-835)",
    "ZkMigrationStateRecord": "clusters that still use ZooKeeper end with Kafka 3.9",
}
"""The records that change nothing in the image, each with the reason."""
