"""The image as records: what a snapshot holds, and what turns one image into another.

Source: MetadataImage.java (write), MetadataDelta.java (finishSnapshot), PartitionRegistration.java
(toRecord); KIP-630. Applied to an empty image, the records give this one again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any
from uuid import UUID

from reference_impl.core.controller.image.client_quotas import entity_of, quota_record
from reference_impl.core.controller.image.delegation_tokens import removal_record as no_token
from reference_impl.core.controller.image.metadata_image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    RECOVERED,
    RECOVERING,
    TOPIC_RESOURCE,
    MetadataImage,
    PartitionImage,
)
from reference_impl.core.controller.image.scram_users import removal_record as no_credential
from reference_impl.core.controller.image.scram_users import set_record
from reference_impl.wire import Struct, definition

METADATA_VERSION = "metadata.version"


def records_of(image: MetadataImage) -> Iterator[Struct]:
    """Yield the records that the image adds up to, part after part as in WRITERS. They are made
    while they are read, so the image must not change meanwhile."""
    return chain.from_iterable(write(image) for write in WRITERS.values())


def changes_to(image: MetadataImage, records: Sequence[Struct]) -> list[Struct]:
    """Return the records that turn `image` into another one, which is given by the `records` that
    `records_of` wrote for it: first the removals, then the additions and changes, without the
    TopicRecords of topics that `image` has already. Change nothing."""
    kept = {key_of(record) for record in records}
    changes = []
    for record in records_of(image):
        remove = IDENTITY[type(record).__name__][1]
        if remove is not None and key_of(record) not in kept:
            changes.append(remove(record))
    # Do not create a known topic again: the objects of its partitions refer to its TopicImage.
    known = image.topics_by_id
    changes += [r for r in records if type(r).__name__ != "TopicRecord" or r.topic_id not in known]
    return changes


def key_of(record: Struct) -> tuple[Any, ...]:
    """Return the key of a record that an image has written: its type, and the topic, broker,
    setting or other item that it describes."""
    name = type(record).__name__
    return name, IDENTITY[name][0](record)


# --- parts ----------------------------------------------------------------------------------------


def _features(image: MetadataImage) -> Iterator[Struct]:
    # metadata.version comes first, since it says how to read the rest (FeaturesImage.write).
    for name in sorted(image.features, key=lambda name: (name != METADATA_VERSION, name)):
        yield _feature(name, image.features[name])


def _feature(name: str, level: int) -> Struct:
    return definition("FeatureLevelRecord").new(name=name, feature_level=level)


def _nodes(image: MetadataImage) -> Iterator[Struct]:
    for broker in image.brokers.values():
        yield broker.to_record()
    for controller in image.controllers.values():
        yield controller.to_record()


def _topics(image: MetadataImage) -> Iterator[Struct]:
    for topic in image.topics.values():
        yield definition("TopicRecord").new(name=topic.name, topic_id=topic.topic_id)
        for index, state in topic.partitions.items():
            yield _partition(topic.topic_id, index, state)


def _partition(topic_id: UUID, index: int, state: PartitionImage) -> Struct:
    return definition("PartitionRecord").new(
        partition_id=index,
        topic_id=topic_id,
        replicas=list(state.replicas),
        isr=list(state.isr),
        removing_replicas=list(state.removing),
        adding_replicas=list(state.adding),
        leader=state.leader,
        leader_recovery_state=RECOVERING if state.is_recovering else RECOVERED,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.partition_epoch,
        directories=list(state.directories),
        eligible_leader_replicas=list(state.elr) or None,
        last_known_elr=list(state.last_known_elr) or None,
    )


def _topic_configs(image: MetadataImage) -> Iterator[Struct]:
    for topic in image.topics.values():
        yield from _configs(TOPIC_RESOURCE, {topic.name: topic.configs})


def _configs(kind: int, by_resource: dict[str, dict[str, str]]) -> Iterator[Struct]:
    for resource, configs in by_resource.items():
        for name, value in configs.items():
            yield _config(kind, resource, name, value)


def _config(kind: int, resource: str, name: str, value: str | None) -> Struct:
    return definition("ConfigRecord").new(
        resource_type=kind, resource_name=resource, name=name, value=value
    )


def _client_quotas(image: MetadataImage) -> Iterator[Struct]:
    for entity, quotas in image.client_quotas:
        for key, value in quotas.items():
            yield quota_record(entity, key, value)


def _producer_ids(image: MetadataImage) -> Iterator[Struct]:
    if image.next_producer_id > 0:
        yield definition("ProducerIdsRecord").new(
            broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id
        )


def _scram_users(image: MetadataImage) -> Iterator[Struct]:
    for user in image.scram_users.names():
        for mechanism, credential in image.scram_users.credentials(user).items():
            yield set_record(user, mechanism, credential)


WRITERS: dict[str, Callable[[MetadataImage], Iterator[Struct]]] = {
    "features": _features,
    "registrations": _nodes,
    "topics": _topics,
    "topics' configs": _topic_configs,
    "broker_configs": lambda image: _configs(BROKER_RESOURCE, image.broker_configs),
    "client_metrics": lambda image: _configs(CLIENT_METRICS_RESOURCE, image.client_metrics),
    "group_configs": lambda image: _configs(GROUP_RESOURCE, image.group_configs),
    "client_quotas": _client_quotas,
    "next_producer_id": _producer_ids,
    "acls": lambda image: (acl.to_record(id) for id, acl in image.acls.by_id.items()),
    "scram_users": _scram_users,
    "delegation_tokens": lambda image: (each.to_record() for each in image.delegation_tokens),
}
"""The parts of an image, in the order in which Kafka writes them."""
DERIVED = {
    "end_offset": "the name of the snapshot file has it",
    "newest_topic_offset": "each process keeps its own",
    "topics_by_id": "it follows from the topics",
    "names_by_collision_key": "it follows from the topics",
    "match_characters": "it follows from the client metrics subscriptions",
}
"""The parts of an image that no record is about, each with the reason."""

_Identity = Callable[[Struct], Any]
_Removal = Callable[[Struct], Struct] | None
IDENTITY: dict[str, tuple[_Identity, _Removal]] = {
    "FeatureLevelRecord": (lambda r: r.name, lambda r: _feature(r.name, 0)),
    "RegisterBrokerRecord": (
        lambda r: r.broker_id,
        lambda r: definition("UnregisterBrokerRecord").new(
            broker_id=r.broker_id, broker_epoch=r.broker_epoch
        ),
    ),
    "RegisterControllerRecord": (lambda r: r.controller_id, None),
    "TopicRecord": (
        lambda r: r.topic_id,
        lambda r: definition("RemoveTopicRecord").new(topic_id=r.topic_id),
    ),
    "PartitionRecord": (lambda r: (r.topic_id, r.partition_id), None),
    "ConfigRecord": (
        lambda r: (r.resource_type, r.resource_name, r.name),
        lambda r: _config(r.resource_type, r.resource_name, r.name, None),
    ),
    "ClientQuotaRecord": (
        lambda r: (_entity(r), r.key),
        lambda r: quota_record(_entity(r), r.key, None),
    ),
    "ProducerIdsRecord": (lambda r: None, None),
    "AccessControlEntryRecord": (
        lambda r: r.id,
        lambda r: definition("RemoveAccessControlEntryRecord").new(id=r.id),
    ),
    "UserScramCredentialRecord": (
        lambda r: (r.name, r.mechanism),
        lambda r: no_credential(r.name, r.mechanism),
    ),
    "DelegationTokenRecord": (lambda r: r.token_id, lambda r: no_token(r.token_id)),
}
"""Type of record -> two functions of such a record: its key, and the record that removes what it
describes. The second is None if the removal of the topic also removes it, or if nothing can remove
it."""


def _entity(record: Struct) -> tuple[tuple[str, str | None], ...]:
    return entity_of({row.entity_type: row.entity_name for row in record.entity})
