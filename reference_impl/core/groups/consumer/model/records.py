"""The records of a consumer group in `__consumer_offsets`, and the change that each causes.

Source: GroupCoordinatorRecordHelpers.java, GroupMetadataManager.java (replay); the definitions
ConsumerGroup*Key and *Value (types 3 to 8 and 16). The first half writes a fact as a record; the
second, `apply`, is the only code that changes a group, except for what is kept in memory only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from reference_impl.core.groups.consumer.model.group import ConsumerGroup, ResolvedRegex
from reference_impl.core.groups.consumer.model.member import (
    LEAVE_EPOCH,
    ClassicMembership,
    ConsumerMember,
    Epochs,
    TopicIdPartition,
)
from reference_impl.core.groups.consumer.model.states import MemberState
from reference_impl.wire import Struct, definition

KeyValue = tuple[Struct, Struct | None]
DELETED_EPOCH = -1
"""The epoch in the record of a target whose group is being deleted."""


# --- writing --------------------------------------------------------------------------------------


def member_record(group_id: str, member: ConsumerMember) -> KeyValue:
    """Return the record of a member's identity and subscription."""
    of = definition("ConsumerGroupMemberMetadataValue")
    classic = None
    if member.classic is not None:
        classic = of.struct(
            "ClassicMemberMetadata",
            session_timeout_ms=member.classic.session_timeout_ms,
            supported_protocols=[
                of.struct("ClassicProtocol", name=name, metadata=metadata)
                for name, metadata in member.classic.protocols
            ],
        )
    return _member_key("MemberMetadata", group_id, member.member_id), of.new(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        server_assignor=member.server_assignor,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic_member_metadata=classic,
    )


def current_record(group_id: str, member: ConsumerMember) -> KeyValue:
    """Return the record of a member's epoch, state and partitions."""
    of = definition("ConsumerGroupCurrentMemberAssignmentValue")

    def rows(partitions: Epochs) -> list[Struct]:
        return [
            of.struct(
                "TopicPartitions",
                topic_id=topic_id,
                partitions=indexes,
                assignment_epochs=[partitions[topic_id, index] for index in indexes],
            )
            for topic_id, indexes in by_topic(partitions)
        ]

    return _member_key("CurrentMemberAssignment", group_id, member.member_id), of.new(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state.value,
        assigned_partitions=rows(member.assigned),
        partitions_pending_revocation=rows(member.revoking),
    )


def target_record(
    group_id: str, member_id: str, partitions: Iterable[TopicIdPartition]
) -> KeyValue:
    """Return the record of a member's target assignment."""
    of = definition("ConsumerGroupTargetAssignmentMemberValue")
    return _member_key("TargetAssignmentMember", group_id, member_id), of.new(
        topic_partitions=[
            of.struct("TopicPartition", topic_id=topic_id, partitions=indexes)
            for topic_id, indexes in by_topic(partitions)
        ]
    )


def target_epoch_record(group_id: str, epoch: int, timestamp_ms: int) -> KeyValue:
    """Return the record of the group epoch for which the target was computed. timestamp_ms: when it
    was computed."""
    return _group_key("TargetAssignmentMetadata", group_id), definition(
        "ConsumerGroupTargetAssignmentMetadataValue"
    ).new(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> KeyValue:
    """Return the record of a group's epoch, and of the hash of its topics. An epoch higher than the
    target's needs a new target."""
    return _group_key("Metadata", group_id), definition("ConsumerGroupMetadataValue").new(
        epoch=epoch, metadata_hash=metadata_hash
    )


def regex_record(group_id: str, regex: str, resolved: ResolvedRegex | None) -> KeyValue:
    """Return the record of the topics that a pattern matches or, for None, the tombstone that
    deletes it."""
    key = definition("ConsumerGroupRegularExpressionKey").new(
        group_id=group_id, regular_expression=regex
    )
    if resolved is None:
        return key, None
    return key, definition("ConsumerGroupRegularExpressionValue").new(
        topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.timestamp_ms
    )


def partition_metadata_tombstone(group_id: str) -> KeyValue:
    """Return the tombstone of a group's ConsumerGroupPartitionMetadata record, which Kafka wrote
    before 4.1."""
    return _group_key("PartitionMetadata", group_id), None


def member_tombstones(group_id: str, member_id: str) -> list[KeyValue]:
    """Return the tombstones of a member, in this order: current assignment, target, member."""
    kinds = ("CurrentMemberAssignment", "TargetAssignmentMember", "MemberMetadata")
    return [(_member_key(kind, group_id, member_id), None) for kind in kinds]


def group_tombstones(group: ConsumerGroup) -> list[KeyValue]:
    """Return the tombstones of a group, its members, its target and its patterns, but not those of
    its committed offsets."""
    group_id = group.group_id
    return [
        *(
            record
            for member_id in group.members
            for record in member_tombstones(group_id, member_id)
        ),
        (_group_key("TargetAssignmentMetadata", group_id), None),
        *(regex_record(group_id, regex, None) for regex in group.regexes),
        partition_metadata_tombstone(group_id),
        (_group_key("Metadata", group_id), None),
    ]


def group_records(group: ConsumerGroup) -> list[KeyValue]:
    """Return the records of a whole group, as it is after conversion from the classic protocol: all
    but those of patterns."""
    group_id, members = group.group_id, group.members.values()
    return [
        *(member_record(group_id, member) for member in members),
        epoch_record(group_id, group.epoch, group.metadata_hash),
        *(target_record(group_id, each, group.part_of(each)) for each in group.members),
        target_epoch_record(group_id, group.assignment_epoch, group.assignment_timestamp_ms),
        *(current_record(group_id, member) for member in members),
    ]


def by_topic(partitions: Iterable[TopicIdPartition]) -> list[tuple[UUID, list[int]]]:
    """Return partitions in the form of the protocol: a sorted list of (topic id, sorted partition
    indexes)."""
    topics: dict[UUID, list[int]] = {}
    for topic_id, index in sorted(partitions):
        topics.setdefault(topic_id, []).append(index)
    return list(topics.items())


def partitions_in(rows: Iterable[Struct]) -> list[TopicIdPartition]:
    """Return the partitions in these rows of a record or a request (each a topic id with partition
    indexes)."""
    return [(row.topic_id, index) for row in rows for index in row.partitions]


def _group_key(kind: str, group_id: str) -> Struct:
    return definition(f"ConsumerGroup{kind}Key").new(group_id=group_id)


def _member_key(kind: str, group_id: str, member_id: str) -> Struct:
    return definition(f"ConsumerGroup{kind}Key").new(group_id=group_id, member_id=member_id)


# --- applying -------------------------------------------------------------------------------------


def is_of_consumer_group(key: Struct) -> bool:
    """Return whether a record with this key belongs to a consumer group."""
    return type(key).__name__ in _ACTIONS


def ends_group(key: Struct, value: Struct | None) -> bool:
    """Return whether this record is the last tombstone of a group, after which nothing of the group
    is left."""
    return value is None and type(key).__name__ == "ConsumerGroupMetadataKey"


def apply(group: ConsumerGroup, key: Struct, value: Struct | None) -> None:
    """Apply one record to the group; a value of None is a tombstone."""
    _ACTIONS[type(key).__name__](group, key, value)


def _member(group: ConsumerGroup, key: Struct, value: Struct | None) -> None:
    if value is None:
        group.remove(key.member_id)
        return
    known = group.members.get(key.member_id, ConsumerMember(key.member_id))
    classic = value.classic_member_metadata
    group.put(
        replace(
            known,
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topic_names=frozenset(value.subscribed_topic_names),
            topic_regex=value.subscribed_topic_regex or "",
            server_assignor=value.server_assignor,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            classic=None
            if classic is None
            else ClassicMembership(
                classic.session_timeout_ms,
                tuple((row.name, bytes(row.metadata)) for row in classic.supported_protocols),
            ),
        )
    )


def _current(group: ConsumerGroup, key: Struct, value: Struct | None) -> None:
    known = group.members.get(key.member_id)
    if value is None:
        if known is not None:
            group.put(
                replace(
                    known, epoch=LEAVE_EPOCH, previous_epoch=LEAVE_EPOCH, assigned={}, revoking={}
                )
            )
        return
    group.put(
        replace(
            known or ConsumerMember(key.member_id),
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=MemberState(value.state),
            assigned=_with_epochs(value.assigned_partitions, value.member_epoch),
            revoking=_with_epochs(value.partitions_pending_revocation, value.member_epoch),
        )
    )


def _with_epochs(rows: Iterable[Struct], member_epoch: int) -> Epochs:
    """Return the epoch of each partition; records older than KIP-1251 lack it and take the
    member's, or 0 if that is negative."""
    found: dict[TopicIdPartition, int] = {}
    for row in rows:
        epochs = row.assignment_epochs
        if epochs is None or len(epochs) != len(row.partitions):
            epochs = [max(member_epoch, 0)] * len(row.partitions)
        found.update(
            ((row.topic_id, index), epoch)
            for index, epoch in zip(row.partitions, epochs, strict=True)
        )
    return found


def _target(group: ConsumerGroup, key: Struct, value: Struct | None) -> None:
    if value is None:
        group.target.pop(key.member_id, None)
    else:
        group.target[key.member_id] = frozenset(partitions_in(value.topic_partitions))


def _target_epoch(group: ConsumerGroup, key: Struct, value: Struct | None) -> None:
    group.assignment_epoch = DELETED_EPOCH if value is None else value.assignment_epoch
    group.assignment_timestamp_ms = 0 if value is None else value.assignment_timestamp


def _epoch(group: ConsumerGroup, key: Struct, value: Struct | None) -> None:
    if value is not None:
        group.epoch, group.metadata_hash = value.epoch, value.metadata_hash


def _regex(group: ConsumerGroup, key: Struct, value: Struct | None) -> None:
    if value is None:
        group.regexes.pop(key.regular_expression, None)
    else:
        group.regexes[key.regular_expression] = ResolvedRegex(
            frozenset(value.topics), value.version, value.timestamp
        )


def _partition_metadata(group: ConsumerGroup, key: Struct, value: Struct | None) -> None:
    group.has_partition_metadata = value is not None


_ACTIONS: Mapping[str, Callable[[ConsumerGroup, Any, Any], None]] = {
    "ConsumerGroupMetadataKey": _epoch,
    "ConsumerGroupPartitionMetadataKey": _partition_metadata,
    "ConsumerGroupMemberMetadataKey": _member,
    "ConsumerGroupTargetAssignmentMetadataKey": _target_epoch,
    "ConsumerGroupTargetAssignmentMemberKey": _target,
    "ConsumerGroupCurrentMemberAssignmentKey": _current,
    "ConsumerGroupRegularExpressionKey": _regex,
}
