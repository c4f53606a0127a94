"""Consumer groups under random events: what holds whatever members do, and whenever they stop.

Members join, report, obey late or never, leave, come back with old epochs; time passes; topics
grow; the process is killed. After each step no partition is read by two members, the state is one
that the table of transitions allows, and a copy of the group that was made from the log alone is
the same.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.consumer.model.states import CONSUMER_GROUP, GroupState
from reference_impl.core.requests.automatic_topics import ensure_groups_topic
from reference_impl.core.rules import Rules
from reference_impl.core.tests.consumer_client import Consumer, new_world
from reference_impl.core.tests.test_consumer_groups import kept
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, request_definition

MEMBERS = st.integers(0, 3)
SUBSCRIPTIONS = st.sampled_from([("a",), ("a", "b"), ("b",), ("a", "c")])
FINE = (
    ErrorCode.NONE,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNRELEASED_INSTANCE_ID,
    ErrorCode.FENCED_INSTANCE_ID,
)


def group_of(world: World) -> ConsumerGroup | None:
    group = world.node.broker.groups.of("g").groups.get("g")
    assert group is None or isinstance(group, ConsumerGroup)
    return group


class Groups(RuleBasedStateMachine):
    """Four processes that may be members, one of them static."""

    @initialize(interval=st.sampled_from(["0", "1000"]))
    def begin(self, interval: str) -> None:
        self.world = new_world(group_consumer_assignment_interval_ms=interval)
        self.members = [Consumer(self.world, number, "a") for number in range(4)]
        self.members[3].instance_id = "i"
        self.lives = 0
        self.state = GroupState.EMPTY

    def is_reading(self, member: Consumer) -> bool:
        """Return whether the broker must still count the member as reading: a removed member finds
        out later."""
        group = group_of(self.world)
        return group is not None and member.member_id in group.members and member.epoch > 0

    @rule(number=MEMBERS, topics=SUBSCRIPTIONS)
    def join(self, number: int, topics: tuple[str, ...]) -> None:
        member = self.members[number]
        member.epoch, member.owned, member.target = 0, set(), set()
        member.heartbeat_fields["subscribed_topic_names"] = list(topics)
        self.check(
            member.take(member.ask(topic_partitions=[], **member.heartbeat_fields)).error_code
        )

    @rule(number=MEMBERS, obeys=st.booleans())
    def report(self, number: int, obeys: bool) -> None:
        member = self.members[number]
        if member.epoch > 0:
            if obeys:
                member.obey()
            self.check(member.heartbeat().error_code)

    @rule(number=MEMBERS, topics=SUBSCRIPTIONS)
    def subscribe_otherwise(self, number: int, topics: tuple[str, ...]) -> None:
        member = self.members[number]
        if member.epoch > 0:
            self.check(member.heartbeat(subscribed_topic_names=list(topics)).error_code)

    @rule(number=MEMBERS)
    def lose_the_answer(self, number: int) -> None:
        member = self.members[number]
        if member.epoch > 0:
            self.check(member.ask().error_code)

    @rule(number=MEMBERS)
    def leave(self, number: int) -> None:
        member = self.members[number]
        if member.epoch > 0:
            self.check(member.leave().error_code)
            member.epoch, member.owned, member.target = 0, set(), set()

    @rule()
    def restart_the_static_one(self) -> None:
        member = self.members[3]
        if member.epoch > 0 and member.leave(-2).error_code == ErrorCode.NONE:
            self.lives += 1
            member.member_id = f"life-{self.lives}"
            member.epoch, member.owned, member.target = 0, set(), set()

    @rule(ms=st.sampled_from([500, 5000, 20_000]))
    def wait(self, ms: int) -> None:
        self.world.wait(ms)

    @rule()
    def kill_the_broker(self) -> None:
        self.world.kill()

    @rule(name=st.sampled_from(["b", "c"]))
    def grow(self, name: str) -> None:
        topic = self.world.node.broker.image.topics.get(name)
        if topic is None:
            self.world.create_topic(name, 2)
        elif len(topic.partitions) < 6:
            row = request_definition(ApiKey.CREATE_PARTITIONS).struct(
                "CreatePartitionsTopic",
                name=name,
                count=len(topic.partitions) + 1,
                assignments=None,
            )
            self.world.call(ApiKey.CREATE_PARTITIONS, 3, topics=[row], timeout_ms=1_000)

    def check(self, code: int) -> None:
        assert code in FINE, ErrorCode(code)

    @invariant()
    def nobody_reads_what_another_reads(self) -> None:
        readers: dict[object, str] = {}
        for member in self.members:
            for partition in member.owned if self.is_reading(member) else ():
                assert partition not in readers, (partition, readers[partition], member.member_id)
                readers[partition] = member.member_id

    @invariant()
    def the_table_allows_the_step(self) -> None:
        group = group_of(self.world)
        now = GroupState.EMPTY if group is None else group.state
        assert now is self.state or now in CONSUMER_GROUP[self.state].values(), (self.state, now)
        self.state = now

    @invariant()
    def the_log_says_the_same(self) -> None:
        group = group_of(self.world)
        if group is None:
            return
        coordinators = self.world.node.broker.groups
        shard = coordinators.make(coordinators.of("g").partition())
        assert shard.load_some()
        read = shard.groups["g"]
        assert isinstance(read, ConsumerGroup)
        assert kept(read) == kept(group)

    def teardown(self) -> None:
        """Require that in the end every member can be satisfied, and that the log restores the
        whole group."""
        if not hasattr(self, "world"):
            return
        self.world.wait(46_000)
        for member in self.members[:2]:
            member.heartbeat_fields["subscribed_topic_names"] = ["a"]
            member.join()
        for _ in range(6):
            for member in self.members[:2]:
                member.obey()
                member.heartbeat()
            self.world.wait(500)
        group = group_of(self.world)
        assert group is not None
        assert group.state is GroupState.STABLE
        assert sorted(len(member.owned) for member in self.members[:2]) == [2, 2]
        before = kept(group)
        self.world.kill()
        after = group_of(self.world)
        assert after is not None
        assert kept(after) == before
        assert self.world.reports == []


Groups.TestCase.settings = settings(max_examples=40, stateful_step_count=30)
TestGroups = Groups.TestCase


def test_the_rule_is_what_keeps_readers_apart() -> None:
    """With a rule that assigns partitions which another member still reads, two members read one
    partition."""

    class Careless(Rules):
        def is_released(self, *_: object) -> bool:
            return True

    world = World({"group.consumer.assignment.interval.ms": "0"}, rules=Careless)
    world.create_topic("a", 4)
    ensure_groups_topic(world.node.broker)
    world.settle()
    one, two = Consumer(world, 1, "a"), Consumer(world, 2, "a")
    one.join()
    one.obey()
    two.join()
    two.obey()
    assert one.owned & two.owned
