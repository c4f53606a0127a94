"""Put committed metadata in force at a broker: open, lead, reconfigure and delete what it names.

Source: BrokerMetadataPublisher.java.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol
from uuid import UUID

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.dynamic import config_in_force
from reference_impl.core.controller.image.metadata_delta import MetadataDelta, Part
from reference_impl.core.controller.image.metadata_image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    TOPIC_RESOURCE,
    MetadataImage,
)
from reference_impl.core.effects import Effect, Report
from reference_impl.core.groups.service import GroupCoordinators
from reference_impl.core.log.directories.cordoned import CORDONED
from reference_impl.core.log.directories.data_directory import DataDirectory
from reference_impl.core.log.directories.log_directory import LogDirectory
from reference_impl.core.partitions.purgatory import Purgatory
from reference_impl.core.partitions.replicas import Replicas
from reference_impl.core.replication.fetching import Followers
from reference_impl.core.security.sasl.tokens import Tokens
from reference_impl.core.storage import StorageError
from reference_impl.core.telemetry import Telemetry
from reference_impl.core.transactions.service import TransactionCoordinators
from reference_impl.core.waiting.waits import Outbox, Pause


class BrokerState(Protocol):
    """The state of a broker that is needed to put committed metadata in force."""

    node_id: int
    started_with: BrokerConfig
    config: BrokerConfig
    incarnation_id: UUID
    is_registered: bool
    image: MetadataImage
    data_directory: DataDirectory
    logs: LogDirectory
    replicas: Replicas
    followers: Followers
    groups: GroupCoordinators
    transactions: TransactionCoordinators
    tokens: Tokens
    telemetry: Telemetry
    purgatory: Purgatory
    outbox: Outbox

    @property
    def now_ms(self) -> int:
        """Return the wall clock of the current event, in milliseconds."""


def put_in_force(broker: BrokerState, delta: MetadataDelta) -> None:
    """Act upon what `delta` changed, part by part in the order of IN_FORCE; the image has the
    change already. No other function opens, deletes, leads or reconfigures partitions because of
    metadata."""
    for part, change in IN_FORCE.items():
        if part in delta.parts:
            change(broker, delta)


def _reconfigure(broker: BrokerState, delta: MetadataDelta) -> None:
    topics = {name for kind, name in delta.configs if kind == TOPIC_RESOURCE}
    if any(kind == BROKER_RESOURCE for kind, _ in delta.configs):
        before = broker.config.text(CORDONED)
        broker.config = config_in_force(broker.started_with, broker.image, broker.node_id)
        if broker.config.text(CORDONED) != before:
            broker.data_directory.cordoning_changed()
        broker.replicas.topic_defaults = broker.config.topic_defaults
        topics.update(broker.image.topics)  # they are the defaults of every topic
    for name in topics & broker.image.topics.keys():
        broker.replicas.reconfigure(broker.image.topics[name])
    if any(kind == CLIENT_METRICS_RESOURCE for kind, _ in delta.configs):
        broker.telemetry.subscriptions_changed()


def _remove_topics(broker: BrokerState, delta: MetadataDelta) -> None:
    for topic in delta.removed_topics.values():
        broker.replicas.forget_topic(topic)
        broker.followers.forget(topic)
        broker.groups.forget_topic(topic.name)
        _coordinate(broker, topic.name, topic.partitions)
        for index in topic.partitions:
            broker.purgatory.note_change(topic.name, index)
    broker.outbox.post("removed partitions", _remove_logs(broker))


def _note_registration(broker: BrokerState, _: MetadataDelta) -> None:
    own = broker.image.brokers.get(broker.node_id)
    if broker.is_registered or own is None or own.incarnation_id != broker.incarnation_id:
        return
    broker.is_registered = True
    for topic in broker.image.topics.values():
        broker.replicas.serve(topic, topic.partitions)
        _coordinate(broker, topic.name, topic.partitions)
    _open_logs(broker)


def _serve_partitions(broker: BrokerState, delta: MetadataDelta) -> None:
    for topic_id, indexes in delta.partitions.items():
        topic = broker.image.topics_by_id[topic_id]
        broker.replicas.serve(topic, indexes)
        broker.followers.follow(topic, indexes)
        _coordinate(broker, topic.name, indexes)
    if broker.replicas.leaving():
        broker.outbox.post("removed partitions", _remove_logs(broker))
    _open_logs(broker)


def _open_logs(broker: BrokerState) -> None:
    if broker.replicas.unopened():
        broker.outbox.post("opened partitions", _opened_logs(broker))


def _opened_logs(broker: BrokerState) -> Iterator[Effect]:
    """Open the logs of the new partitions one by one, and report what recovery finds. A request
    that needs a log before its turn opens it itself."""
    while keys := broker.replicas.unopened():
        for key in keys:
            broker.replicas.open(key)
            yield from reports(broker.logs)
            yield Pause()


def reports(logs: LogDirectory) -> Iterator[Effect]:
    """Report what the recovery of logs has found since the last call, and forget it."""
    notes, logs.notes = logs.notes, []
    yield from map(Report, notes)


def _remove_logs(broker: BrokerState) -> Iterator[Effect]:
    """Remove the logs of the partitions that this broker no longer has, and report those that
    cannot be removed. Then delete the files that are due; housekeeping deletes the others later."""
    for key in broker.replicas.leaving():
        try:
            broker.replicas.remove(key)
        except StorageError as error:
            yield Report(f"the log of {key[0]}-{key[1]} is not removed yet: {error}")
        yield Pause()
    broker.outbox.post("removed files", _remove_files(broker))


def _remove_files(broker: BrokerState) -> Iterator[Effect]:
    try:
        for _ in broker.logs.delete_due_partitions(broker.now_ms):
            yield Pause()
    except StorageError as error:
        yield Report(f"files that should be deleted are still there: {error}")


def _coordinate(broker: BrokerState, topic: str, indexes: Iterable[int]) -> None:
    """Start and stop coordinators as this broker wins and loses the leadership of partitions of
    their topics."""
    for coordinators in (broker.groups, broker.transactions):
        if coordinators.topic.name == topic:
            for index in sorted(indexes):
                coordinators.follow(index)


def _note_new_topics(broker: BrokerState, delta: MetadataDelta) -> None:
    if delta.new_topics:
        broker.image.newest_topic_offset = broker.image.end_offset


def _take_tokens(broker: BrokerState, delta: MetadataDelta) -> None:
    broker.tokens.changed(delta.delegation_tokens)


IN_FORCE: dict[Part, Callable[[BrokerState, MetadataDelta], None]] = {
    Part.CONFIGS: _reconfigure,  # first, so that partitions open with their configuration
    Part.REMOVED_TOPICS: _remove_topics,  # before new ones of the same names
    Part.BROKERS: _note_registration,  # before partitions that this broker leads
    Part.PARTITIONS: _serve_partitions,
    Part.NEW_TOPICS: _note_new_topics,
    Part.DELEGATION_TOKENS: _take_tokens,
}
"""The parts of the metadata that a broker acts upon when they change, in this order."""
LOOKED_UP: dict[Part, str] = {
    Part.ACLS: "the authorizer",
    Part.CLIENT_QUOTAS: "the throttles",
    Part.SCRAM_USERS: "each authentication",
    Part.FEATURES: "each request whose meaning they change",
    Part.PRODUCER_IDS: "the controller, which allocates the next block",
    Part.CONTROLLERS: "each question to the controller",
}
"""Part of the image -> the component that looks it up in the image whenever it needs it."""
