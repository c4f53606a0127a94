"""The metadata records which this controller writes. Source: KIP-631; KIP-866 (directories)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from reference_impl.core.controller.image.metadata_image import TOPIC_RESOURCE
from reference_impl.core.controller.image.registrations import UNASSIGNED
from reference_impl.wire import Struct, definition


def new_topic(name: str, topic_id: UUID) -> Struct:
    """Return the record of a new topic."""
    return definition("TopicRecord").new(name=name, topic_id=topic_id)


def new_partition(
    topic_id: UUID,
    index: int,
    replicas: Sequence[int],
    isr: Sequence[int] | None = None,
    directories: Mapping[int, UUID] | None = None,
) -> Struct:
    """Return the record of a new partition with leader epoch 0. The living replicas (by default
    all) form its ISR, since an empty partition has nothing to copy, and the first of them leads.
    directories: broker -> directory; a replica whose broker is missing there gets UNASSIGNED."""
    isr = replicas if isr is None else isr
    known = directories or {}
    return definition("PartitionRecord").new(
        partition_id=index,
        topic_id=topic_id,
        replicas=list(replicas),
        isr=list(isr),
        leader=isr[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=[known.get(replica, UNASSIGNED) for replica in replicas],
    )


def config_record(resource_type: int, resource: str, name: str, value: str | None) -> Struct:
    """Return the record that sets a configuration override, or (None) removes it."""
    return definition("ConfigRecord").new(
        resource_type=resource_type, resource_name=resource, name=name, value=value
    )


def topic_configs(topic: str, configs: Mapping[str, str]) -> list[Struct]:
    """Return the records that set the overrides of a new topic, in the order of their names."""
    return [
        config_record(TOPIC_RESOURCE, topic, name, value) for name, value in sorted(configs.items())
    ]


def removed_topic(topic_id: UUID) -> Struct:
    """Return the record that removes a topic with its partitions and configuration."""
    return definition("RemoveTopicRecord").new(topic_id=topic_id)
