"""Report to the controller in which directory each replica of this broker lies, and which replicas
cannot be used.

Source: AssignmentsManager.java, ReplicaManager.java (handleLogDirFailure); KIP-112, KIP-858. A
broker here has one directory, which the controller knows from its registration. So there is
something to report only if the directory was replaced, or if the files of one partition fail.
Apache Kafka gives up the whole directory then.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.metadata_image import PartitionImage, TopicImage
from reference_impl.core.controller.image.registrations import LOST
from reference_impl.core.effects import Effect
from reference_impl.core.refused import Refused
from reference_impl.core.requests.asking_controller import ask_controller
from reference_impl.core.waiting.waits import Later, Unanswered
from reference_impl.wire import ApiKey, Struct, definition

REQUEST = definition("AssignReplicasToDirsRequest")
TIMEOUT_MS = 30_000
REPLICAS_MAX = 2_250
"""The most replicas that one request names (AssignmentsManager.MAX_ASSIGNMENTS_PER_REQUEST)."""
Assignments = dict[UUID, dict[UUID, list[int]]]
"""Directory -> topic id -> the indexes of the partitions."""


def watch_directories(broker: Broker) -> Iterator[Effect]:
    """Run for ever: at every heartbeat interval, stop fetching the partitions whose logs take no
    records, and report the replicas that are not where the metadata have them. A report that fails
    is made again next time."""
    while True:
        yield Later(broker.config.number("broker.heartbeat.interval.ms"))
        stop_copying(broker)
        found = misplaced(broker) if broker.is_unfenced else {}
        if found:
            try:
                yield from ask_controller(
                    broker, ApiKey.ASSIGN_REPLICAS_TO_DIRS, request_of(broker, found), TIMEOUT_MS
                )
            except (Refused, Unanswered):
                continue  # the next turn of this loop asks again


def stop_copying(broker: Broker) -> None:
    """Stop fetching the partitions whose logs take no records any more."""
    for partition in broker.replicas:
        if not partition.log.is_trusted:
            broker.followers.stop((partition.topic_id, partition.index))


def misplaced(broker: Broker) -> Assignments:
    """Return the replicas for which the metadata name another directory, by the directory in which
    they are: this broker's, or LOST for one that cannot be used while another is in sync. At most
    REPLICAS_MAX replicas."""
    found: Assignments = {}
    for topic, index, is_usable in _replicas(broker):
        state = topic.partitions[index]
        wanted = broker.data_directory.directory_id
        if not is_usable and broker.rules.gives_up_replica(state.isr, broker.node_id):
            wanted = LOST
        if directory_of(state, broker.node_id) != wanted:
            found.setdefault(wanted, {}).setdefault(topic.topic_id, []).append(index)
            if sum(len(each) for topics in found.values() for each in topics.values()) >= (
                REPLICAS_MAX
            ):
                break
    return found


def _replicas(broker: Broker) -> Iterator[tuple[TopicImage, int, bool]]:
    """Yield each replica that the metadata assign to this broker, and whether it can be used."""
    topics, own = broker.image.topics, broker.node_id
    for partition in broker.replicas:
        topic = topics.get(partition.topic)
        if topic is not None and own in partition.state.replicas:
            log = partition.log
            is_usable = log.is_trusted and not (partition.leads and log.last_write_failed)
            yield topic, partition.index, is_usable
    for name, index in broker.logs.offline:
        topic = topics.get(name)
        state = None if topic is None else topic.partitions.get(index)
        if topic is not None and state is not None and own in state.replicas:
            yield topic, index, False


def directory_of(state: PartitionImage, replica: int) -> UUID | None:
    """Return the directory in which a replica lies, as the metadata have it. Return None for a node
    that is no replica."""
    return dict(zip(state.replicas, state.directories, strict=False)).get(replica)


def request_of(broker: Broker, found: Assignments) -> Struct:
    """Return the AssignReplicasToDirs request that reports these assignments."""
    row = REQUEST.struct
    directories = [
        row(
            "DirectoryData",
            id=directory,
            topics=[
                row(
                    "TopicData",
                    topic_id=topic_id,
                    partitions=[row("PartitionData", partition_index=each) for each in indexes],
                )
                for topic_id, indexes in topics.items()
            ],
        )
        for directory, topics in found.items()
    ]
    return REQUEST.new(
        broker_id=broker.node_id, broker_epoch=broker.broker_epoch, directories=directories
    )
