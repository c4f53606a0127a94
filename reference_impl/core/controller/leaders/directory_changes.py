"""The directories in which brokers keep their replicas, as the brokers report them.

Source: ReplicationControlManager.java (handleAssignReplicasToDirs); KIP-858.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.image.metadata_image import TopicImage
from reference_impl.core.controller.image.registrations import UNASSIGNED, BrokerImage
from reference_impl.core.controller.leaders.elections import Event, changed, circumstances_of
from reference_impl.wire import ErrorCode, Struct


def assign(
    controller: Controller,
    broker: BrokerImage,
    directory: UUID,
    topic_id: UUID,
    indexes: Sequence[int],
) -> list[ErrorCode]:
    """Write that the broker's replicas of these partitions lie in a directory, and return the error
    code for each. If the broker does not have that directory, the replicas cannot be used: they
    leave the ISRs, and others lead."""
    topic = controller.image.topics_by_id.get(topic_id)
    if topic is None:
        return [ErrorCode.UNKNOWN_TOPIC_ID] * len(indexes)
    records: dict[int, list[Struct]] = {}
    codes = []
    for index in indexes:
        code = _error_of(topic, index, broker.node_id)
        if code is ErrorCode.NONE:
            records[index] = _changes(controller, broker, directory, topic, index)
        codes.append(code)
    controller.write([record for each in records.values() for record in each])
    return codes


def _error_of(topic: TopicImage, index: int, broker: int) -> ErrorCode:
    state = topic.partitions.get(index)
    if state is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE if broker in state.replicas else ErrorCode.NOT_LEADER_OR_FOLLOWER


def _changes(
    controller: Controller, broker: BrokerImage, directory: UUID, topic: TopicImage, index: int
) -> list[Struct]:
    old, own = topic.partitions[index], broker.node_id
    where = dict(zip(old.replicas, old.directories, strict=False)) | {own: directory}
    wanted = replace(old, directories=tuple(where.get(r, UNASSIGNED) for r in old.replicas))
    event = None
    if not broker.has_online(directory):
        event = Event(gone=own)
        wanted = replace(wanted, isr=tuple(each for each in old.isr if each != own))
    circumstances = circumstances_of(controller, topic, event)
    return list(changed(controller, topic.topic_id, index, old, wanted, circumstances))
