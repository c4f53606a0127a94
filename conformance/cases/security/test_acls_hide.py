"""Resources that a client may not see do not appear: not in lists, and no name behind an id.
SEC-09, SEC-10.

Source: KafkaApis.scala, AuthorizerIntegrationTest.scala.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.case import case, expect
from conformance.cases.offsets.offsets import commit
from conformance.clients.consumer_members import ConsumerMember, Partition, partitions_of
from conformance.clients.members import group_connection
from conformance.clients.transactions import Producer
from conformance.target.controlled import CONTROLLED, Guest, codes_in
from conformance.wire import Wire, eventually, part
from reference_impl.wire import ZERO_UUID, ErrorCode, Struct
from reference_impl.wire.acls import AclOperation, ResourceType

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
TRANSACTIONAL_ID = ResourceType.TRANSACTIONAL_ID
OF = AclOperation
DESCRIBE = AclOperation.DESCRIBE


def wanted(name: str) -> list[Struct]:
    """Return the entry of one topic in a Metadata request."""
    return [part("Metadata", "MetadataRequestTopic", name=name)]


@case(
    "SEC-10",
    "Metadata",
    spec="KafkaApis.handleTopicMetadataRequest",
    priority="P1",
    config=CONTROLLED,
)
def test_metadata_of_all_topics_leaves_out_those_one_may_not_describe(
    wire: Wire, alice: Guest, version: int
) -> None:
    """Metadata of all topics lists exactly the topics that the client may describe, completely."""
    mine, other = wire.create_topic(partitions=2), wire.create_topic()
    every: dict[str, list[Struct] | None] = {"topics": [] if version == 0 else None}
    none = alice.call("Metadata", version, **every)
    expect([topic.name for topic in none.topics], [], "topics without any permission")
    alice.may(DESCRIBE, TOPIC, mine.name)
    found = alice.call("Metadata", version, **every).topics
    expect([(t.name, len(t.partitions)) for t in found], [(mine.name, 2)], "topics")
    everything = {topic.name for topic in wire.call("Metadata", version, **every).topics}
    expect(sorted(everything & {mine.name, other.name}), sorted([mine.name, other.name]), "all")


@case(
    "SEC-10",
    "DescribeTopicPartitions",
    spec="DescribeTopicPartitionsRequestHandler.java",
    priority="P1",
    config=CONTROLLED,
)
def test_describe_topic_partitions_leaves_out_what_one_may_not_describe(
    wire: Wire, alice: Guest
) -> None:
    """DescribeTopicPartitions for all topics returns those that the client may describe, and no
    others."""
    mine = wire.create_topic()
    wire.create_topic()
    alice.may(DESCRIBE, TOPIC, mine.name)
    answer = alice.call("DescribeTopicPartitions", topics=[], response_partition_limit=2000)
    expect([topic.name for topic in answer.topics], [mine.name], "topics")


@case(
    "SEC-10",
    "Metadata",
    versions=(1, 13),
    spec="KafkaApis.handleTopicMetadataRequest",
    priority="P1",
    config=CONTROLLED,
)
def test_metadata_of_a_topic_one_may_not_describe_tells_nothing(
    wire: Wire, alice: Guest, version: int
) -> None:
    """Asked for by its name, a topic gets TOPIC_AUTHORIZATION_FAILED (29) without id or partitions,
    and is not internal, whether it exists or not; a missing one is not created."""
    commit(wire, wire.new_name("group"), wire.create_topic(), {0: 0})  # __consumer_offsets exists
    missing = wire.new_name()
    for name in (wire.create_topic().name, missing, "__consumer_offsets"):
        answer = alice.call(
            "Metadata", version, topics=wanted(name), allow_auto_topic_creation=True
        )
        (topic,) = answer.topics
        told = (topic.error_code, topic.name, topic.topic_id, topic.is_internal, topic.partitions)
        expect(told, (DENIED, name, ZERO_UUID, False, []), "the topic's row")
    error = wire.topic_metadata(missing).error_code
    expect(error, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "error of the missing topic")


@case(
    "SEC-10",
    "Metadata",
    versions=(12, 13),
    spec="KIP-516; KafkaApis.handleTopicMetadataRequest",
    priority="P1",
    config=CONTROLLED,
)
def test_metadata_by_id_tells_no_name(wire: Wire, alice: Guest, version: int) -> None:
    """A topic that the client may not describe, requested by its id, gets
    TOPIC_AUTHORIZATION_FAILED (29), and its name is not returned."""
    topic = wire.create_topic()
    row = part("Metadata", "MetadataRequestTopic", name=None, topic_id=topic.id)
    (found,) = alice.call("Metadata", version, topics=[row]).topics
    expect((found.error_code, found.name, found.topic_id), (DENIED, None, topic.id), "row")
    alice.may(DESCRIBE, TOPIC, topic.name)
    (found,) = alice.call("Metadata", version, topics=[row]).topics
    expect((found.error_code, found.name), (ErrorCode.NONE, topic.name), "row with DESCRIBE")


@pytest.mark.parametrize("by", ["topic", "cluster"])
@case(
    "SEC-10",
    "Metadata",
    versions=(4, 13),
    spec="KafkaApis.handleTopicMetadataRequest",
    priority="P1",
    config=CONTROLLED,
)
def test_metadata_creates_a_topic_for_who_may_create(
    wire: Wire, alice: Guest, version: int, by: str
) -> None:
    """With auto.create.topics.enable a missing topic that the client may describe but not create
    gets TOPIC_AUTHORIZATION_FAILED (29) and is not created; with CREATE on the topic or the cluster
    it is created."""
    name = wire.new_name()
    alice.may(DESCRIBE, TOPIC, name)
    fields = {"topics": wanted(name), "allow_auto_topic_creation": True}
    (topic,) = alice.call("Metadata", version, **fields).topics
    expect(topic.error_code, DENIED, "error without CREATE")
    error = wire.topic_metadata(name).error_code
    expect(error, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "error of the topic, asked by who may")
    alice.may(OF.CREATE, *((TOPIC, name) if by == "topic" else (CLUSTER,)))
    eventually(
        lambda: codes_in(alice.call("Metadata", version, **fields)),
        lambda codes: not codes,
        "the topic is created and described",
    )


@case(
    "SEC-09",
    "DeleteTopics",
    versions=(6, 6),
    spec="ControllerApis.deleteTopics",
    priority="P1",
    config=CONTROLLED,
)
def test_a_deletion_by_id_that_is_refused_tells_the_name_to_who_may_describe(
    wire: Wire, alice: Guest
) -> None:
    """DeleteTopics by id without DELETE gets TOPIC_AUTHORIZATION_FAILED (29), and the topic's name
    is returned only with DESCRIBE. With DELETE the topic is deleted."""
    topic = wire.create_topic()

    def deleted() -> tuple[int, str | None]:
        row = part("DeleteTopics", "DeleteTopicState", name=None, topic_id=topic.id)
        (answer,) = alice.call("DeleteTopics", topics=[row], timeout_ms=20_000).responses
        expect(answer.topic_id, topic.id, "id in the answer")
        return answer.error_code, answer.name

    expect(deleted(), (DENIED, None), "(error, name)")
    alice.may(DESCRIBE, TOPIC, topic.name)
    expect(deleted(), (DENIED, topic.name), "(error, name) with DESCRIBE")
    alice.may(OF.DELETE, TOPIC, topic.name)
    expect(deleted(), (ErrorCode.NONE, topic.name), "(error, name) with DELETE")


@case(
    "SEC-09",
    "DeleteTopics",
    versions=(1, 5),
    spec="ControllerApis.deleteTopics",
    priority="P1",
    config=CONTROLLED,
)
def test_a_deletion_by_name_that_is_refused_tells_nothing(
    wire: Wire, alice: Guest, version: int
) -> None:
    """DeleteTopics by name without DELETE gets TOPIC_AUTHORIZATION_FAILED (29), whether or not the
    topic exists; only with DESCRIBE is it reported that the topic does not exist."""
    topic, missing = wire.create_topic(), wire.new_name()

    def deleted(name: str) -> int:
        (row,) = alice.call("DeleteTopics", version, topic_names=[name], timeout_ms=9000).responses
        return int(row.error_code)

    expect([deleted(name) for name in (topic.name, missing)], [DENIED, DENIED], "errors")
    for name in (topic.name, missing):
        alice.may(DESCRIBE, TOPIC, name)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    expect([deleted(topic.name), deleted(missing)], [DENIED, unknown], "errors with DESCRIBE")
    alice.may(OF.DELETE, TOPIC, topic.name)
    expect(deleted(topic.name), ErrorCode.NONE, "error with DELETE")


@case(
    "SEC-09",
    "CreateTopics",
    versions=(5, 7),
    spec="KIP-525; ReplicationControlManager.java",
    priority="P1",
    config=CONTROLLED,
)
def test_who_may_not_describe_configs_creates_a_topic_without_seeing_them(
    wire: Wire, alice: Guest, version: int
) -> None:
    """CreateTopics with CREATE alone makes the topic, but its answer has no configurations, only
    TOPIC_AUTHORIZATION_FAILED (29) in their place; with DESCRIBE_CONFIGS it has them."""
    name = wire.new_name()
    alice.may(OF.CREATE, TOPIC, name)
    row = part("CreateTopics", "CreatableTopic", name=name, num_partitions=1, replication_factor=1)

    def created() -> Struct:
        answer = alice.call(
            "CreateTopics", version, topics=[row], timeout_ms=20_000, validate_only=True
        )
        found: Struct = answer.topics[0]
        return found

    hidden = created()
    told = (
        hidden.error_code,
        hidden.topic_config_error_code,
        hidden.num_partitions,
        hidden.replication_factor,
        hidden.configs or [],
    )
    expect(told, (ErrorCode.NONE, DENIED, -1, -1, []), "the topic's row")
    alice.may(OF.DESCRIBE_CONFIGS, TOPIC, name)
    seen = created()
    codes = (seen.error_code, seen.topic_config_error_code)
    expect(codes, (ErrorCode.NONE, ErrorCode.NONE), "errors with DESCRIBE_CONFIGS")
    expect((seen.num_partitions, bool(seen.configs)), (1, True), "(partitions, configurations)")


@case(
    "SEC-09",
    "ListGroups",
    spec="KafkaApis.handleListGroupsRequest",
    priority="P1",
    config=CONTROLLED,
)
def test_list_groups_leaves_out_those_one_may_not_describe(
    wire: Wire, alice: Guest, version: int
) -> None:
    """ListGroups lists the groups that the client may describe, without an error, and all groups if
    it may describe the cluster."""
    topic = wire.create_topic()
    mine, other = wire.new_name("group"), wire.new_name("group")
    for group in (mine, other):
        commit(wire, group, topic, {0: 0})

    def listed() -> list[str]:
        answer = alice.call("ListGroups", version)
        expect(answer.error_code, ErrorCode.NONE, "ListGroups error")
        return sorted({row.group_id for row in answer.groups} & {mine, other})

    expect(listed(), [], "groups")
    alice.may(OF.READ, GROUP, mine)
    expect(listed(), [mine], "groups with READ of one")
    alice.may(DESCRIBE, CLUSTER)
    expect(listed(), sorted([mine, other]), "groups with DESCRIBE of the cluster")


@case(
    "SEC-09",
    "OffsetFetch",
    versions=(2, 9),
    spec="KafkaApis.fetchAllOffsetsForGroup",
    priority="P1",
    config=CONTROLLED,
)
def test_all_offsets_of_a_group_are_those_of_topics_one_may_describe(
    wire: Wire, alice: Guest, version: int
) -> None:
    """An OffsetFetch for all offsets of a group omits topics that the client may not describe."""
    mine, other = wire.create_topic(), wire.create_topic()
    group = wire.new_name("group")
    for topic in (mine, other):
        commit(wire, group, topic, {0: 7})
    alice.may(DESCRIBE, GROUP, group)
    alice.may(DESCRIBE, TOPIC, mine.name)
    asked = part("OffsetFetch", "OffsetFetchRequestGroup", group_id=group, topics=None)
    answer = alice.call("OffsetFetch", version, group_id=group, topics=None, groups=[asked])
    found = answer if version < 8 else answer.groups[0]
    expect(sorted(codes_in(answer)), [], "error codes")
    expect([topic.name for topic in found.topics], [mine.name], "topics")


@case(
    "SEC-09",
    "ConsumerGroupHeartbeat",
    spec="KIP-848; TopicRegexResolver.java",
    priority="P1",
    config=CONTROLLED,
)
def test_a_pattern_finds_the_topics_one_may_describe(wire: Wire, alice: Guest) -> None:
    """A member that subscribes by a pattern is assigned the topics that match and that it may
    describe; the others are as if they were not there."""
    prefix, group = wire.new_name(), wire.new_name("group")
    mine = wire.create_topic(name=f"{prefix}-a", partitions=2)
    wire.create_topic(name=f"{prefix}-b")
    alice.may(OF.READ, GROUP, group)
    alice.may(DESCRIBE, TOPIC, mine.name)
    member = ConsumerMember(
        wire,
        group,
        alice.connection,
        [],
        wire.version("ConsumerGroupHeartbeat"),
        regex=f"{prefix}-.*",
    )
    group_connection(wire, group)  # the coordinator serves the group
    member.join()

    def owned() -> list[Partition]:
        member.acknowledge()
        return sorted(member.owned)

    eventually(owned, bool, "an assignment")
    expect(owned(), sorted(partitions_of(mine)), "partitions")
    member.leave()


@case(
    "SEC-09",
    "ConsumerGroupDescribe",
    spec="KafkaApis.handleConsumerGroupDescribe",
    priority="P1",
    config=CONTROLLED,
)
def test_a_consumer_group_is_described_to_who_may_see_its_topics(
    wire: Wire, alice: Guest, version: int
) -> None:
    """A client that may describe the group, but not a topic assigned to its members, gets
    TOPIC_AUTHORIZATION_FAILED (29) without members; a topic that is subscribed to and does not
    exist hides nothing."""
    topic, group = wire.create_topic(), wire.new_name("group")
    missing = replace(topic, name=wire.new_name())
    member = ConsumerMember.stable(wire, topic, group=group)
    member.topics = [topic, missing]
    member.beat(**member.subscription())
    alice.may(DESCRIBE, GROUP, group)

    def seen() -> tuple[int, int]:
        (found,) = alice.call("ConsumerGroupDescribe", version, group_ids=[group]).groups
        return found.error_code, len(found.members)

    expect(seen(), (DENIED, 0), "(error, members)")
    alice.may(DESCRIBE, TOPIC, topic.name)
    expect(seen(), (ErrorCode.NONE, 1), "(error, members) with DESCRIBE of the topic")
    member.leave()


@case(
    "SEC-09",
    "ListTransactions",
    spec="KafkaApis.handleListTransactionsRequest",
    priority="P1",
    config=CONTROLLED,
)
def test_transactions_are_listed_and_described_as_far_as_one_may(wire: Wire, alice: Guest) -> None:
    """ListTransactions leaves out transactional ids that the client may not describe, and
    DescribeTransactions the topics that it may not."""
    mine, other = Producer.ready(wire), Producer.ready(wire)
    topic, hidden = wire.create_topic(), wire.create_topic()
    for each in (topic, hidden):
        mine.add_and_send(each, b"x")
    alice.may(DESCRIBE, TRANSACTIONAL_ID, mine.transactional_id)
    alice.may(DESCRIBE, TOPIC, topic.name)
    listed = {row.transactional_id for row in alice.call("ListTransactions").transaction_states}
    both = {mine.transactional_id, other.transactional_id}
    expect(sorted(listed & both), [mine.transactional_id], "transactional ids")
    ids = [mine.transactional_id]
    (row,) = alice.call("DescribeTransactions", transactional_ids=ids).transaction_states
    expect([each.topic for each in row.topics], [topic.name], "topics of the transaction")
    mine.abort()
