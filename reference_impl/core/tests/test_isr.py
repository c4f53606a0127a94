"""The ISR follows the followers: those that lag leave it, those that have caught up join it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from reference_impl.core.partitions.follower_state import NEVER_MS, FollowerState
from reference_impl.core.rules import Rules
from reference_impl.core.tests.replicated import FOLLOWER, OWN, Replicated
from reference_impl.core.tests.replicated_cluster import ReplicatedCluster, values_of
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, definition


def cluster_with_topic(rules: type[Rules] = Rules, min_isr: int = 1) -> ReplicatedCluster:
    cluster = ReplicatedCluster(rules=rules)
    cluster.create(min_insync_replicas=str(min_isr))
    return cluster


def isr_of(cluster: ReplicatedCluster) -> set[int]:
    return set(cluster.partition(cluster.leader()).state.isr)


def test_a_follower_that_lags_leaves_the_isr_and_joins_again_when_it_has_caught_up() -> None:
    cluster = cluster_with_topic()
    leader, late = cluster.leader(), cluster.followers()[0]
    cluster.run(10_000)
    assert isr_of(cluster) == {1, 2, 3}
    cluster.blocked.add(late)
    cluster.produce(leader, "a")
    cluster.run(1_000)
    assert cluster.code(leader) is None
    cluster.run(5_000)
    assert isr_of(cluster) == {1, 2, 3} - {late}
    assert cluster.code(leader) == ErrorCode.NONE
    cluster.blocked.clear()
    cluster.run(3_000)
    assert isr_of(cluster) == {1, 2, 3}
    assert values_of(cluster.partition(late)) == ["a"]
    assert cluster.partition(leader).leader_epoch == 0, "no leader was elected for that"


def test_a_follower_without_news_stays_in_the_isr() -> None:
    cluster = cluster_with_topic()
    cluster.run(30_000)
    cluster.produce(cluster.leader(), "a", acks=1)
    for _ in range(10):
        cluster.run(100)
        assert isr_of(cluster) == {1, 2, 3}


def test_the_leader_counts_a_silent_follower_from_its_last_fetch() -> None:
    cluster = cluster_with_topic()
    cluster.blocked.add(cluster.followers()[0])
    cluster.run(20_000)
    assert isr_of(cluster) == {1, 2, 3}, "it has everything"
    cluster.produce(cluster.leader(), "a")
    cluster.run(2_000)
    assert len(isr_of(cluster)) == 2


def test_a_leader_with_too_few_followers_takes_and_commits_nothing() -> None:
    cluster = cluster_with_topic(min_isr=2)
    leader = cluster.leader()
    cluster.blocked.update(cluster.followers())
    cluster.produce(leader, "a")
    cluster.run(7_000)
    assert isr_of(cluster) == {leader}
    assert cluster.code(leader) is None
    assert cluster.partition(leader).high_watermark == 0
    cluster.run(5_000)
    assert cluster.code(leader) == ErrorCode.REQUEST_TIMED_OUT
    cluster.produce(leader, "b")
    assert cluster.code(leader) == ErrorCode.NOT_ENOUGH_REPLICAS
    cluster.blocked.clear()
    cluster.run(3_000)
    assert isr_of(cluster) == {1, 2, 3}
    assert cluster.partition(leader).high_watermark == 1


def test_a_change_of_the_isr_is_asked_for_once_at_a_time() -> None:
    cluster = cluster_with_topic()
    leader = cluster.leader()
    cluster.asked.clear()
    cluster.blocked.update(cluster.followers())
    cluster.produce(leader, "a", acks=1)
    cluster.run(6_000)
    asked = [ask.body for ask in cluster.asked if ask.api_key == ApiKey.ALTER_PARTITION]
    if not asked:  # the leader's own controller was asked, without a connection
        assert cluster.nodes[leader].broker.quorum.is_leader
    assert isr_of(cluster) == {leader}
    assert len(asked) <= 2


def test_a_living_broker_that_is_unregistered_registers_again_and_joins_the_isr() -> None:
    cluster = cluster_with_topic()
    one, gone = cluster.followers()
    known = cluster.nodes[one].broker.image.brokers
    before = known[gone].broker_epoch
    body = definition("UnregisterBrokerRequest").new(broker_id=gone)
    cluster.send(one, ApiKey.UNREGISTER_BROKER, 0, body)
    cluster.run(100)
    assert cluster.answers[one].pop().error_code == ErrorCode.NONE
    assert gone not in known
    cluster.run(6_000)
    assert known[gone].broker_epoch > before
    assert isr_of(cluster) == {1, 2, 3}


# --- one leader, whose followers exist only in what the test says of them ------------------------


def leader_with_follower(rules: type[Rules] = Rules) -> Replicated:
    world = World({"broker.session.timeout.ms": "100000000"}, rules=rules)
    world.create_topic("t")
    return Replicated(world, "t")


def append(one: Replicated) -> None:
    world = one.world
    world.send(ApiKey.PRODUCE, 9, world.produce_body("t", world.batch("a"), acks=1))


class CountsMembersAlone(Rules):
    """A leader that forgets the replica which it has proposed."""

    def maximal_isr(self, members: Collection[int], proposed: Collection[int]) -> Collection[int]:
        return members


class CountsWhatItProposes(Rules):
    """A leader that takes its proposal for the controller's decision."""

    def maximal_isr(self, members: Collection[int], proposed: Collection[int]) -> Collection[int]:
        return proposed or members


@pytest.mark.parametrize("rules", [Rules, CountsMembersAlone])
def test_a_replica_that_may_have_joined_counts(rules: type[Rules]) -> None:
    one = leader_with_follower(rules)
    one.change(isr=[OWN])
    one.partition.proposed_isr = OWN, FOLLOWER
    append(one)
    assert one.partition.high_watermark == (0 if rules is Rules else 1)
    one.follow(1)
    assert one.partition.high_watermark == 1


@pytest.mark.parametrize("rules", [Rules, CountsWhatItProposes])
def test_a_replica_that_is_to_leave_counts_until_the_controller_has_said_so(
    rules: type[Rules],
) -> None:
    one = leader_with_follower(rules)
    one.partition.proposed_isr = (OWN,)
    append(one)
    assert one.partition.high_watermark == (0 if rules is Rules else 1)
    one.change(isr=[OWN])
    assert one.partition.proposed_isr is None
    assert one.partition.high_watermark == 1


def test_a_replica_that_is_refused_counts_no_more() -> None:
    one = leader_with_follower()
    one.change(isr=[OWN])
    one.partition.proposed_isr = OWN, FOLLOWER
    append(one)
    assert one.partition.high_watermark == 0
    one.partition.withdraw_proposal()
    assert one.partition.high_watermark == 1


class AdmitsWhoeverFetches(Rules):
    """A leader that proposes followers which lack committed records."""

    def has_reached(self, follower_end: int, high_watermark: int, epoch_start: int) -> bool:
        return True


@pytest.mark.parametrize(
    ("follower_end", "high_watermark", "epoch_start", "expected"),
    [(5, 5, 3, True), (4, 5, 3, False), (5, 3, 5, True), (4, 3, 5, False), (6, 5, 5, True)],
)
def test_a_follower_joins_with_all_that_may_be_committed(
    follower_end: int, high_watermark: int, epoch_start: int, expected: bool
) -> None:
    assert Rules().has_reached(follower_end, high_watermark, epoch_start) is expected


@pytest.mark.parametrize("rules", [Rules, AdmitsWhoeverFetches])
def test_a_follower_that_lacks_what_is_committed_does_not_join(rules: type[Rules]) -> None:
    cluster = cluster_with_topic(rules)
    leader, late = cluster.leader(), cluster.followers()[0]
    cluster.blocked.add(late)
    for value in "abc":
        cluster.produce(leader, value)
        cluster.run(7_000)
        assert cluster.code(leader) == ErrorCode.NONE
    of = definition("FetchRequest")
    row = of.struct("FetchPartition", partition=0, fetch_offset=1, partition_max_bytes=1000)
    state = of.struct("ReplicaState", replica_id=late)
    topic = of.struct("FetchTopic", topic_id=cluster.partition(leader).topic_id, partitions=[row])
    cluster.send(leader, ApiKey.FETCH, 17, of.new(replica_state=state, topics=[topic]))
    cluster.run(1_000)
    assert (late in isr_of(cluster)) is (rules is not Rules)


class NeverLags(Rules):
    def is_caught_up(
        self, follower_end: int, leader_end: int, silent_ms: int, lag_max_ms: int
    ) -> bool:
        return True


def test_a_leader_that_never_shrinks_its_isr_stands_still() -> None:
    cluster = cluster_with_topic(NeverLags)
    leader = cluster.leader()
    cluster.blocked.add(cluster.followers()[0])
    cluster.produce(leader, "a")
    cluster.run(9_000)
    assert cluster.code(leader) is None


# --- when a follower was caught up ----------------------------------------------------------------


def test_a_fetch_that_reaches_the_end_of_the_fetch_before_was_caught_up_then() -> None:
    state = FollowerState()
    state.fetched(0, 10, now_ms=100, broker_epoch=-1)
    assert state.caught_up_ms == NEVER_MS
    state.fetched(10, 20, now_ms=200, broker_epoch=-1)
    assert state.caught_up_ms == 100
    state.fetched(20, 20, now_ms=300, broker_epoch=-1)
    assert state.caught_up_ms == 300
    before = replace(state)
    state.left_behind(250)
    assert state == before
    state.left_behind(400)
    assert state.caught_up_ms == 400
