"""Coordinators begin, end and begin again as their partitions get other leaders."""

from __future__ import annotations

import pytest

from reference_impl.core.groups import group_log
from reference_impl.core.groups.offsets import CommittedOffset
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules
from reference_impl.core.shards import shard as shards
from reference_impl.core.shards.states import State
from reference_impl.core.tests.group_client import Client, committed, prepared, stable_pair
from reference_impl.core.tests.replicated import FOLLOWER, OWN, Replicated
from reference_impl.core.tests.transactional import Producer, open_transaction, transactional_world
from reference_impl.core.tests.world import World
from reference_impl.robustness.transactional_client import read_committed
from reference_impl.wire import (
    ApiKey,
    ErrorCode,
    Record,
    RecordBatch,
    Struct,
    encode_record,
    read_header,
    request_definition,
)

GROUPS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
ELSEWHERE, LOADING = ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def log_of_groups(world: World) -> Replicated:
    """Return the partition that keeps the group g, with a follower."""
    return Replicated(world, GROUPS, world.node.broker.groups.of("g").index)


def come_back(log: Replicated) -> None:
    """Let this node lead again, alone."""
    log.change(leader=OWN, isr=[OWN])


def heartbeat(one: Client) -> ErrorCode:
    return ErrorCode(one.heartbeat())


def written_by_another_leader(log: Replicated, offset: int) -> None:
    """Let the log get a commit for t-0 that another leader has written."""
    row = group_log.offset_record("g", ("t", 0), CommittedOffset(offset, -1, "", log.world.now_ms))
    key, value = encode_record(row[0], row[1], group_log.VERSIONS["OffsetCommitKey"])
    data = bytearray(RecordBatch([Record(value, key)]).encode())
    partition = log.partition
    partition.log.append(data, read_header(data), partition.leader_epoch, log.world.now_ms)


def stable(rules: type[Rules] = Rules) -> tuple[World, Client, Client, Replicated]:
    world = prepared(World(rules=rules))
    one, two = stable_pair(world)
    assert one.commit(5) == ErrorCode.NONE
    return world, one, two, log_of_groups(world)


def test_whoever_waits_for_the_group_is_sent_to_its_next_coordinator() -> None:
    _, one, _, log = stable()
    assert one.send_join() is None
    log.lose_leadership()
    answer = one.take()
    assert answer is not None and answer.error_code == ELSEWHERE
    assert heartbeat(one) == ELSEWHERE


def test_no_timer_of_a_group_outlives_the_leadership() -> None:
    world, one, two, log = stable()
    assert [key for key in world.timers if key[0] == "group" and one.member_id in key]
    one.send_join()
    log.lose_leadership()
    assert [key for key in world.timers if key[0] == "group" and key[1] == log.index] == []
    world.wait(60_000)
    come_back(log)
    assert heartbeat(one) == heartbeat(two) == ErrorCode.NONE, "its session has begun anew"


def test_the_next_leadership_goes_on_where_the_log_ends() -> None:
    world, one, two, log = stable()
    log.lose_leadership()
    written_by_another_leader(log, 9)
    come_back(log)
    assert committed(world) == 9
    assert heartbeat(one) == heartbeat(two) == ErrorCode.NONE


class KeepsItsShards(Rules):
    """A coordinator that goes on with what it knew in an earlier epoch."""

    def shard_has_ended(self, loaded_epoch: int, led_epoch: int | None) -> bool:
        return False

    def check_shard_leads(self, partition: Partition, leader_epoch: int) -> None:
        if not partition.leads:
            raise AssertionError("asked while it leads alone")


def test_a_coordinator_of_an_older_epoch_would_not_know_what_others_wrote() -> None:
    world, _, _, log = stable(KeepsItsShards)
    log.lose_leadership()
    written_by_another_leader(log, 9)
    come_back(log)
    assert committed(world) == 5, "the commit of the leader in between is gone"


class NeverCloses(Rules):
    """A coordinator that keeps its shard, and notices the epoch alone."""

    def shard_has_ended(self, loaded_epoch: int, led_epoch: int | None) -> bool:
        return False


def test_a_shard_that_is_closed_late_cannot_write() -> None:
    world, one, _, log = stable(NeverCloses)
    end_offset = log.partition.log.log_end_offset
    log.lose_leadership()
    assert one.commit(9) == ELSEWHERE
    come_back(log)
    assert one.commit(9) == ELSEWHERE
    assert log.partition.log.log_end_offset == end_offset
    assert world.node.broker.groups.known(log.index) is not None


# --- loading ----------------------------------------------------------------------------------


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "SLICE_BYTES", 1)


def loading_half(rules: type[Rules] = Rules) -> tuple[World, Client, Replicated]:
    """Return a world that is elected again, and has read one batch of the log of its group."""
    world, one, _, log = stable(rules)
    log.change(isr=[OWN])
    for offset in (6, 7):
        assert one.commit(offset) == ErrorCode.NONE
    log.lose_leadership()
    world.node.must_give_way = lambda: True
    come_back(log)
    world.node.must_give_way = lambda: False
    return world, one, log


@pytest.mark.usefixtures("small_slices")
def test_while_a_shard_loads_its_clients_are_asked_to_come_again() -> None:
    world, one, _ = loading_half()
    assert one.commit(8) == LOADING
    assert heartbeat(one) == ErrorCode.NONE, "its session begins anew when the shard is loaded"
    assert world.call(ApiKey.LIST_GROUPS, 4).error_code == LOADING
    assert world.call(ApiKey.DESCRIBE_GROUPS, 5, groups=["g"]).groups[0].error_code == LOADING
    world.wait(1)
    assert committed(world) == 7
    assert heartbeat(one) == ErrorCode.NONE


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize(
    ("version", "expected"), [(1, ErrorCode.COORDINATOR_NOT_AVAILABLE), (2, LOADING)]
)
def test_old_producers_are_told_of_a_loading_group_in_a_way_that_they_know(
    version: int, expected: ErrorCode
) -> None:
    world, _, _ = loading_half()
    of = request_definition(ApiKey.TXN_OFFSET_COMMIT)
    row = of.struct("TxnOffsetCommitRequestPartition", committed_offset=8)
    answer = world.call(
        ApiKey.TXN_OFFSET_COMMIT,
        version,
        transactional_id="x",
        group_id="g",
        topics=[of.struct("TxnOffsetCommitRequestTopic", name="t", partitions=[row])],
    )
    assert answer.topics[0].partitions[0].error_code == expected


class ServesWhileLoading(Rules):
    """A coordinator that answers from what it has read so far."""

    def check_shard_state(self, state: State) -> None:
        return

    def answer_waits(self, uncommitted: object) -> bool:
        return False


@pytest.mark.usefixtures("small_slices")
def test_a_shard_that_served_while_it_loads_would_forget_commits() -> None:
    world, _, _ = loading_half(ServesWhileLoading)
    assert committed(world) == -1


class LoadsOneSlice(Rules):
    """A coordinator that takes the first part of its log for all."""

    def is_loaded(self, loaded_to: int, log_end_offset: int) -> bool:
        return loaded_to > 0 or super().is_loaded(loaded_to, log_end_offset)


@pytest.mark.usefixtures("small_slices")
def test_a_shard_that_is_loaded_half_would_forget_commits() -> None:
    world, _, _ = loading_half(LoadsOneSlice)
    world.wait(1)
    assert committed(world) != 7


@pytest.mark.usefixtures("small_slices")
def test_a_leadership_that_ends_while_it_loads_leaves_nothing() -> None:
    world, one, log = loading_half()
    log.lose_leadership()
    world.wait(1)
    assert heartbeat(one) == ELSEWHERE
    come_back(log)
    world.wait(1)
    assert committed(world) == 7


def test_a_log_that_nobody_understands_costs_its_own_groups_alone() -> None:
    world, one, _, log = stable()
    log.lose_leadership()
    data = bytearray(RecordBatch([Record(b"?", key=b"\0\1")]).encode())
    log.partition.log.append(data, read_header(data), log.partition.leader_epoch, world.now_ms)
    come_back(log)
    assert heartbeat(one) == ELSEWHERE
    (told,) = [each for each in world.reports if f"{GROUPS}-{log.index}" in each]
    assert "cannot be loaded and refuses requests until it is repaired" in told
    index_of = world.node.broker.groups.topic.index_of
    other = next(name for name in map(str, range(9)) if index_of(name) != log.index)
    assert Client(world, 9).commit(3, group_id=other) == ErrorCode.NONE


# --- transactions -----------------------------------------------------------------------------


def opened(rules: type[Rules] = Rules) -> tuple[Producer, Replicated]:
    """Return a producer with an open transaction, and the log of its coordinator."""
    world = transactional_world(rules=rules)
    producer = Producer(world)
    assert producer.init().error_code == ErrorCode.NONE
    open_transaction(producer, "a")
    return producer, Replicated(world, TRANSACTIONS, world.node.broker.transactions.of("tx").index)


def send_end(producer: Producer) -> int:
    body = request_definition(ApiKey.END_TXN).new(
        transactional_id="tx",
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        committed=True,
    )
    return producer.world.send(ApiKey.END_TXN, producer.versions["end"], body, 7)


def code_of(answer: Struct | None) -> int | None:
    return None if answer is None else int(answer.error_code)


def test_a_transaction_goes_on_under_the_next_leadership() -> None:
    producer, log = opened()
    log.lose_leadership()
    assert code_of(producer.world.answer_to(send_end(producer))) == ELSEWHERE
    come_back(log)
    assert code_of(producer.world.answer_to(send_end(producer))) == ErrorCode.NONE
    assert read_committed(producer.world) == ["a"]


def test_what_is_decided_is_carried_out_once_the_next_leader_knows_that_it_lasts() -> None:
    producer, log = opened()
    number = send_end(producer)
    log.lose_leadership()
    assert code_of(producer.world.answer_to(number)) == ELSEWHERE
    log.change(leader=OWN)
    assert read_committed(producer.world) == [], "the follower does not have the decision yet"
    assert code_of(producer.world.answer_to(send_end(producer))) == LOADING
    log.catch_up()
    assert read_committed(producer.world) == ["a"]


class BeginsAtOnce(Rules):
    """A coordinator that acts on what no other replica has."""

    def may_begin(self, loaded_to: int, high_watermark: int) -> bool:
        return True


def test_a_hasty_coordinator_would_carry_out_what_may_yet_be_lost() -> None:
    producer, log = opened(BeginsAtOnce)
    send_end(producer)
    log.lose_leadership()
    log.change(leader=OWN)
    assert read_committed(producer.world) == ["a"]


@pytest.mark.usefixtures("small_slices")
def test_offsets_of_a_decided_transaction_get_their_marker_once_their_groups_are_loaded() -> None:
    producer, log = opened()
    log.change(isr=[OWN])
    assert producer.add_offsets() == producer.commit_offset(2) == ErrorCode.NONE
    assert producer.commit_offset(3) == ErrorCode.NONE
    log.change(isr=[OWN, FOLLOWER])
    groups = log_of_groups(producer.world)
    groups.change(isr=[OWN])
    number = send_end(producer)
    log.lose_leadership()
    assert code_of(producer.world.answer_to(number)) == ELSEWHERE
    groups.lose_leadership()
    producer.world.node.must_give_way = lambda: True
    come_back(groups)
    producer.world.node.must_give_way = lambda: False
    log.change(leader=OWN, isr=[OWN])
    assert not [line for line in producer.world.reports if "needs no marker" in line]
    producer.world.wait(2000)
    assert committed(producer.world) == 3


def test_an_end_that_is_replicated_late_takes_no_marker_from_the_next_transaction() -> None:
    """The next transaction of the producer counted as marked already: its record was acknowledged
    as committed, and no marker followed."""
    producer, log = opened()
    send_end(producer)
    log.catch_up()
    producer.world.wait(60_100)  # the broker gives up waiting for the state that it is complete
    assert [each for each in producer.world.reports if "is not complete yet" in each]
    log.catch_up()
    log.change(isr=[OWN])
    open_transaction(producer, "b")
    send_end(producer)
    assert read_committed(producer.world) == ["a", "b"]
