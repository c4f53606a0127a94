"""Members may subscribe to a hundred thousand topics that do not exist, or more: what the
coordinator decides later costs no more for that.

Work is measured as processor time, with bounds far above what is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time

from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.groups.consumer.migration.conversion import SUBSCRIPTION
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.consumer.model.member import ClassicMembership, ConsumerMember
from reference_impl.core.tests import consumer_client, group_client
from reference_impl.core.tests.consumer_client import Consumer
from reference_impl.core.tests.group_client import Client
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, encode_versioned, request_definition

NAMES = [f"n{number}" for number in range(20_000)]
TOPICS = 60
DELETE = request_definition(ApiKey.OFFSET_DELETE)


@contextmanager
def within(limit_s: float) -> Iterator[None]:
    """Check that the code in the block takes no more processor time than this."""
    begun = process_time()
    yield
    assert process_time() - begun < limit_s


def delete_offsets(world: World) -> set[int]:
    """Delete the offsets of all topics, and return the error codes."""
    rows = [
        DELETE.struct(
            "OffsetDeleteRequestTopic",
            name=f"t-{number}",
            partitions=[DELETE.struct("OffsetDeleteRequestPartition", partition_index=0)],
        )
        for number in range(TOPICS)
    ]
    answer = world.call(ApiKey.OFFSET_DELETE, 0, group_id="g", topics=rows)
    assert answer.error_code == ErrorCode.NONE
    return {row.error_code for topic in answer.topics for row in topic.partitions}


def with_topics(world: World) -> World:
    for number in range(TOPICS):
        world.create_topic(f"t-{number}")
    return world


def test_offsets_are_deleted_at_the_cost_of_one_look_at_the_subscriptions() -> None:
    world = with_topics(consumer_client.new_world())
    for number in range(8):
        Consumer(world, number, *NAMES).join()
    with within(0.2):
        assert delete_offsets(world) == {ErrorCode.NONE}


def test_offsets_are_deleted_at_the_cost_of_reading_a_classic_subscription_once() -> None:
    world = with_topics(group_client.new_world())
    one = Client(world, 1)
    wants = SUBSCRIPTION.new(topics=["t-0", *NAMES], owned_partitions=[], generation_id=-1)
    one.protocols = {"range": encode_versioned(SUBSCRIPTION, wants, 3)}
    one.join()
    world.wait(0)
    one.take()
    one.send_sync({one.member_id: b""})
    with within(0.3):
        assert delete_offsets(world) == {ErrorCode.NONE, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}


def test_a_new_epoch_and_target_cost_nothing_for_names_that_are_no_topics() -> None:
    world = consumer_client.new_world()
    image = world.node.broker.image
    names = frozenset(f"n{number}" for number in range(100_000))
    with_a = names | {"a"}
    group = ConsumerGroup("g")
    group.put(ConsumerMember("elsewhere", topic_names=names))
    for number in range(39):
        group.put(ConsumerMember(f"m{number}", topic_names=with_a))
    with within(0.3):
        assert group.hash_of_metadata(image) != 0
        specs = group.specs(image)
    only_a = frozenset({image.topics["a"].topic_id})
    assert [spec.topics for spec in specs] == [frozenset(), *[only_a] * 39]


def test_a_group_that_is_too_long_for_one_batch_is_refused_before_it_is_upgraded() -> None:
    world = group_client.new_world()
    wants = SUBSCRIPTION.new(topics=NAMES, owned_partitions=[], generation_id=-1)
    for number in range(30):
        one = Client(world, number)
        one.protocols = {"range": encode_versioned(SUBSCRIPTION, wants, 3)}
        one.join()
    new = Consumer(world, 99, "t")
    with within(0.2):
        answer = new.ask(topic_partitions=[], **new.heartbeat_fields)
    assert answer.error_code == ErrorCode.INVALID_COMMIT_OFFSET_SIZE


def test_a_partition_that_a_request_repeats_is_deleted_once() -> None:
    """Its tombstones together would exceed a batch, and the whole request would be refused."""
    world = group_client.new_world()
    nobody = Client(world, 1)
    assert nobody.commit(5, generation_id_or_member_epoch=-1, member_id="") == ErrorCode.NONE
    row = DELETE.struct("OffsetDeleteRequestPartition", partition_index=0)
    topic = DELETE.struct("OffsetDeleteRequestTopic", name="t", partitions=[row] * 60_000)
    answer = world.call(ApiKey.OFFSET_DELETE, 0, group_id="g", topics=[topic])
    assert answer.error_code == ErrorCode.NONE
    assert {row.error_code for row in answer.topics[0].partitions} == {ErrorCode.NONE}
    assert group_client.committed(world) == -1


def test_a_join_costs_its_own_protocols_and_not_those_of_all_members() -> None:
    """The leader of a group may wait in JoinGroup while thousands join."""
    world = group_client.new_world()
    many = dict.fromkeys(NAMES, b"")
    for number in range(20):
        one = Client(world, number, f"i{number}")
        one.protocols = dict(many)
        one.send_join()
    other = Client(world, 99, "other")
    other.protocols = {"none of theirs": b""}
    with within(0.01):
        answer = other.send_join()
    assert answer is not None
    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    other.protocols = {NAMES[-1]: b""}
    with within(0.01):
        assert other.send_join() is None
    group = world.node.broker.groups.of("g").groups["g"]
    assert isinstance(group, ClassicGroup)
    assert group.common_protocols() == {NAMES[-1]}
    with within(0.2):
        assert group.select_protocol() == NAMES[-1]


def test_the_protocols_of_a_classic_member_are_compared_once() -> None:
    group = ConsumerGroup("g")
    pairs = tuple((name, b"") for name in NAMES[:2_000])
    for number in range(20):
        classic = ClassicMembership(10_000, (*pairs, ("range", b"")))
        group.put(ConsumerMember(f"m{number}", classic=classic))
    with within(0.2):
        assert group.supports_protocols("consumer", {**dict(pairs), "range": b""})
        assert not group.supports_protocols("consumer", {f"x{name}": b"" for name, _ in pairs})
    group.put(ConsumerMember("last", classic=ClassicMembership(10_000, (("range", b""),))))
    with within(0.2):
        assert group.supports_protocols("consumer", {**dict(pairs), "range": b""})
        assert not group.supports_protocols("consumer", dict(pairs))
