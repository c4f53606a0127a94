"""ConsumerGroupDescribe (API key 69). Spec: ConsumerGroupDescribeRequest.json; KIP-848; KIP-1099
(v1: the protocol that each member speaks)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.groups.consumer.leaving import no_consumer_group
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.consumer.model.member import ConsumerMember, TopicIdPartition
from reference_impl.core.groups.consumer.model.records import by_topic
from reference_impl.core.refused import Refused
from reference_impl.core.requests.repetitions import Repetitions
from reference_impl.core.security.authorization.permissions import DESCRIBE_GROUP, DESCRIBE_TOPIC
from reference_impl.wire import ErrorCode, Struct, definition
from reference_impl.wire.acls import ResourceType

RESPONSE = definition("ConsumerGroupDescribeResponse")
CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1


def handle_consumer_group_describe(broker: Broker, request: Request) -> Iterator[Effect]:
    """Describe consumer groups: epochs, and for each member its current and its target assignment.
    Describe one group at most REPETITIONS_MAX times."""
    # VALIDATE happens for each group. DEDUPLICATE, APPLY: reading changes nothing.
    rows = []
    asked = Repetitions()
    for group_id in request.body.group_ids:
        yield GiveWay(request)
        if not asked.allow(group_id):
            continue
        try:
            row = described(broker, request, group_id)
        except Refused as refused:
            row = RESPONSE.struct(
                "DescribedGroup",
                group_id=group_id,
                error_code=refused.code,
                error_message=refused.message,
            )
        rows.append(row)
    # RESPOND
    yield Respond(request, RESPONSE.new(groups=rows))


def described(broker: Broker, request: Request, group_id: str) -> Struct:
    """Return the row of one group. Raise Refused if consumer groups are disabled, if it is not one,
    if this broker does not coordinate it, or if the client may not describe it and the topics of
    its assignments."""
    if not broker.groups.settings.serves_consumer_groups:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    broker.access.require(request, DESCRIBE_GROUP, group_id)
    if not group_id:
        raise Refused(ErrorCode.INVALID_GROUP_ID)
    group = broker.groups.of(group_id).group(group_id)
    if not isinstance(group, ConsumerGroup):
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, no_consumer_group(group, group_id))
    row = RESPONSE.struct(
        "DescribedGroup",
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.preferred_assignor(broker.groups.settings.consumer_assignors),
        members=[member_row(broker, group, member) for member in group.members.values()],
    )
    if not all(broker.access.may(request, DESCRIBE_TOPIC, name) for name in topics_in(row)):
        raise Refused(
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            "The group has described topic(s) that the client is not authorized to describe.",
        )
    if request.body.include_authorized_operations:
        row.authorized_operations = broker.access.operations(request, ResourceType.GROUP, group_id)
    return row


def topics_in(group: Struct) -> set[str]:
    """Return the topics in the current and target assignments of a described group."""
    return {
        topic.topic_name
        for member in group.members
        for partitions in (member.assignment, member.target_assignment)
        for topic in partitions.topic_partitions
    }


def member_row(broker: Broker, group: ConsumerGroup, member: ConsumerMember) -> Struct:
    """Return one member's row. A partition that the member was told to give up counts as its own
    until it reports that it stopped."""
    return RESPONSE.struct(
        "Member",
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        assignment=assignment(broker, member.owned),
        target_assignment=assignment(broker, group.part_of(member.member_id)),
        # [New in v1: KIP-1099]
        member_type=CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
    )


def assignment(broker: Broker, partitions: Iterable[TopicIdPartition]) -> Struct:
    """Return the partitions of existing topics, grouped by topic."""
    topics = broker.image.topics_by_id
    return RESPONSE.struct(
        "Assignment",
        topic_partitions=[
            RESPONSE.struct(
                "TopicPartitions",
                topic_id=topic_id,
                topic_name=topics[topic_id].name,
                partitions=indexes,
            )
            for topic_id, indexes in by_topic(partitions)
            if topic_id in topics
        ],
    )
