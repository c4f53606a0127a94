"""OffsetCommit (API key 8). Spec: OffsetCommitRequest.json; KIP-320 (leader epoch, v6), KIP-345
(v7), KIP-211 (no retention time since v5), KIP-516 and KIP-848 (topic ids, v10)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.metadata_image import TopicImage
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.groups.classic import timers
from reference_impl.core.groups.classic.states import State
from reference_impl.core.groups.committing import WantedCommit, check_commit, commits_of
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.group_log import encoded_commit
from reference_impl.core.groups.offsets import Committer
from reference_impl.core.refused import Refused
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.security.authorization.permissions import READ_GROUP, READ_TOPIC
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("OffsetCommitResponse")
TOPIC_IDS_SINCE = 10


def handle_offset_commit(broker: Broker, request: Request) -> Iterator[Effect]:
    """Store the offsets that a group commits, and answer with an error code for each partition."""
    answer = RESPONSE.new()
    wanted: list[WantedCommit] = []
    for topic in request.body.topics:
        yield GiveWay(request)
        rows = RESPONSE.struct(
            "OffsetCommitResponseTopic", name=topic.name, topic_id=topic.topic_id
        )
        answer.topics.append(rows)
        for partition in topic.partitions:
            yield GiveWay(request)
            row = RESPONSE.struct(
                "OffsetCommitResponsePartition", partition_index=partition.partition_index
            )
            rows.partitions.append(row)
            try:
                image = existing(broker, request, topic, partition.partition_index)
                wanted.append((image, partition, row))
            except Refused as refused:
                row.error_code = refused.code
    # DEDUPLICATE: the newest commit counts, so the same one again changes nothing.
    if wanted:
        try:
            yield from commit(broker, request, wanted)
        except Refused as refused:
            for _, _, row in wanted:
                row.error_code = refused.code
    # RESPOND
    yield Respond(request, answer)


def existing(broker: Broker, request: Request, topic: Struct, index: int) -> TopicImage:
    """Return the topic. Raise Refused unless the sender may read the group and the topic, and the
    partition exists."""
    # VALIDATE the partitions
    broker.access.require(request, READ_GROUP, request.body.group_id)
    # [Modified in v10: KIP-848]
    by_id = request.api_version >= TOPIC_IDS_SINCE
    image = broker.image.topic_of(None if by_id else topic.name, topic.topic_id)
    if image is None:
        if not by_id:
            broker.access.require(request, READ_TOPIC, topic.name)
        raise Refused(ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    broker.access.require(request, READ_TOPIC, image.name)
    if index not in image.partitions:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return image


def commit(broker: Broker, request: Request, wanted: list[WantedCommit]) -> Iterator[Effect]:
    """Commit these offsets to the group's log, then apply them, and renew the session of a classic
    member. Raise Refused, for all of them, if this member may not commit for the group, or the log
    does not take them."""
    body = request.body
    # [Modified in v5: KIP-211]
    commits = commits_of(broker, wanted, body.retention_time_ms)
    records = yield from for_each(request, commits, partial(encoded_commit, body.group_id))
    # VALIDATE the group, which may have changed while others had their turn
    coordinator = broker.groups.of(body.group_id)
    group = coordinator.group_to_commit(
        body.group_id, body.generation_id_or_member_epoch, request.api_version
    )
    committer = Committer(
        body.member_id,
        body.group_instance_id,
        body.generation_id_or_member_epoch,
        request.api_version,
    )
    check_commit(broker, group, committer, wanted)
    # APPLY: the commit takes effect only when it is in the log.
    coordinator.commit(body.group_id, commits, records)
    if isinstance(group, ConsumerGroup):
        return
    member = group.members.get(body.member_id)
    if member is not None and group.state in (State.STABLE, State.PREPARING_REBALANCE):
        yield from timers.expect_heartbeat(group, member)  # a commit renews the session, too
