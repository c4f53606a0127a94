"""The consumer without a group, with a broker played by the test."""

from __future__ import annotations

import pytest

from reference_impl.client import calls
from reference_impl.client.errors import IllegalState
from reference_impl.client.tests.consumer_script import (
    POLL,
    SUBSCRIBE,
    ZERO,
    answer_fetch,
    answer_offsets,
    consumer,
    offsets,
    reading,
)
from reference_impl.wire import ApiKey, ErrorCode, response_definition


def test_a_call_for_the_partitions_of_a_forbidden_topic_fails_at_once() -> None:
    script = consumer()
    script.errors["t"] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    call = script.call(calls.PartitionsFor("t"))
    assert script.results[call].name == "TOPIC_AUTHORIZATION_FAILED"


def test_the_next_fetch_is_under_way_while_records_are_worked_on() -> None:
    script = reading()
    answer_fetch(script, 0, "a", "b")
    assert not script.waits_for(ApiKey.FETCH)
    assert offsets(script.ok(POLL)) == [0, 1]
    ask = script.take(ApiKey.FETCH)
    assert ask.body.topics[0].partitions[0].fetch_offset == 2


def test_a_poll_waits_for_records_and_ends_with_its_time() -> None:
    script = reading()
    first = script.call(POLL)
    answer_fetch(script, 0, "a")
    assert offsets(script.results[first]) == [0]
    second = script.call(calls.Poll(100))
    script.wait(100)
    assert script.results[second] == []


def test_max_poll_records_leaves_the_rest_for_the_next_poll() -> None:
    script = reading(max_poll_records=2)
    answer_fetch(script, 0, "a", "b", "c")
    assert offsets(script.ok(POLL)) == [0, 1]
    assert not script.waits_for(ApiKey.FETCH)
    assert offsets(script.ok(POLL)) == [2]


def test_records_fetched_before_a_seek_are_not_handed_out() -> None:
    script = reading()
    answer_fetch(script, 0, "a", "b")
    script.ok(calls.Seek(ZERO, 9))
    poll = script.call(POLL)
    answer_fetch(script, 9, "j")
    assert offsets(script.results[poll]) == [9]


def test_paused_partitions_keep_their_records_for_later() -> None:
    script = reading()
    answer_fetch(script, 0, "a")
    script.ok(calls.Pause(frozenset({ZERO})))
    poll = script.call(calls.Poll(100))
    script.wait(100)
    assert script.results[poll] == []
    script.ok(calls.Resume(frozenset({ZERO})))
    assert offsets(script.ok(POLL)) == [0]


def test_an_offset_out_of_range_is_reset() -> None:
    script = reading()
    answer_fetch(script, 0, error=ErrorCode.OFFSET_OUT_OF_RANGE)
    position = script.call(calls.Position(ZERO))
    ask = answer_offsets(script, 40)
    assert ask.body.topics[0].partitions[0].timestamp == -2
    assert script.results[position] == 40


def test_a_lost_session_is_begun_anew() -> None:
    script = reading()
    answer_fetch(script, 0)
    ask = script.take(ApiKey.FETCH)
    assert (ask.body.session_id, ask.body.session_epoch) == (5, 1)
    script.answer(ask, error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    again = script.take(ApiKey.FETCH)
    assert (again.body.session_id, again.body.session_epoch) == (0, 0)
    assert len(again.body.topics) == 1


def test_a_leader_that_has_moved_is_looked_for() -> None:
    script = reading()
    answer_fetch(script, 0, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert not script.waits_for(ApiKey.FETCH)
    assert answer_fetch(script, 0, "a").body.session_id == 5
    assert offsets(script.ok(POLL)) == [0]


def test_an_error_that_nothing_mends_is_raised_by_the_poll() -> None:
    script = reading()
    poll = script.call(POLL)
    answer_fetch(script, 0, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert script.results[poll].name == "TOPIC_AUTHORIZATION_FAILED"


def test_calls_that_make_no_sense_are_refused() -> None:
    script = consumer()
    for call in (POLL, SUBSCRIBE, calls.Seek(ZERO, 1), calls.Commit(), calls.Flush()):
        with pytest.raises(IllegalState):
            script.ok(call)
    script = reading()
    script.call(POLL)
    with pytest.raises(IllegalState, match="another poll is in progress"):
        script.ok(POLL)


def test_an_application_without_a_reset_policy_may_seek_after_it_has_assigned() -> None:
    script = consumer(auto_offset_reset="none")
    script.ok(calls.Assign(frozenset({ZERO})))
    script.ok(calls.Seek(ZERO, 5))
    poll = script.call(POLL)
    answer_fetch(script, 5, "f")
    assert offsets(script.results[poll]) == [5]


@pytest.mark.parametrize("policy", ["earliest", "none"])
def test_a_truncated_log_is_noticed_before_anything_is_read(policy: str) -> None:
    script = consumer(auto_offset_reset=policy)
    script.ok(calls.Assign(frozenset({ZERO})))
    script.ok(calls.Seek(ZERO, 0))
    answer_fetch(script, 0, "a", "b", epoch=0)
    assert offsets(script.ok(POLL)) == [0, 1]
    script.leader_epoch = 1
    answer_fetch(script, 2, error=ErrorCode.FENCED_LEADER_EPOCH)
    ask = script.wait_for(ApiKey.OFFSET_FOR_LEADER_EPOCH)
    row = ask.body.topics[0].partitions[0]
    assert (row.current_leader_epoch, row.leader_epoch) == (1, 0)
    poll = script.call(POLL)
    of = response_definition(ApiKey.OFFSET_FOR_LEADER_EPOCH)
    end = of.struct("EpochEndOffset", partition=0, leader_epoch=0, end_offset=1)
    script.answer(
        ask, topics=[of.struct("OffsetForLeaderTopicResult", topic="t", partitions=[end])]
    )
    if policy == "none":
        assert script.results[poll].name == "LOG_TRUNCATION"
        return
    again = script.wait_for(ApiKey.OFFSET_FOR_LEADER_EPOCH)
    script.answer(
        again, topics=[of.struct("OffsetForLeaderTopicResult", topic="t", partitions=[end])]
    )
    answer_fetch(script, 1, "B", epoch=1)
    assert [record.value for record in script.results[poll]] == [b"B"]


def test_a_leader_that_a_newer_one_has_replaced_is_not_asked() -> None:
    """Its log may end before the offset that the newer leader has named (KIP-320)."""
    script = reading()
    answer_fetch(script, 0, error=ErrorCode.OFFSET_OUT_OF_RANGE)
    script.call(POLL)
    answer_offsets(script, 40, epoch=7)
    script.wait(1000)
    asked = {ApiKey.FETCH, ApiKey.OFFSET_FOR_LEADER_EPOCH}
    assert [ask for ask in script.asks if ask.api_key in asked] == []
    script.leader_epoch = 7
    row = script.wait_for(ApiKey.OFFSET_FOR_LEADER_EPOCH).body.topics[0].partitions[0]
    assert (row.current_leader_epoch, row.leader_epoch) == (7, 7)


def test_a_look_up_by_time_in_a_forbidden_topic_fails_at_once() -> None:
    script = consumer()
    script.errors["t"], script.topics["t"] = ErrorCode.TOPIC_AUTHORIZATION_FAILED, 0
    call = script.call(calls.OffsetsForTimes({ZERO: 1}))
    assert script.results[call].name == "TOPIC_AUTHORIZATION_FAILED"


def test_the_position_in_a_forbidden_topic_is_an_error_at_once() -> None:
    script = consumer()
    script.errors["t"], script.topics["t"] = ErrorCode.TOPIC_AUTHORIZATION_FAILED, 0
    script.ok(calls.Assign(frozenset({ZERO})))
    call = script.call(calls.Position(ZERO))
    assert script.results[call].name == "TOPIC_AUTHORIZATION_FAILED"


def test_a_position_that_cannot_be_found_is_an_error_at_once() -> None:
    script = consumer(auto_offset_reset="none")
    script.ok(calls.Assign(frozenset({ZERO})))
    call = script.call(calls.Position(ZERO))
    assert script.results[call].name == "NO_OFFSET_FOR_PARTITION"
    poll = script.call(POLL)
    script.wait(200)
    assert script.results[poll].name == "NO_OFFSET_FOR_PARTITION"


def test_a_position_that_the_leader_refuses_is_an_error_at_once() -> None:
    script = consumer()
    script.ok(calls.Assign(frozenset({ZERO})))
    call = script.call(calls.Position(ZERO))
    answer_offsets(script, -1, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert script.results[call].name == "TOPIC_AUTHORIZATION_FAILED"
