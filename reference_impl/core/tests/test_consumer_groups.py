"""Consumer groups of KIP-848: joining, reconciling, leaving, falling silent; patterns, statics."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.consumer.model.states import GroupState, MemberState
from reference_impl.core.storage import StorageError
from reference_impl.core.tests.consumer_client import (
    REBALANCE_MS,
    Consumer,
    group_in,
    new_world,
    settle,
    topic_id,
)
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, request_definition

SESSION_MS = 45_000


@pytest.fixture
def world() -> World:
    return new_world()


def kept(group: ConsumerGroup) -> dict[str, Any]:
    """Return everything that replaying the log must restore."""
    return {
        name: value
        for name, value in vars(group).items()
        if name not in ("hashed_at_version", "awaited_joins")
    }


def test_the_first_member_gets_everything_at_once(world: World) -> None:
    one = Consumer(world, 1, "a", "b")
    answer = one.join()
    assert (answer.member_epoch, answer.heartbeat_interval_ms) == (2, 5000)
    assert len(one.target) == 6
    assert group_in(world).state is GroupState.STABLE


def test_nothing_is_given_before_the_other_has_stopped_reading_it(world: World) -> None:
    one, two = Consumer(world, 1, "a"), Consumer(world, 2, "a")
    one.join()
    one.obey()
    assert two.join().member_epoch == 3
    assert two.target == set()
    told = one.heartbeat()
    assert told.member_epoch == 2  # it stays behind until it has revoked
    assert len(one.target) == 2
    one.heartbeat()
    assert two.heartbeat().assignment is None
    one.obey()
    assert one.heartbeat().member_epoch == 3
    two.heartbeat()
    assert len(two.target) == 2
    assert not two.target & one.owned
    assert group_in(world).state is GroupState.STABLE


def test_an_assignment_is_told_once_or_when_everything_is_said(world: World) -> None:
    one = Consumer(world, 1, "a")
    one.join()
    one.obey()
    assert one.heartbeat().assignment is None
    again = one.heartbeat(**one.heartbeat_fields)
    assert again.assignment is not None
    assert again.member_epoch == 2


def test_who_does_not_revoke_in_time_is_removed(world: World) -> None:
    one, two = Consumer(world, 1, "a"), Consumer(world, 2, "a")
    one.join()
    one.obey()
    two.join()
    one.heartbeat()
    for _ in range(REBALANCE_MS // 5000):
        assert one.heartbeat().error_code == ErrorCode.NONE
        two.heartbeat()
        world.wait(5000)
    assert one.heartbeat().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    two.heartbeat()
    assert len(two.target) == 4


def test_who_is_silent_is_removed_and_the_group_ends_up_empty(world: World) -> None:
    one, two = Consumer(world, 1, "a"), Consumer(world, 2, "a")
    one.join()
    two.join()
    world.wait(SESSION_MS - 1)
    assert set(group_in(world).members) == {"member-1", "member-2"}
    two.heartbeat()
    world.wait(1)
    assert set(group_in(world).members) == {"member-2"}
    world.wait(SESSION_MS)
    assert group_in(world).state is GroupState.EMPTY
    assert world.reports == []


def test_leaving_frees_the_partitions_at_once(world: World) -> None:
    one, two = Consumer(world, 1, "a"), Consumer(world, 2, "a")
    one.join()
    two.join()
    settle(one, two)
    assert two.leave().member_epoch == -1
    one.heartbeat()
    assert len(one.target) == 4
    assert two.heartbeat().error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_lost_answer_is_asked_for_again_with_the_previous_epoch(world: World) -> None:
    one, two = Consumer(world, 1, "a"), Consumer(world, 2, "a")
    one.join()
    one.obey()
    two.join()
    one.heartbeat()
    one.obey()
    lost = one.ask(topic_partitions=[])  # the member is in epoch 3 now, and does not know
    assert lost.member_epoch == 3
    assert one.epoch == 2
    one.owned = set()
    assert one.heartbeat().member_epoch == 3
    one.epoch = 1
    assert one.heartbeat().error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert one.join().member_epoch == 3


def test_topics_and_partitions_that_come_later_are_assigned(world: World) -> None:
    one = Consumer(world, 1, "a", "later")
    one.join()
    one.settle()
    world.create_topic("later", 3)
    one.settle()
    assert len(one.owned) == 7
    topic = request_definition(ApiKey.CREATE_PARTITIONS).struct(
        "CreatePartitionsTopic", name="later", count=5, assignments=None
    )
    answer = world.call(ApiKey.CREATE_PARTITIONS, 3, topics=[topic], timeout_ms=1_000)
    assert answer.results[0].error_code == ErrorCode.NONE
    one.settle()
    assert len(one.owned) == 9
    assert group_in(world).epoch == 4


def test_a_topic_that_is_deleted_is_taken_away(world: World) -> None:
    one = Consumer(world, 1, "a", "b")
    one.join()
    one.settle()
    gone = topic_id(world, "b")
    state = request_definition(ApiKey.DELETE_TOPICS).struct("DeleteTopicState", name="b")
    assert (
        world.call(ApiKey.DELETE_TOPICS, 6, topics=[state], timeout_ms=1_000)
        .responses[0]
        .error_code
        == 0
    )
    one.settle()
    assert {topic for topic, _ in one.owned} == {topic_id(world, "a")}
    assert gone not in {topic for topic, _ in group_in(world).owners}


def test_a_pattern_is_resolved_after_the_answer_and_again_for_new_topics(world: World) -> None:
    one = Consumer(world, 1, subscribed_topic_names=None, subscribed_topic_regex="[ax].*")
    assert one.join().member_epoch == 1
    assert one.target == set()
    one.settle()
    assert len(one.owned) == 4
    world.create_topic("x", 2)
    one.settle()
    assert len(one.owned) == 4  # not looked through again so soon
    world.wait(10_001)
    one.settle()
    assert len(one.owned) == 6


def test_a_pattern_that_is_none_is_refused(world: World) -> None:
    one = Consumer(world, 1, subscribed_topic_names=None, subscribed_topic_regex="(")
    answer = one.ask(topic_partitions=[], **one.heartbeat_fields)
    assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert "g" not in world.node.broker.groups.of("g").groups


def test_a_static_member_that_says_it_will_be_back_keeps_its_part(world: World) -> None:
    one, two = Consumer(world, 1, "a", instance_id="i"), Consumer(world, 2, "a")
    one.join()
    two.join()
    settle(one, two)
    mine, epoch = set(one.owned), group_in(world).epoch
    early = Consumer(world, 3, "a", instance_id="i")
    refused = early.ask(topic_partitions=[], **early.heartbeat_fields)
    assert refused.error_code == ErrorCode.UNRELEASED_INSTANCE_ID
    assert one.leave(-2).member_epoch == -2
    back = Consumer(world, 4, "a", instance_id="i")
    back.join()
    assert (back.target, group_in(world).epoch) == (mine, epoch)
    assert one.heartbeat().error_code == ErrorCode.FENCED_INSTANCE_ID


def test_a_static_member_that_does_not_come_back_is_removed(world: World) -> None:
    one = Consumer(world, 1, "a", instance_id="i")
    one.join()
    one.leave(-2)
    world.wait(SESSION_MS)
    assert group_in(world).state is GroupState.EMPTY


def test_a_new_target_waits_for_the_assignment_interval() -> None:
    world = new_world(group_consumer_assignment_interval_ms="1000")
    one, two = Consumer(world, 1, "a"), Consumer(world, 2, "a")
    one.join()
    one.obey()
    assert two.join().member_epoch == 2
    assert group_in(world).state is GroupState.ASSIGNING
    world.wait(1000)
    one.heartbeat()
    assert (group_in(world).assignment_epoch, len(one.target)) == (3, 2)


def test_the_group_is_limited_in_size() -> None:
    world = new_world(group_consumer_max_size="1")
    one, two = Consumer(world, 1, "a"), Consumer(world, 2, "a")
    one.join()
    answer = two.ask(topic_partitions=[], **two.heartbeat_fields)
    assert answer.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert one.heartbeat().error_code == ErrorCode.NONE


def test_the_assignor_with_the_most_votes_counts(world: World) -> None:
    members = [Consumer(world, number, "a", server_assignor="range") for number in (1, 2)]
    members.append(Consumer(world, 3, "a", server_assignor="uniform"))
    for member in members:
        member.join()
    settle(*members)
    assert group_in(world).preferred_assignor(["uniform", "range"]) == "range"
    assert sorted(index for _, index in members[0].owned) == [0, 1]
    members[0].leave()
    assert group_in(world).preferred_assignor(["uniform", "range"]) == "uniform"  # one each


def test_a_restart_changes_nothing(world: World) -> None:
    one, two = Consumer(world, 1, "a", "b"), Consumer(world, 2, "a", instance_id="i")
    three = Consumer(world, 3, subscribed_topic_names=None, subscribed_topic_regex="b|a")
    for member in (one, two, three):
        member.join()
    settle(one, two)
    before = kept(group_in(world))
    world.kill()
    assert kept(group_in(world)) == before
    settle(one, two, three)
    assert len(one.owned | two.owned | three.owned) == 6
    assert group_in(world).state is GroupState.STABLE


def test_timers_run_again_after_a_restart(world: World) -> None:
    one, two = Consumer(world, 1, "a"), Consumer(world, 2, "a")
    one.join()
    one.obey()
    two.join()
    one.heartbeat()
    assert group_in(world).members["member-1"].state is MemberState.UNREVOKED_PARTITIONS
    world.restart()
    world.wait(REBALANCE_MS)
    assert set(group_in(world).members) == {"member-2"}
    world.wait(SESSION_MS)
    assert group_in(world).state is GroupState.EMPTY


def test_commits_are_for_what_a_member_reads_since_its_epoch(world: World) -> None:
    one, two = Consumer(world, 1, "a"), Consumer(world, 2, "a")
    one.join()
    one.settle()
    a0 = (topic_id(world, "a"), 0)
    two.join()
    settle(one, two)
    mine, theirs = sorted(one.owned)[0], sorted(two.owned)[0]
    assert one.commit(one.epoch, mine) == ErrorCode.NONE
    assert one.commit(2, mine) == ErrorCode.NONE  # it has had the partition since epoch 2
    assert one.commit(2, theirs) == ErrorCode.STALE_MEMBER_EPOCH
    assert two.commit(2, theirs) == ErrorCode.STALE_MEMBER_EPOCH
    assert one.commit(9, mine) == ErrorCode.STALE_MEMBER_EPOCH
    assert one.commit(one.epoch, mine, version=8) == ErrorCode.UNSUPPORTED_VERSION
    assert Consumer(world, 9, "a").commit(3, a0) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_failing_disk_leaves_the_group_as_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StorageError("the log", "no space left")

    one, two = Consumer(world, 1, "a"), Consumer(world, 2, "a")
    one.join()
    before = kept(group_in(world))
    partition = world.node.broker.groups.of("g").partition()
    monkeypatch.setattr(partition.log, "append", fail)
    refused = two.ask(topic_partitions=[], **two.heartbeat_fields)
    assert refused.error_code == ErrorCode.NOT_COORDINATOR
    assert kept(group_in(world)) == before
    world.wait(SESSION_MS)
    assert kept(group_in(world)) == before  # who cannot be removed now is removed later
    (told,) = world.reports
    assert "member-1 of group g is late, and could not be removed" in told
    monkeypatch.undo()
    world.wait(SESSION_MS)
    assert group_in(world).state is GroupState.EMPTY


def test_a_group_is_deleted_with_everything_once_it_is_empty(world: World) -> None:
    one = Consumer(world, 1, "a")
    one.join()
    assert one.commit(2, (topic_id(world, "a"), 0)) == ErrorCode.NONE
    refused = world.call(ApiKey.DELETE_GROUPS, 2, groups_names=["g"])
    assert refused.results[0].error_code == ErrorCode.NON_EMPTY_GROUP
    one.leave()
    done = world.call(ApiKey.DELETE_GROUPS, 2, groups_names=["g"])
    assert done.results[0].error_code == ErrorCode.NONE
    world.restart()
    assert world.node.broker.groups.every() == []
    assert world.node.broker.groups.of("g").offsets.of("g") == {}


@pytest.mark.parametrize(
    "heartbeat_fields",
    [
        {"subscribed_topic_names": ["t" * 40_000]},
        {"subscribed_topic_names": None, "subscribed_topic_regex": "x*" * 20_000},
        {"rack_id": "r" * 40_000},
    ],
    ids=", ".join,
)
def test_what_does_not_fit_into_a_record_is_refused(
    world: World, heartbeat_fields: dict[str, Any]
) -> None:
    """Strings of a flexible request may be longer than those of a record's key."""
    one = Consumer(world, 1, "a", **heartbeat_fields)
    answer = one.ask(topic_partitions=[], **one.heartbeat_fields)
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert "40000 bytes are over the limit" in answer.error_message
    one = Consumer(world, 1, "a")
    one.member_id = "m" * 40_000
    assert (
        one.ask(topic_partitions=[], **one.heartbeat_fields).error_code == ErrorCode.INVALID_REQUEST
    )
    assert "g" not in world.node.broker.groups.of("g").groups


def test_partitions_that_cannot_be_are_ignored(world: World) -> None:
    one = Consumer(world, 1, "a")
    one.join()
    one.owned = {(topic_id(world, "a"), -5), (topic_id(world, "a"), 2**31 - 1)}
    assert one.heartbeat().error_code == ErrorCode.NONE
    one.settle()
    assert len(one.owned) == 4
