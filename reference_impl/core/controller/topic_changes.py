"""Check changes of topics, and write the records that create, grow and delete them.

Source: ReplicationControlManager.java (createTopic, createPartitions, deleteTopic), KIP-464
(defaults with -1), KIP-195 (more partitions).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.configs.topic import check_topic_configs
from reference_impl.core.controller import records
from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.image.metadata_image import TopicImage
from reference_impl.core.controller.image.registrations import directories_of
from reference_impl.core.controller.image.topic_names import collision_key, problem_with
from reference_impl.core.controller.placement import placed
from reference_impl.core.quorum.metadata_log import TOPIC as METADATA_TOPIC
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode, Struct

PARTITIONS_MAX = 10_000
"""The most partitions that one request may create
(ReplicationControlManager.MAX_PARTITIONS_PER_BATCH)."""
RECORDS_MAX = 10_000
"""The most records of metadata that one request may need (QuorumController.
MAX_RECORDS_PER_USER_OP)."""
BY_DEFAULT = -1
FIRST_STRIPES = 997
"""The number of possible positions at which the placement of replicas may begin; it is larger than
the number of brokers in any cluster."""


@dataclass(frozen=True)
class NewTopic:
    """A topic that passed every check, as `plan_topic` returns it: the replicas of its partitions
    in the order of their indexes, and its overrides."""

    name: str
    topic_id: UUID
    assignments: tuple[tuple[int, ...], ...]
    configs: Mapping[str, str] = field(default_factory=dict)


def plan_topic(
    controller: Controller,
    name: str,
    partitions: int = BY_DEFAULT,
    replication_factor: int = BY_DEFAULT,
    assignments: Mapping[int, Sequence[int]] | None = None,
    configs: Mapping[str, str | None] | None = None,
) -> NewTopic:
    """Check everything about a topic to be created, and return its plan; write nothing.
    assignments: the replicas by partition index, in place of an automatic placement. Raise Refused
    if the name, a configuration, the number of partitions or the replicas are not possible."""
    check_name(controller, name)
    overrides = check_configs(configs or {}, controller.config.topic_defaults)
    topic_id = controller.random_uuid()
    if assignments:
        replicas = _manual(controller, partitions, replication_factor, assignments)
    else:
        replicas = _automatic(controller, topic_id, partitions, replication_factor)
    return NewTopic(name, topic_id, replicas, overrides)


def publish_topic(controller: Controller, topic: NewTopic) -> TopicImage:
    """Write the records of a planned topic and return its image. Raise Refused if all replicas of a
    partition are fenced or about to stop. The caller opens its partitions (Replicas.open)."""
    changes = [records.new_topic(topic.name, topic.topic_id)]
    changes += records.topic_configs(topic.name, topic.configs)
    changes += _new_partitions(controller, topic.topic_id, enumerate(topic.assignments))
    controller.write(changes)
    return controller.image.topics[topic.name]


def delete_topic(controller: Controller, topic: TopicImage) -> None:
    """Write the record that removes a topic. Each broker deletes the topic's data when it applies
    the record."""
    controller.write([records.removed_topic(topic.topic_id)])


def check_name(controller: Controller, name: str) -> None:
    """Raise Refused if a new topic may not have this name: it is malformed, taken, the name of the
    metadata log, or looks like a taken one in metrics ('.' and '_')."""
    if name == METADATA_TOPIC:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited."
        )
    problem = problem_with(name)
    if problem is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
    if name in controller.image.topics:
        raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    other = controller.image.names_by_collision_key.get(collision_key(name))
    if other is not None:
        raise Refused(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic '{name}' collides with existing topic: {other}",
        )


def check_configs(configs: Mapping[str, str | None], defaults: Mapping[str, str]) -> dict[str, str]:
    """Return the overrides of a topic. Raise Refused if a value is null or invalid, or contradicts
    another one or a default."""
    overrides = {}
    for key, value in configs.items():
        if value is None:
            raise Refused(
                ErrorCode.INVALID_CONFIG, f"Null value not supported for topic config {key}"
            )
        overrides[key] = value
    try:
        check_topic_configs(overrides, defaults)
    except BadConfig as error:
        raise Refused(ErrorCode.INVALID_CONFIG, str(error)) from None
    return overrides


def plan_growth(
    controller: Controller,
    topic: TopicImage,
    count: int,
    assignments: Sequence[Sequence[int]] | None,
) -> list[tuple[int, tuple[int, ...]]]:
    """Return (index, replicas) of the partitions that grow a topic to `count`. If they are too many
    for a request, stop at one more than a request may have, so that the caller can refuse them.
    Raise Refused if the count is not larger, or the assignments are not possible."""
    has = len(topic.partitions)
    if count == has:
        raise Refused(ErrorCode.INVALID_PARTITIONS, f"Topic already has {has} partition(s).")
    if count < has:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {has} partition(s); {count} would not be an"
            " increase.",
        )
    factor = len(topic.partitions[0].replicas)
    if assignments is None:
        brokers = controller.image.brokers.values()
        # Continue the stripes after the existing partitions.
        new = min(count - has, RECORDS_MAX + 1)
        found = placed(brokers, new, factor, _first_stripe(topic.topic_id) + has)
        return list(enumerate(found, has))
    if len(assignments) != count - has:
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {count - has} additional partition(s), but only"
            f" {len(assignments)} assignment(s) were specified.",
        )
    for replicas in assignments:
        check_assignment(controller, replicas, factor)
    return [(has + index, tuple(replicas)) for index, replicas in enumerate(assignments)]


def grow_topic(
    controller: Controller, topic: TopicImage, growth: Sequence[tuple[int, tuple[int, ...]]]
) -> None:
    """Write the partitions that `plan_growth` has returned. Raise Refused if all replicas of one
    are fenced or about to stop."""
    controller.write(_new_partitions(controller, topic.topic_id, growth))


def _new_partitions(
    controller: Controller, topic_id: UUID, assignments: Iterable[tuple[int, tuple[int, ...]]]
) -> list[Struct]:
    """Return the records of new partitions. Raise Refused if all replicas of one are fenced or
    about to stop."""
    brokers, found = controller.image.brokers, []
    directories = directories_of(brokers.values())
    for index, replicas in assignments:
        isr = [each for each in replicas if controller.rules.may_lead(brokers.get(each))]
        if not isr:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                "All brokers specified in the manual partition assignment for partition"
                f" {index} are fenced or in controlled shutdown.",
            )
        found.append(records.new_partition(topic_id, index, replicas, isr, directories))
    return found


def _automatic(
    controller: Controller, topic_id: UUID, partitions: int, replication_factor: int
) -> tuple[tuple[int, ...], ...]:
    """Return the replicas of each partition, over all brokers, with the configured defaults for -1.
    Raise Refused for 0 or less, and if there are too few brokers."""
    if replication_factor < BY_DEFAULT or replication_factor == 0:
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if partitions < BY_DEFAULT or partitions == 0:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        )
    if partitions == BY_DEFAULT:
        partitions = controller.config.number("num.partitions")
    if replication_factor == BY_DEFAULT:
        replication_factor = controller.config.number("default.replication.factor")
    brokers = controller.image.brokers.values()
    try:
        return placed(brokers, partitions, replication_factor, _first_stripe(topic_id))
    except Refused as refused:
        reason = (
            f"Unable to replicate the partition {replication_factor} time(s): {refused.message}"
        )
        raise Refused(refused.code, reason) from None


def _first_stripe(topic_id: UUID) -> int:
    """Return the position at which a topic's replica placement begins. It depends on the topic, so
    that first partitions are spread over the brokers."""
    return topic_id.int % FIRST_STRIPES


def _manual(
    controller: Controller,
    partitions: int,
    replication_factor: int,
    assignments: Mapping[int, Sequence[int]],
) -> tuple[tuple[int, ...], ...]:
    """Return the replica assignment that the client gave, in the order of the partitions. Raise
    Refused if it is invalid, or if the client gave a number of partitions or replicas, too."""
    for value, what in ((replication_factor, "replication factor"), (partitions, "numPartitions")):
        if value != BY_DEFAULT:
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                f"A manual partition assignment was specified, but {what} was not set to -1.",
            )
    if sorted(assignments) != list(range(len(assignments))):
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        )
    factor = len(assignments[0])
    for replicas in assignments.values():
        check_assignment(controller, replicas, factor)
    return tuple(tuple(assignments[index]) for index in range(len(assignments)))


def check_assignment(controller: Controller, replicas: Sequence[int], factor: int) -> None:
    """Raise Refused unless the replicas are `factor` different registered brokers, at least one
    (ReplicationControlManager.validateManualPartitionAssignment)."""
    problem = None
    if not replicas:
        problem = "The manual partition assignment includes an empty replica list."
    elif len(set(replicas)) != len(replicas):
        problem = "The manual partition assignment includes a broker more than once."
    elif len(replicas) != factor:
        problem = (
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s),"
            f" but this is not consistent with previous partitions, which have {factor} replica(s)."
        )
    elif unknown := sorted(set(replicas) - controller.image.brokers.keys()):
        problem = (
            f"The manual partition assignment includes broker {unknown[0]}, but no such broker is"
            " registered."
        )
    if problem is not None:
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)


def refused_number(partitions: int) -> Refused | None:
    """Return the error if the topics of a request have too many partitions altogether, else None
    (ReplicationControlManager.validateTotalNumberOfPartitions)."""
    if partitions <= PARTITIONS_MAX:
        return None
    return Refused(
        ErrorCode.POLICY_VIOLATION,
        f"Excessively large number of partitions per request: {partitions} exceeds"
        f" {PARTITIONS_MAX}.",
    )
