"""Build the requests of a classic group's member to its coordinator.

Source: JoinGroupRequest.json, SyncGroupRequest.json, LeaveGroupRequest.json; OffsetCommitRequest
and TxnOffsetCommitRequest.json, whose positions have the same fields.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_impl.client.config import Config
from reference_impl.client.values import (
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    TopicPartition,
    by_topic,
)
from reference_impl.wire import ApiKey, Struct, request_definition

PROTOCOL_TYPE = "consumer"


def join_group(
    member: ConsumerGroupMetadata, config: Config, protocols: Mapping[str, bytes]
) -> Struct:
    """Build a JoinGroup. protocols: name of an assignor -> the encoded subscription for it."""
    of = request_definition(ApiKey.JOIN_GROUP)
    return of.new(
        group_id=member.group_id,
        session_timeout_ms=config["session.timeout.ms"],
        rebalance_timeout_ms=config["max.poll.interval.ms"],
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocols=[
            of.struct("JoinGroupRequestProtocol", name=name, metadata=metadata)
            for name, metadata in protocols.items()
        ],
    )


def sync_group(
    member: ConsumerGroupMetadata, protocol_name: str, assignments: Mapping[str, bytes]
) -> Struct:
    """Build a SyncGroup. assignments: member id -> encoded assignment; only the leader has any."""
    of = request_definition(ApiKey.SYNC_GROUP)
    return of.new(
        group_id=member.group_id,
        generation_id=member.generation_id,
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=protocol_name,
        assignments=[
            of.struct("SyncGroupRequestAssignment", member_id=member_id, assignment=data)
            for member_id, data in assignments.items()
        ],
    )


def leave_group(member: ConsumerGroupMetadata, reason: str) -> Struct:
    """Build a LeaveGroup with a reason (KIP-800)."""
    of = request_definition(ApiKey.LEAVE_GROUP)
    return of.new(
        group_id=member.group_id,
        member_id=member.member_id,
        members=[of.struct("MemberIdentity", member_id=member.member_id, reason=reason)],
    )


def positions(api_key: ApiKey, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> list[Struct]:
    """Return the rows of an offset commit by topic, for a request inside a transaction or
    outside."""
    of = request_definition(api_key)

    def row(topic: str, index: int) -> Struct:
        offset = offsets[TopicPartition(topic, index)]
        return of.struct(
            f"{of.name}Partition",
            partition_index=index,
            committed_offset=offset.offset,
            committed_leader_epoch=offset.leader_epoch,
            committed_metadata=offset.metadata,
        )

    return [
        of.struct(f"{of.name}Topic", name=topic, partitions=[row(topic, i) for i in indexes])
        for topic, indexes in by_topic(offsets).items()
    ]
