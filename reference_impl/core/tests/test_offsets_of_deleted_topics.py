"""The offsets of a deleted topic go group by group, and never those of the topic after it."""

from __future__ import annotations

from functools import partial

from reference_impl.core.effects import Effect
from reference_impl.core.events import Event
from reference_impl.core.node import Node, never
from reference_impl.core.tests.counting import counted
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, request_definition

FEW, MANY = 20, 60
CALLS_MAX = 20.0
"""The most calls in the longest step for each further group: to find its commits."""
COMMIT = request_definition(ApiKey.OFFSET_COMMIT)
DELETE = request_definition(ApiKey.DELETE_TOPICS)


class CountedNode(Node):
    """A node that knows the calls of its longest step."""

    longest = 0

    def step(self, event: Event) -> tuple[Effect, ...]:
        effects, calls = counted(partial(super().step, event))
        self.longest = max(self.longest, calls)
        return effects


def with_commits(groups: int) -> World:
    """Return a world in which so many groups have committed an offset of one topic."""
    world = World({"offsets.topic.num.partitions": "1"}, node=CountedNode)
    world.create_topic("t")
    world.call(ApiKey.FIND_COORDINATOR, 4, key_type=0, coordinator_keys=["g-0"])
    for number in range(groups):
        commit(world, f"g-{number}", 1)
    return world


def commit(world: World, group: str, offset: int) -> None:
    row = COMMIT.struct("OffsetCommitRequestPartition", partition_index=0, committed_offset=offset)
    topic = COMMIT.struct("OffsetCommitRequestTopic", name="t", partitions=[row])
    world.call(ApiKey.OFFSET_COMMIT, 8, group_id=group, topics=[topic])


def delete_topic(world: World) -> None:
    """Delete the topic, and let everything give way that can."""
    world.node.must_give_way = lambda: True
    body = DELETE.new(topics=[DELETE.struct("DeleteTopicState", name="t")], timeout_ms=5_000)
    world.send(ApiKey.DELETE_TOPICS, 6, body)
    while world.gave_way:
        world.go_on()


def kept(world: World) -> int:
    """Return how many groups still have an offset."""
    coordinators = world.node.broker.groups.active()
    return sum(bool(each.offsets.of(group)) for each in coordinators for group in each.groups)


def longest_step(groups: int) -> int:
    """Return the calls of the longest step while the topic and the offsets are deleted."""
    world = with_commits(groups)
    assert isinstance(world.node, CountedNode)
    world.node.longest = 0
    delete_topic(world)
    world.wait(1_000)
    assert kept(world) == 0
    return world.node.longest


def test_the_longest_step_hardly_grows_with_the_number_of_groups() -> None:
    growth = (longest_step(MANY) - longest_step(FEW)) / (MANY - FEW)
    assert growth <= CALLS_MAX


def test_a_commit_for_the_topic_that_follows_stays() -> None:
    world = with_commits(FEW)
    delete_topic(world)
    assert 0 < kept(world) < FEW
    world.node.must_give_way = never
    world.create_topic("t")
    for number in range(FEW):
        commit(world, f"g-{number}", 7)
    world.wait(1_000)
    assert kept(world) == FEW
