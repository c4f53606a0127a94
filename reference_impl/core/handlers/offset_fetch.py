"""OffsetFetch (API key 9). Spec: OffsetFetchRequest.json; KIP-88 (all topics, v2), KIP-320 (leader
epoch, v5), KIP-447 (require_stable, v7), KIP-709 (several groups, v8), KIP-848 (topic ids, v10)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterator
from functools import partial
from typing import Any

from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.metadata_image import TopicImage
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.groups.consumer.commits import check_fetch
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.offsets import CommittedOffset
from reference_impl.core.log.directories.checkpoints import TopicPartition
from reference_impl.core.refused import Refused
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.requests.repetitions import Repetitions
from reference_impl.core.security.authorization.permissions import DESCRIBE_GROUP, DESCRIBE_TOPIC
from reference_impl.wire import ErrorCode, Struct, definition
from reference_impl.wire.codec.primitives import ZERO_UUID

RESPONSE = definition("OffsetFetchResponse")
SEVERAL_GROUPS_SINCE, TOPIC_IDS_SINCE = 8, 10
NO_OFFSET = CommittedOffset(-1, -1, "", -1)
UNSTABLE = CommittedOffset(-1, -1, "", -1)
"""The mark of a partition whose offset an open transaction may change. It is compared by identity,
since its fields equal those of NO_OFFSET."""

Offsets = dict[TopicPartition, CommittedOffset]
Rows = Generator[Effect, None, list[Struct]]
"""A generator that returns rows, and gives way to other requests meanwhile."""


def handle_offset_fetch(broker: Broker, request: Request) -> Iterator[Effect]:
    """Answer with the offsets that groups have committed. Answer for all topics of one group at
    most REPETITIONS_MAX times."""
    # VALIDATE happens for each group on its own. DEDUPLICATE, APPLY: reading changes nothing.
    # RESPOND
    asked: defaultdict[str, Repetitions] = defaultdict(Repetitions)
    # [Modified in v8: KIP-709]
    if request.api_version >= SEVERAL_GROUPS_SINCE:
        rows = []
        for wanted in request.body.groups:
            yield GiveWay(request)
            if wanted.topics is None and not asked[wanted.group_id].allow(None):
                continue
            row = yield from group_of(broker, request, wanted, asked[wanted.group_id])
            rows.append(row)
        yield Respond(request, RESPONSE.new(groups=rows))
        return
    body, group_id, topics = RESPONSE.new(), request.body.group_id, request.body.topics
    try:
        offsets = offsets_of(broker, request, group_id, topics)
        body.topics = yield from topics_of(broker, request, topics, offsets, asked[group_id], "")
    except Refused as refused:
        body.error_code = refused.code
        body.topics = yield from refused_topics(request, refused.code)
    yield Respond(request, body)


def group_of(
    broker: Broker, request: Request, wanted: Struct, asked: Repetitions
) -> Generator[Effect, None, Struct]:
    """Return the row of one group, with its offsets or the error for it. `asked` counts how often
    the request has named each partition for this group."""
    row = RESPONSE.struct("OffsetFetchResponseGroup", group_id=wanted.group_id)
    try:
        offsets = offsets_of(broker, request, wanted.group_id, wanted.topics, wanted)
        row.topics = yield from topics_of(broker, request, wanted.topics, offsets, asked, "s")
    except Refused as refused:
        row.error_code = refused.code
    return row


def offsets_of(
    broker: Broker,
    request: Request,
    group_id: str,
    wanted: list[Struct] | None,
    speaker: Struct | None = None,
) -> Offsets:
    """Return the offsets that a group has committed. With `require_stable`, UNSTABLE stands for one
    that an open transaction may change. Raise Refused if the client lacks the permission, if this
    broker does not coordinate the group, or if `speaker`, a row with member id and epoch, may not
    read the offsets of a consumer group (`check_fetch`)."""
    broker.access.require(request, DESCRIBE_GROUP, group_id)
    coordinator = broker.groups.of(group_id)
    group = coordinator.group(group_id)
    # [New in v9: KIP-848]
    if speaker is not None and isinstance(group, ConsumerGroup):
        check_fetch(group, speaker.member_id, speaker.member_epoch)
    committed = coordinator.offsets
    offsets = {
        key: broker.rules.committed_offset(committed, group_id, key)
        for key in committed.of(group_id)
    }
    # [New in v7: KIP-447]
    if not request.body.require_stable:
        return offsets
    pending = broker.rules.unstable(coordinator.pending_offsets, group_id)
    # A request for all partitions gets only those with a commit (OffsetMetadataManager.java,
    # fetchAllOffsets).
    return {**offsets, **{key: UNSTABLE for key in pending if wanted is not None or key in offsets}}


def topics_of(
    broker: Broker,
    request: Request,
    wanted: list[Struct] | None,
    offsets: Offsets,
    asked: Repetitions,
    plural: str,
) -> Rows:
    """Return the rows of the requested topics; for None, those of all topics with committed
    offsets. A topic that the client may not describe gets an error, or is left out of all. Answer
    for one partition at most REPETITIONS_MAX times, since each row may contain kilobytes of
    metadata. plural: "s" for the structs of version 8 and later, whose names end so."""
    by_id = request.api_version >= TOPIC_IDS_SINCE
    found = []
    for name, topic_id, indexes in asked_for(broker, wanted, offsets, by_id):
        yield GiveWay(request)
        topic = broker.image.topic_of(None if by_id else name, topic_id)
        known_name = topic.name if topic is not None else name
        if known_name and not broker.access.may(request, DESCRIBE_TOPIC, known_name):
            if wanted is None:
                continue
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            rows = yield from refused_rows(request, indexes, code, plural)
        else:
            describe = partial(partition_row, topic, name, offsets, by_id, plural)
            seldom = (index for index in indexes if asked.allow((name, topic_id, index)))
            rows = yield from for_each(request, seldom, describe)
        found.append(
            RESPONSE.struct(
                f"OffsetFetchResponseTopic{plural}",
                **({"name": name, "topic_id": topic_id} if plural else {"name": name}),
                partitions=rows,
            )
        )
    return found


def asked_for(
    broker: Broker, wanted: list[Struct] | None, offsets: Offsets, by_id: bool
) -> Iterator[tuple[str, Any, list[int]]]:
    """Yield (name, topic id, partitions) of every topic to answer for: the requested ones or, for
    None, all that exist and have committed offsets."""
    if wanted is not None:
        for topic in wanted:
            topic_id = topic.topic_id if by_id else ZERO_UUID
            yield topic.name, topic_id, topic.partition_indexes
        return
    by_topic: dict[str, list[int]] = {}
    for name, index in offsets:
        by_topic.setdefault(name, []).append(index)
    for name, indexes in by_topic.items():
        image = broker.image.topics.get(name)
        if image is not None:  # Kafka leaves out topics that were deleted
            yield name, image.topic_id, indexes


def partition_row(
    topic: TopicImage | None, name: str, offsets: Offsets, by_id: bool, plural: str, index: int
) -> Struct:
    """Return the row of one partition with its committed offset: -1 if there is none, if it was
    committed for a deleted topic of the same name, or (with an error) if a transaction may change
    it. The row has an error, too, if the topic id of a request `by_id` is unknown. name: used if
    there is no such topic. plural: the end of the row's name, as for `topics_of`."""
    code = ErrorCode.UNKNOWN_TOPIC_ID if by_id and topic is None else ErrorCode.NONE
    committed = offsets.get((topic.name if topic is not None else name, index), NO_OFFSET)
    if topic is not None and committed.topic_id not in (ZERO_UUID, topic.topic_id):
        committed = NO_OFFSET  # committed for a deleted topic of the same name
    if committed is UNSTABLE:
        code = ErrorCode.UNSTABLE_OFFSET_COMMIT
    return RESPONSE.struct(
        f"OffsetFetchResponsePartition{plural}",
        partition_index=index,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        error_code=code,
    )


def refused_topics(request: Request, code: ErrorCode) -> Rows:
    """Return the rows of the requested topics, in which each partition has the group's error,
    because versions before 2 have no field for an error of the whole group."""
    topics = []
    for topic in request.body.topics or ():
        yield GiveWay(request)
        rows = yield from refused_rows(request, topic.partition_indexes, code, "")
        topics.append(RESPONSE.struct("OffsetFetchResponseTopic", name=topic.name, partitions=rows))
    return topics


def refused_rows(request: Request, indexes: list[int], code: ErrorCode, plural: str) -> Rows:
    """Return rows that contain nothing but this error, one for each partition."""
    return (
        yield from for_each(
            request,
            indexes,
            lambda index: RESPONSE.struct(
                f"OffsetFetchResponsePartition{plural}",
                partition_index=index,
                committed_offset=-1,
                metadata="",
                error_code=code,
            ),
        )
    )
