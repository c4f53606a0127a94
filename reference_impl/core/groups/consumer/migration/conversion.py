"""Convert groups from the classic protocol to the new one and back, while members work.

Source: KIP-848, Compatibility, Deprecation, and Migration Plan; GroupMetadataManager.java
(validateOnlineUpgrade, convertToConsumerGroup, validateOnlineDowngradeWithFencedMembers,
convertToClassicGroup), ConsumerGroup.java (fromClassicGroup), ClassicGroup.java
(fromConsumerGroup).

The first member that speaks the new protocol turns a classic group into a consumer group; the
others continue to use JoinGroup, SyncGroup and Heartbeat inside it (classic_members.py). When the
last one that speaks the new protocol leaves, the group becomes classic again. Generations and
epochs are one sequence of numbers, and the conversion itself changes no member's partitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reference_impl.core.controller.image.metadata_image import MetadataImage
from reference_impl.core.effects import Effect
from reference_impl.core.groups import group_log
from reference_impl.core.groups.classic import rebalance
from reference_impl.core.groups.classic import timers as classic_timers
from reference_impl.core.groups.classic.group import CONSUMER_PROTOCOL, ClassicGroup, Member
from reference_impl.core.groups.classic.states import State
from reference_impl.core.groups.consumer import timers
from reference_impl.core.groups.consumer.model import records
from reference_impl.core.groups.consumer.model.draft import Draft
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.consumer.model.member import (
    ClassicMembership,
    ConsumerMember,
    TopicIdPartition,
)
from reference_impl.core.groups.coordinator import GroupCoordinator
from reference_impl.core.refused import Refused
from reference_impl.wire import (
    ErrorCode,
    Malformed,
    Struct,
    decode_versioned,
    definition,
    encode_versioned,
)

SUBSCRIPTION = definition("ConsumerProtocolSubscription")
ASSIGNMENT = definition("ConsumerProtocolAssignment")
DISABLED, UPGRADE, DOWNGRADE, BIDIRECTIONAL = "disabled", "upgrade", "downgrade", "bidirectional"
"""Values of group.consumer.migration.policy (ConsumerGroupMigrationPolicy.java)."""


# --- to the new protocol --------------------------------------------------------------------------


def upgraded(coordinator: GroupCoordinator, classic: ClassicGroup) -> Draft:
    """Return the draft of the consumer group that a classic one becomes when a member of the new
    protocol joins. Once it is written, the requests that wait in the classic group are refused.
    Raise Refused if the policy forbids that, the group or what its members sent is too large, they
    do not speak the consumer protocol, or an assignment has user data."""
    size_max = coordinator.settings.number("group.consumer.max.size")
    problem = None
    if coordinator.settings.migration_policy not in (UPGRADE, BIDIRECTIONAL):
        problem = "online upgrade is disabled."
    elif classic.protocol_type != CONSUMER_PROTOCOL:
        problem = "the group does not use the consumer embedded protocol."
    elif len(classic.members) > size_max:
        problem = "the group size exceeds the consumer group maximum size."
    if problem is not None:
        raise _cannot_upgrade(classic, problem)
    # The records of the new group will hold all of this; to convert it first takes seconds.
    subscriptions = (data for each in classic.members.values() for data in each.protocols.values())
    coordinator.log.check_size(sum(map(len, subscriptions)))
    group = ConsumerGroup(classic.group_id)
    group.epoch = group.assignment_epoch = classic.generation
    for member in classic.members.values():
        try:
            converted = _converted(coordinator.image, classic, member)
        except Malformed as error:
            raise _cannot_upgrade(
                classic, f"the embedded consumer protocol is malformed: {error}."
            ) from None
        group.put(converted)
        group.target[member.member_id] = frozenset(converted.assigned)
    group.metadata_hash = group.hash_of_metadata(coordinator.image)
    draft = Draft(ConsumerGroup(classic.group_id), [group_log.group_tombstone(classic.group_id)])
    draft.write(*records.group_records(group))
    draft.then(rebalance.abandon(classic, ErrorCode.REBALANCE_IN_PROGRESS))
    for member_id, converted in draft.group.members.items():
        timeout_ms = classic.members[member_id].session_timeout_ms
        draft.then(timers.expect_heartbeat(classic.group_id, converted, timeout_ms))
    return draft


def _cannot_upgrade(classic: ClassicGroup, why: str) -> Refused:
    return Refused(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {classic.group_id} to consumer group because {why}",
    )


def _converted(image: MetadataImage, classic: ClassicGroup, member: Member) -> ConsumerMember:
    """Return one member with the assignment from its classic leader as a classic member of a
    consumer group. Raise Malformed if its assignment or subscription is, and Refused if the
    assignment has user data."""
    assigned: list[TopicIdPartition] = []
    if member.assignment:
        _, assignment = decode_versioned(ASSIGNMENT, member.assignment)
        if assignment.user_data:
            raise _cannot_upgrade(classic, "an unsupported custom assignor is in use.")
        assigned = partitions_named(image, assignment.assigned_partitions)
    # A member that came after the choice of the protocol may lack it; each has a subscription.
    metadata = member.protocols.get(classic.protocol or "", next(iter(member.protocols.values())))
    _, subscription = decode_versioned(SUBSCRIPTION, metadata)
    return ConsumerMember(
        member.member_id,
        epoch=classic.generation,
        previous_epoch=classic.generation,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topic_names=frozenset(subscription.topics),
        assigned=dict.fromkeys(assigned, classic.generation),
        classic=ClassicMembership(member.session_timeout_ms, tuple(member.protocols.items())),
    )


# --- and back -------------------------------------------------------------------------------------


def may_downgrade(
    coordinator: GroupCoordinator,
    group: ConsumerGroup,
    going: Mapping[str, ConsumerMember],
    coming: int = 0,
) -> bool:
    """Return whether the group may become a classic one (KIP-848) when the members in `going` leave
    and `coming` classic ones join: it has members then, all of them classic, and the migration
    policy and the maximum size of a classic group allow it."""
    staying = [member for name, member in group.members.items() if name not in going]
    size = len(staying) + coming
    return (
        size > 0
        and all(member.classic is not None for member in staying)
        and coordinator.settings.migration_policy in (DOWNGRADE, BIDIRECTIONAL)
        and size <= coordinator.settings.group_size_max
    )


def downgrade(
    coordinator: GroupCoordinator,
    draft: Draft,
    going: Mapping[str, ConsumerMember],
    *,
    rebalances: bool = True,
) -> Iterator[Effect]:
    """Make the group of the draft classic, without the members in `going` and those of the new
    protocol. Begin a rebalance then if `rebalances`. Raise Refused if the log does not take its
    records."""
    group = draft.group
    classic = _classic(coordinator, group, going)
    coordinator.log.append(
        [*draft.records, *records.group_tombstones(group), group_log.group_record(classic)]
    )
    coordinator.groups[group.group_id] = classic
    yield from draft.consequences()
    for member_id in group.members:
        yield from timers.forget_member(group, member_id)
    for member in classic.members.values():
        yield from classic_timers.expect_heartbeat(classic, member)
    if rebalances:
        yield from rebalance.prepare(coordinator, classic)


def _classic(
    coordinator: GroupCoordinator, group: ConsumerGroup, going: Mapping[str, ConsumerMember]
) -> ClassicGroup:
    classic = ClassicGroup(
        group.group_id,
        State.STABLE,
        group.epoch,
        CONSUMER_PROTOCOL,
        state_timestamp_ms=coordinator.now_ms,
    )
    for member in group.members.values():
        if member.member_id in going or member.classic is None:
            continue
        classic.add(
            Member(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                member.classic.session_timeout_ms,
                member.rebalance_timeout_ms,
                CONSUMER_PROTOCOL,
                dict(member.classic.protocols),
                encoded_assignment(coordinator.image, member, group.part_of(member.member_id)),
            )
        )
    classic.protocol = classic.select_protocol()
    return classic


# --- the forms of the classic protocol ------------------------------------------------------------


def partitions_named(image: MetadataImage, rows: list[Struct]) -> list[TopicIdPartition]:
    """Return the partitions in these rows (each a topic name with partition indexes) by topic id,
    leaving out topics that do not exist."""
    return [
        (image.topics[row.topic].topic_id, index)
        for row in rows
        if row.topic in image.topics
        for index in row.partitions
    ]


def encoded_assignment(
    image: MetadataImage, member: ConsumerMember, partitions: frozenset[TopicIdPartition]
) -> bytes:
    """Encode partitions as SyncGroup answers them, in the version of the member's subscription.
    Leave out topics that no longer exist. Raise ValueError for a member that does not speak the
    classic protocol."""
    if member.classic is None:
        raise ValueError(f"member {member.member_id} does not speak the classic protocol")
    rows = [
        ASSIGNMENT.struct(
            "TopicPartition", topic=image.topics_by_id[topic_id].name, partitions=indexes
        )
        for topic_id, indexes in records.by_topic(partitions)
        if topic_id in image.topics_by_id
    ]
    version, _ = decode_versioned(SUBSCRIPTION, member.classic.protocols[0][1])
    return encode_versioned(ASSIGNMENT, ASSIGNMENT.new(assigned_partitions=rows), version)
