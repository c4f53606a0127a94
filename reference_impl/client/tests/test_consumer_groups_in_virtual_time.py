"""Members by KIP-848 against the reference broker, over a network that loses connections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reference_impl.client import calls
from reference_impl.client.consumer import Consumer
from reference_impl.client.effects import Change
from reference_impl.client.errors import ClientError
from reference_impl.client.producer import Producer
from reference_impl.client.tests.virtual import BOOTSTRAP, PENDING, Client, VirtualWorld
from reference_impl.client.values import ProducerRecord, TopicPartition
from reference_impl.core.rules import Rules
from reference_impl.wire import ApiKey

CONFIG = {
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "1000",
}
ALL = [TopicPartition("t", index) for index in range(3)]
HEARTBEAT = ApiKey.CONSUMER_GROUP_HEARTBEAT
SUBSCRIBE = calls.Subscribe(frozenset({"t"}))


def fill(world: VirtualWorld, count: int, topic: str = "t") -> None:
    client = Client(world, Producer({"bootstrap.servers": BOOTSTRAP}, world.random))
    for number in range(count):
        record = ProducerRecord(topic, b"%d" % number, partition=number % 3)
        client.call(calls.Send(record))
    client.do(calls.Close())


class Member:
    """One consumer that polls all the time."""

    def __init__(self, world: VirtualWorld, **settings: Any) -> None:
        config = {name.replace("_", "."): value for name, value in settings.items()}
        self.machine = Consumer(
            {
                "bootstrap.servers": BOOTSTRAP,
                "auto.offset.reset": "earliest",
                "group.id": "g",
                "group.protocol": "consumer",
                "max.poll.records": 7,
                **config,
            },
            world.random,
        )
        self.client = Client(world, self.machine)
        self.read: list[int] = []
        self.errors: list[ClientError] = []
        self._poll: int | None = None

    @property
    def held(self) -> list[TopicPartition]:
        return sorted(self.machine.assignment)

    def poll(self) -> None:
        """Take what the last poll has brought, and begin another."""
        result = self.client.results.get(self._poll, []) if self._poll else []
        if result is PENDING:
            return
        if isinstance(result, ClientError):
            self.errors.append(result)
        else:
            self.read += [int(record.value or b"") for record in result]
        self._poll = self.client.call(calls.Poll(200))

    @property
    def changes(self) -> list[tuple[Change, int]]:
        return [(change.change, len(change.partitions)) for change in self.client.changes]


def poll_until(world: VirtualWorld, members: list[Member], condition: Callable[[], bool]) -> None:
    def polled() -> bool:
        for member in members:
            member.poll()
        return condition()

    world.run_until(polled, 600_000)


def poll_for(world: VirtualWorld, members: list[Member], ms: int) -> None:
    end_ms = world.now_ms + ms
    poll_until(world, members, lambda: world.now_ms >= end_ms)


def have_all(members: list[Member]) -> Callable[[], bool]:
    """Return a condition: every partition is owned by one of them, and each of them owns some."""
    return lambda: (
        sorted(each for member in members for each in member.held) == ALL
        and all(member.held for member in members)
    )


@pytest.mark.seeds(3)
def test_a_group_reads_everything_while_members_come_and_go(seed: int) -> None:
    world = VirtualWorld(seed, loss=0.03, config=CONFIG)
    fill(world, 200)
    members = [Member(world) for _ in range(3)]
    for position, member in enumerate(members):
        member.client.do(SUBSCRIBE)
        poll_for(world, members[: position + 1], 2_000)
    world.kill_broker()
    poll_until(world, members, lambda: {n for m in members for n in m.read} == set(range(200)))
    poll_until(world, members, have_all(members))
    gone = members.pop(0)
    gone.client.do(calls.Close())
    assert (Change.REVOKED, 1) in gone.changes
    poll_until(world, members, have_all(members))
    for member in members:
        member.client.do(calls.Close())
    reader = Member(world)
    committed = reader.client.do(calls.Committed(frozenset(ALL)))
    assert [committed[each].offset for each in ALL] == [67, 67, 66]


class Watched(Member):
    """Looks, whenever it polls, whether somebody else reads what it reads."""

    def __init__(self, world: VirtualWorld, others: list[Watched]) -> None:
        super().__init__(world)
        self._others = others
        self.shared: set[TopicPartition] = set()

    def poll(self) -> None:
        super().poll()
        for other in self._others:
            if other is not self:
                self.shared.update(set(self.held) & set(other.held))


def shared_partitions(seed: int, rules: type[Rules] = Rules) -> set[TopicPartition]:
    """Return the partitions that two members held at once, while three came and went."""
    world = VirtualWorld(seed, config=CONFIG, rules=rules)
    fill(world, 30)
    members: list[Watched] = []
    members += [Watched(world, members) for _ in range(3)]
    for _ in range(2):
        for member in members:
            member.client.do(SUBSCRIBE)
            poll_for(world, [*members], world.random.randrange(4_000))
        poll_until(world, [*members], have_all([*members]))
        leaver = world.random.choice(members)
        leaver.client.do(calls.Unsubscribe())
        others: list[Member] = [member for member in members if member is not leaver]
        poll_until(world, others, have_all(others))
    assert any(Change.REVOKED in [change for change, _ in m.changes] for m in members)
    return {each for member in members for each in member.shared}


@pytest.mark.seeds(3)
def test_no_partition_is_held_by_two(seed: int) -> None:
    assert not shared_partitions(seed)


def test_a_broker_that_gives_before_it_got_is_found_out() -> None:
    """Otherwise the test above would prove nothing."""

    class GiveAtOnce(Rules):
        def is_released(self, *_: Any) -> bool:
            return True

    assert shared_partitions(0, GiveAtOnce)


def test_a_member_that_the_broker_forgot_has_lost_its_partitions_and_joins_again() -> None:
    world = VirtualWorld(1, config=CONFIG)
    fill(world, 30)
    silent, other = Member(world, request_timeout_ms=5_000), Member(world)
    silent.client.do(SUBSCRIBE)
    poll_until(world, [silent], lambda: len(silent.read) == 30)
    epoch = silent.machine.group_metadata.generation_id
    for connection in list(silent.client.connections.values()):
        world.forget(connection)  # and nobody tells it: its heartbeats lead nowhere
    other.client.do(SUBSCRIBE)
    poll_until(world, [other], have_all([other]))
    world.run_for(20_000)  # requests time out; the heartbeat on the next connection is told
    assert not silent.machine.group_metadata.member_id
    with pytest.raises(ClientError, match="is not a member of the group"):
        silent.client.do(calls.Commit())
    poll_until(world, [silent, other], have_all([silent, other]))
    assert silent.changes[1] == (Change.LOST, 3)
    assert silent.machine.group_metadata.generation_id > epoch
    assert not [error for error in silent.errors if error.name != "COMMIT_FAILED"]


def test_a_silent_application_leaves_and_comes_back() -> None:
    world = VirtualWorld(2, config=CONFIG)
    fill(world, 30)
    member = Member(world, max_poll_interval_ms=10_000)
    member.client.do(SUBSCRIBE)
    poll_until(world, [member], lambda: have_all([member])() and len(member.read) == 30)
    world.run_for(11_000)
    asked = [ask.body.member_epoch for ask in member.client.asked if ask.api_key == HEARTBEAT]
    assert asked[-1] == -1
    world.run_for(5_000)
    assert HEARTBEAT not in [ask.api_key for ask in member.client.asked[-3:][1:]]
    poll_until(world, [member], have_all([member]))
    assert member.changes == [(Change.ASSIGNED, 3), (Change.LOST, 3), (Change.ASSIGNED, 3)]


def test_a_static_member_comes_back_to_what_it_had_and_its_double_is_refused() -> None:
    world = VirtualWorld(3, config=CONFIG)
    fill(world, 30)
    first, other = Member(world, group_instance_id="one"), Member(world)
    for member in (first, other):
        member.client.do(SUBSCRIBE)
    poll_until(world, [first, other], have_all([first, other]))
    held = first.held
    double = Member(world, group_instance_id="one")
    double.client.do(SUBSCRIBE)
    poll_until(world, [first, other, double], lambda: bool(double.errors))
    assert double.errors[0].name == "UNRELEASED_INSTANCE_ID"
    assert double.errors[0].fatal
    first.client.do(calls.Close())
    left = [ask.body.member_epoch for ask in first.client.asked if ask.api_key == HEARTBEAT]
    assert left[-1] == -2
    successor = Member(world, group_instance_id="one")
    successor.client.do(SUBSCRIBE)
    poll_until(world, [successor, other], have_all([successor, other]))
    assert successor.held == held


def test_a_pattern_brings_topics_whose_names_nobody_told() -> None:
    world = VirtualWorld(4, config=CONFIG)
    fill(world, 6, "orders-1")
    fill(world, 6, "payments")
    member = Member(world)
    member.client.do(calls.SubscribePattern("orders-.*"))
    poll_until(world, [member], lambda: len(member.read) == 6)
    assert {each.topic for each in member.held} == {"orders-1"}
    classic = Member(world, group_protocol="classic")
    with pytest.raises(ClientError, match=r"group\.protocol=consumer"):
        classic.client.do(calls.SubscribePattern("orders-.*"))


def test_other_topics_take_the_place_of_the_first_ones() -> None:
    world = VirtualWorld(5, config=CONFIG)
    fill(world, 30)
    fill(world, 6, "u")
    member = Member(world, group_remote_assignor="range")
    member.client.do(SUBSCRIBE)
    poll_until(world, [member], have_all([member]))
    member.client.do(calls.Subscribe(frozenset({"u"})))
    wanted = [TopicPartition("u", index) for index in range(3)]
    poll_until(world, [member], lambda: member.held == wanted)
    assert member.changes == [(Change.ASSIGNED, 3), (Change.REVOKED, 3), (Change.ASSIGNED, 3)]


def test_an_assignor_that_the_broker_lacks_is_told_for_good() -> None:
    world = VirtualWorld(6, config=CONFIG)
    member = Member(world, group_remote_assignor="none")
    member.client.do(SUBSCRIBE)
    for _ in range(2):
        with pytest.raises(ClientError, match="UNSUPPORTED_ASSIGNOR") as refused:
            member.client.do(calls.Poll(1_000))
        assert refused.value.fatal
    member.client.do(calls.Close())
