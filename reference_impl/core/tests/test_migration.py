"""Groups that change their protocol under their members: upgrade, life together, downgrade."""

from __future__ import annotations

from uuid import UUID

import pytest

from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.groups.classic.states import State
from reference_impl.core.groups.consumer.migration.conversion import ASSIGNMENT, SUBSCRIPTION
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.tests.consumer_client import (
    Consumer,
    group_in,
    new_world,
    settle,
    topic_id,
)
from reference_impl.core.tests.group_client import REBALANCE_MS, SESSION_MS, Client
from reference_impl.core.tests.test_consumer_groups import kept
from reference_impl.core.tests.world import World
from reference_impl.wire import ErrorCode, RecordBatch, Struct, decode_versioned, encode_versioned


@pytest.fixture
def world() -> World:
    return new_world()


class Classic(Client):
    """A classic member which reports what it owns, as cooperative clients do."""

    def __init__(self, world: World, number: int, instance: str | None = None) -> None:
        super().__init__(world, number, instance)
        self.owned: list[int] = []

    def rejoin(self) -> Struct:
        """Join with the current subscription, and again with the id, if one is given."""
        rows = [SUBSCRIPTION.struct("TopicPartition", topic="a", partitions=self.owned)]
        wants = SUBSCRIPTION.new(topics=["a"], owned_partitions=rows, generation_id=-1)
        self.protocols = {"range": encode_versioned(SUBSCRIPTION, wants, 3)}
        answer = self.send_join()
        if answer is not None and answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            answer = self.send_join()
        self.world.wait(0)
        answer = answer or self.take()
        assert answer is not None
        return answer

    def fetch_assignment(self, given_out: dict[str, bytes] | None = None) -> int:
        """Send SyncGroup, read the assigned partitions from then on, and return the error."""
        answer = self.world.answer_to(self.send_sync(given_out))
        assert answer is not None
        if answer.error_code == ErrorCode.NONE:
            _, assignment = decode_versioned(ASSIGNMENT, answer.assignment)
            self.owned = [
                index for row in assignment.assigned_partitions for index in row.partitions
            ]
        code: int = answer.error_code
        return code

    def follow(self) -> None:
        """Send heartbeats, and join again whenever asked to, with what it still reads."""
        for _ in range(4):
            if self.heartbeat() != ErrorCode.REBALANCE_IN_PROGRESS:
                return
            assert self.rejoin().error_code == ErrorCode.NONE
            assert self.fetch_assignment() == ErrorCode.NONE

    @property
    def reads(self) -> set[tuple[UUID, int]]:
        """Return its partitions of topic a, with the topic's id."""
        return {(topic_id(self.world, "a"), index) for index in self.owned}


def all_of_a(indexes: list[int]) -> bytes:
    """Return an assignment as a classic leader writes it."""
    rows = [ASSIGNMENT.struct("TopicPartition", topic="a", partitions=indexes)]
    return encode_versioned(ASSIGNMENT, ASSIGNMENT.new(assigned_partitions=rows), 3)


def stable_classic(world: World, instance: str | None = None) -> Classic:
    """Return a group of one classic member, which reads the four partitions of topic a."""
    one = Classic(world, 1, instance)
    assert one.rejoin().error_code == ErrorCode.NONE
    assert one.fetch_assignment({one.member_id: all_of_a([0, 1, 2, 3])}) == ErrorCode.NONE
    assert one.owned == [0, 1, 2, 3]
    return one


def classic_group(world: World) -> ClassicGroup:
    group = world.node.broker.groups.of("g").groups["g"]
    assert isinstance(group, ClassicGroup)
    return group


def both(world: World) -> tuple[Classic, Consumer]:
    """Return a classic member and one of the new protocol that share topic a."""
    old, new = stable_classic(world), Consumer(world, 2, "a")
    new.join()
    for _ in range(3):
        old.follow()
        new.obey()
        new.heartbeat()
    new.obey()
    return old, new


def test_the_first_member_of_the_new_protocol_upgrades_the_group(world: World) -> None:
    old, new = stable_classic(world), Consumer(world, 2, "a")
    assert new.join().member_epoch == old.generation + 1
    assert new.target == set()  # the classic member reads everything, until it has joined again
    assert group_in(world).members[old.member_id].classic is not None
    assert old.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS


def test_both_protocols_share_the_work(world: World) -> None:
    old, new = both(world)
    assert len(old.owned) == len(new.owned) == 2
    assert not old.reads & new.owned
    assert old.heartbeat() == ErrorCode.NONE
    assert old.generation == new.epoch


def test_a_restart_finds_both_members(world: World) -> None:
    old, new = both(world)
    before = kept(group_in(world))
    world.kill()
    assert kept(group_in(world)) == before
    assert old.heartbeat() == ErrorCode.NONE
    assert new.heartbeat().error_code == ErrorCode.NONE


def test_the_last_one_of_the_new_protocol_turns_the_group_back(world: World) -> None:
    old, new = both(world)
    epoch = group_in(world).epoch
    new.leave()
    group = classic_group(world)
    assert (group.state, group.generation) == (State.PREPARING_REBALANCE, epoch)
    assert old.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    assert old.rejoin().generation_id == epoch + 1
    assert old.fetch_assignment({old.member_id: all_of_a([0, 1, 2, 3])}) == ErrorCode.NONE
    world.restart()
    assert classic_group(world).state is State.STABLE
    assert old.heartbeat() == ErrorCode.NONE


def test_the_group_turns_back_when_the_new_member_falls_silent(world: World) -> None:
    old, _ = both(world)
    for _ in range(9):
        assert old.heartbeat() == ErrorCode.NONE
        world.wait(5000)
    assert set(classic_group(world).members) == {old.member_id}


def test_a_classic_member_that_falls_silent_is_removed_by_its_own_timeout(world: World) -> None:
    old, new = both(world)
    world.wait(SESSION_MS)
    assert old.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    settle(new)
    assert len(new.owned) == 4


def test_a_classic_member_that_does_not_join_again_in_time_is_removed(world: World) -> None:
    old, new = stable_classic(world), Consumer(world, 2, "a")
    new.join()
    for _ in range(REBALANCE_MS // 5000):
        assert old.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
        new.heartbeat()
        world.wait(5000)
    assert old.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert group_in(world).members.keys() == {"member-2"}


def test_a_classic_member_that_does_not_sync_in_time_is_removed(world: World) -> None:
    old, _ = both(world)
    old.rejoin()
    for _ in range(REBALANCE_MS // 5000):
        world.wait(5000)
        old.heartbeat()
    assert old.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_classic_member_leaves_a_consumer_group(world: World) -> None:
    old, new = both(world)
    assert old.leave() == ErrorCode.NONE
    settle(new)
    assert len(new.owned) == 4
    assert isinstance(world.node.broker.groups.of("g").groups["g"], ConsumerGroup)


def test_a_classic_process_takes_over_from_a_static_member_and_downgrades(world: World) -> None:
    new = Consumer(world, 2, "a", instance_id="i")
    new.join()
    new.settle()
    old = Classic(world, 1, "i")
    answer = old.rejoin()
    assert answer.error_code == ErrorCode.NONE
    assert old.fetch_assignment() == ErrorCode.NONE
    assert old.owned == [0, 1, 2, 3]
    assert classic_group(world).state is State.STABLE
    assert new.heartbeat().error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_requests_of_the_other_protocol_are_refused(world: World) -> None:
    old, new = both(world)
    old.member_id, old.generation = new.member_id, new.epoch
    assert old.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert old.fetch_assignment() == ErrorCode.UNKNOWN_MEMBER_ID


def test_generations_and_protocols_of_classic_members_are_checked(world: World) -> None:
    old, _ = both(world)
    old.generation += 1
    assert old.heartbeat() == ErrorCode.ILLEGAL_GENERATION
    assert old.fetch_assignment() == ErrorCode.ILLEGAL_GENERATION
    stranger = Client(world, 7)
    stranger.protocols = {"other": b"\0\0"}
    answer = stranger.send_join()
    assert answer is not None
    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_the_policy_may_forbid_to_upgrade(policy: str) -> None:
    world = new_world(group_consumer_migration_policy=policy)
    stable_classic(world)
    new = Consumer(world, 2, "a")
    answer = new.ask(topic_partitions=[], **new.heartbeat_fields)
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert answer.error_message.endswith("because online upgrade is disabled.")


def test_the_policy_may_forbid_to_downgrade() -> None:
    world = new_world(group_consumer_migration_policy="upgrade")
    old, new = both(world)
    new.leave()
    assert group_in(world).members.keys() == {old.member_id}


def test_a_subscription_that_cannot_be_read_keeps_the_group_classic(world: World) -> None:
    odd = Client(world, 1)
    odd.join()
    world.wait(0)
    odd.take()
    odd.send_sync({odd.member_id: b""})
    new = Consumer(world, 2, "a")
    answer = new.ask(topic_partitions=[], **new.heartbeat_fields)
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert "malformed" in answer.error_message
    assert classic_group(world).state is State.STABLE


def test_an_empty_group_of_either_kind_makes_room_for_the_other(world: World) -> None:
    old = stable_classic(world)
    old.leave()
    new = Consumer(world, 2, "a")
    new.join()
    assert len(new.target) == 4
    new.leave()
    again = stable_classic(world)
    assert classic_group(world).members.keys() == {again.member_id}
    world.restart()
    assert classic_group(world).members.keys() == {again.member_id}


def test_a_member_that_does_not_know_the_chosen_protocol_is_upgraded_by_one_of_its_own(
    world: World,
) -> None:
    one = Classic(world, 1)
    subscription = encode_versioned(SUBSCRIPTION, SUBSCRIPTION.new(topics=["a"]), 1)
    one.protocols = {"range": subscription, "roundrobin": subscription}
    one.join()
    world.wait(0)
    assert one.take() is not None
    assert one.send_sync() and classic_group(world).protocol == "range"
    two = Classic(world, 2)
    two.protocols = {"roundrobin": subscription}
    two.join()
    assert classic_group(world).state is State.PREPARING_REBALANCE
    assert classic_group(world).topics_read({"a"})
    Consumer(world, 3, "a").join()
    assert len(group_in(world).members) == 3


def records_in_log(world: World) -> int:
    """Return how many records the log of the groups has."""
    log = world.node.broker.groups.of("g").partition().log
    return sum(len(RecordBatch.decode(data)[0].records) for data in log.batches())


def test_a_group_that_changed_its_kind_survives_compaction() -> None:
    """Records of the older kind must not come back when the log was cleaned."""
    world = new_world(
        log_roll_ms="1000", log_cleaner_min_cleanable_ratio="0.01", offsets_topic_num_partitions="1"
    )
    for _ in range(3):
        old, new = both(world)
        new.leave()
        old.rejoin()
        old.fetch_assignment({old.member_id: all_of_a([0, 1, 2, 3])})
        old.leave()
        world.wait(1500)
    old, new = both(world)
    before = kept(group_in(world))
    written = records_in_log(world)
    for _ in range(8):
        world.wait(5000)
        assert old.heartbeat() == ErrorCode.NONE
        assert new.heartbeat().error_code == ErrorCode.NONE
    assert records_in_log(world) < written
    world.kill()
    assert kept(group_in(world)) == before
    assert old.heartbeat() == ErrorCode.NONE
