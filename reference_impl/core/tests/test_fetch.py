"""Fetch: limits, waiting, leader epochs, and sessions (KIP-227)."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.core.partitions import fetch_sessions
from reference_impl.core.partitions.fetch_sessions import EVICTION_MS
from reference_impl.core.tests.world import World, values_in
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

FETCH = ApiKey.FETCH


@pytest.fixture
def world() -> World:
    world = World()
    world.create_topic("t", 2)
    return world


def test_a_fetch_at_the_end_waits_until_data_comes(world: World) -> None:
    number = world.send(FETCH, 12, world.fetch_body("t", max_wait_ms=500), client=2)
    world.wait(100)
    assert world.answer_to(number) is None
    world.produce("t", "a")
    answer = world.answer_to(number)
    assert answer is not None
    assert values_in(answer.responses[0].partitions[0].records) == ["a"]


def test_a_fetch_waits_no_longer_than_it_wants(world: World) -> None:
    number = world.send(FETCH, 12, world.fetch_body("t", max_wait_ms=500))
    world.wait(499)
    assert world.answer_to(number) is None
    world.wait(1)
    answer = world.answer_to(number)
    assert answer is not None
    assert answer.responses[0].partitions[0].records == b""


def test_min_bytes_is_waited_for(world: World) -> None:
    body = world.fetch_body("t", max_wait_ms=500, min_bytes=150)
    number = world.send(FETCH, 12, body, client=2)
    world.produce("t", "a" * 50)
    assert world.answer_to(number) is None
    world.produce("t", "b" * 50)
    assert world.answer_to(number) is not None


def test_a_fetch_of_a_client_that_left_is_forgotten(world: World) -> None:
    number = world.send(FETCH, 12, world.fetch_body("t", max_wait_ms=500), client=2)
    world.disconnect(2)
    assert len(world.node.broker.purgatory) == 0
    world.produce("t", "a")
    world.wait(1000)
    assert world.answer_to(number) is None


def test_deleting_the_topic_completes_a_fetch_with_an_error(world: World) -> None:
    number = world.send(FETCH, 12, world.fetch_body("t", max_wait_ms=500), client=2)
    world.call(ApiKey.DELETE_TOPICS, 3, topic_names=["t"], timeout_ms=1_000)
    answer = world.answer_to(number)
    assert answer is not None
    code = answer.responses[0].partitions[0].error_code
    assert code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_first_batch_comes_whole_however_small_the_limit(world: World) -> None:
    world.produce("t", "a" * 100)
    world.produce("t", "b" * 100)
    assert values_in(world.fetch("t", partition_max_bytes=1).records) == ["a" * 100]
    assert values_in(world.fetch("t", max_bytes=1).records) == ["a" * 100]


def test_outside_of_the_log_is_out_of_range(world: World) -> None:
    row = world.fetch("t", offset=1)
    assert row.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (row.high_watermark, row.log_start_offset) == (-1, -1)


def test_leader_epochs_are_compared(world: World) -> None:
    world.kill()  # epoch 1 has no leader, the new leadership has epoch 2
    older, newer = (world.fetch("t", current_leader_epoch=epoch) for epoch in (1, 3))
    assert older.error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert newer.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert world.fetch("t", current_leader_epoch=2).error_code == 0


class Session:
    """A client that fetches both partitions of a topic in a session."""

    def __init__(self, world: World, version: int = 12) -> None:
        self.world, self.version, self.id, self.epoch = world, version, 0, 0

    def fetch(self, offsets: dict[int, int], forget: tuple[int, ...] = (), **other: Any) -> Struct:
        of = request_definition(FETCH)
        partitions = [
            of.struct(
                "FetchPartition", partition=index, fetch_offset=offset, partition_max_bytes=1 << 20
            )
            for index, offset in offsets.items()
        ]
        forgotten = [of.struct("ForgottenTopic", topic="t", partitions=list(forget))]
        fields = {"session_id": self.id, "session_epoch": self.epoch, "max_bytes": 1 << 20}
        body = of.new(
            topics=[of.struct("FetchTopic", topic="t", partitions=partitions)] if offsets else [],
            forgotten_topics_data=forgotten if forget else [],
            **{**fields, **other},
        )
        answer = self.world.ask(FETCH, self.version, body)
        if answer.error_code == 0:
            self.id, self.epoch = answer.session_id, self.epoch + 1
        return answer


def rows_in(answer: Struct) -> list[int]:
    return [row.partition_index for topic in answer.responses for row in topic.partitions]


def test_a_session_answers_only_what_is_new(world: World) -> None:
    session = Session(world)
    first = session.fetch({0: 0, 1: 0})
    assert first.session_id != 0
    assert rows_in(first) == [0, 1]
    assert rows_in(session.fetch({})) == []
    world.produce("t", "a", partition=1)
    second = session.fetch({})
    assert rows_in(second) == [1]
    assert rows_in(session.fetch({1: 1})) == []


def test_a_forgotten_partition_is_not_fetched(world: World) -> None:
    session = Session(world)
    session.fetch({0: 0, 1: 0})
    world.produce("t", "a", partition=1)
    assert rows_in(session.fetch({}, forget=(1,))) == []


def test_a_wrong_epoch_or_an_unknown_session_is_refused(world: World) -> None:
    session = Session(world)
    session.fetch({0: 0})
    wrong = session.fetch({}, session_epoch=5)
    assert wrong.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    unknown = session.fetch({}, session_id=session.id + 1)
    assert unknown.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert (unknown.session_id, rows_in(unknown)) == (0, [])


def test_a_final_epoch_ends_the_session(world: World) -> None:
    session = Session(world)
    session.fetch({0: 0})
    final = session.fetch({0: 0}, session_epoch=-1)
    assert (final.error_code, final.session_id, rows_in(final)) == (0, 0, [0])
    gone = session.fetch({}, session_id=session.id or 1, session_epoch=2)
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_sessions_are_not_shared_between_names_and_ids(world: World) -> None:
    session = Session(world)
    session.fetch({0: 0})
    session.version = 13
    assert session.fetch({}).error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_without_room_a_fetch_works_but_gets_no_session() -> None:
    world = World({"max.incremental.fetch.session.cache.slots": "1"})
    world.create_topic("t", 2)
    assert Session(world).fetch({0: 0}).session_id != 0
    crowded = Session(world).fetch({0: 0})
    assert (crowded.session_id, rows_in(crowded)) == (0, [0])
    world.wait(EVICTION_MS + 1)
    assert Session(world).fetch({0: 0}).session_id != 0


def test_all_sessions_together_hold_no_more_partitions_than_the_bound(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch_sessions, "PARTITIONS_MAX", 3)
    assert Session(world).fetch({0: 0, 1: 0}).session_id != 0
    assert Session(world).fetch({0: 0, 1: 0}).session_id == 0
    growing = Session(world)
    assert growing.fetch({0: 0}).session_id != 0
    assert growing.fetch({1: 0}).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_of_more_partitions_takes_the_place_of_an_old_smaller_one() -> None:
    world = World({"max.incremental.fetch.session.cache.slots": "1"})
    world.create_topic("t", 3)
    small = Session(world)
    assert small.fetch({0: 0}).session_id != 0
    assert Session(world).fetch({0: 0, 1: 0}).session_id == 0, "it is too young to go"
    for _ in range(3):  # it is used, and grows old
        world.wait(EVICTION_MS // 2)
        assert small.fetch({}).error_code == 0
    assert Session(world).fetch({1: 0}).session_id == 0, "it is no smaller"
    assert Session(world).fetch({0: 0, 1: 0}).session_id != 0
    assert small.fetch({}).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize("epoch", [-1, -2, -(2**31)])
def test_a_negative_leader_epoch_is_none(epoch: int) -> None:
    world = World()
    world.create_topic("t")
    assert world.fetch("t", current_leader_epoch=epoch).error_code == ErrorCode.NONE
