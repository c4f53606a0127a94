"""Consumer groups under ACLs: who may join, see and be given what (KIP-848; KafkaApis.scala)."""

from __future__ import annotations

from reference_impl.core.requests.automatic_topics import ensure_groups_topic
from reference_impl.core.tests.consumer_client import Consumer, group_in
from reference_impl.core.tests.test_acls import ADMIN, ALICE, controlled, create, entry
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition
from reference_impl.wire.acls import AclOperation, ResourceType


def world_for_alice() -> World:
    """Return a world in which Alice may read the group and describe topic a, but not topic ab."""
    world = controlled(**{"group.consumer.assignment.interval.ms": "0"})
    of = request_definition(ApiKey.CREATE_TOPICS)
    topics = [
        of.struct("CreatableTopic", name=name, num_partitions=2, replication_factor=-1)
        for name in ("a", "ab")
    ]
    world.call(ApiKey.CREATE_TOPICS, 7, client=ADMIN, topics=topics)
    ensure_groups_topic(world.node.broker)
    world.settle()
    group = {"resource_type": ResourceType.GROUP, "resource_name": "g"}
    codes = create(
        world,
        entry(**group, operation=AclOperation.READ),
        entry(resource_name="a", operation=AclOperation.DESCRIBE),
    )
    assert codes == [ErrorCode.NONE] * 2
    return world


def describe(world: World, client: int) -> Struct:
    answer = world.call(ApiKey.CONSUMER_GROUP_DESCRIBE, 1, client=client, group_ids=["g"])
    row: Struct = answer.groups[0]
    return row


def test_a_member_needs_the_group_and_its_topics() -> None:
    world = world_for_alice()
    stranger, alice = Consumer(world, 9, "a"), Consumer(world, ALICE, "a", "ab")
    refused = stranger.ask(topic_partitions=[], **stranger.heartbeat_fields)
    assert refused.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    refused = alice.ask(topic_partitions=[], **alice.heartbeat_fields)
    assert refused.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    alice.heartbeat_fields["subscribed_topic_names"] = ["a"]
    alice.join()
    assert len(alice.target) == 2


def test_a_pattern_describes_only_topics_that_the_member_may_see() -> None:
    world = world_for_alice()
    alice = Consumer(world, ALICE, subscribed_topic_names=None, subscribed_topic_regex="a.*")
    alice.join()
    alice.settle()
    assert group_in(world).regexes["a.*"].topics == {"a"}
    assert len(alice.owned) == 2


def test_a_group_is_described_to_who_may_see_its_topics() -> None:
    world = world_for_alice()
    admin = Consumer(world, ADMIN, "a", "ab")
    admin.join()
    assert describe(world, ADMIN).error_code == ErrorCode.NONE
    assert describe(world, 9).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    hidden = describe(world, ALICE)
    assert (hidden.error_code, hidden.members) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, [])
