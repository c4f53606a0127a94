"""The consumer as a member by KIP-848, with a coordinator played by the test."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.client import calls
from reference_impl.client.effects import Change
from reference_impl.client.errors import ClientError
from reference_impl.client.group.consumer.states import Move, State, next_state
from reference_impl.client.tests.consumer_script import (
    ONE,
    POLL,
    SUBSCRIBE,
    ZERO,
    answer_fetch,
    consumer,
    offsets,
)
from reference_impl.client.tests.script import Script
from reference_impl.client.tests.test_member import (
    answer_commit,
    answer_committed,
    answer_coordinator,
    changes,
)
from reference_impl.client.values import TopicPartition
from reference_impl.links.effects import Ask
from reference_impl.wire import ZERO_UUID, ApiKey, ErrorCode, Struct, response_definition

INTERVAL_MS = 5_000
HEARTBEAT = ApiKey.CONSUMER_GROUP_HEARTBEAT
LISTENING = calls.Subscribe(frozenset({"t"}), is_listening=True)


def beat(script: Script, epoch: int, *part: TopicPartition, error: int = 0) -> Struct:
    """Answer a heartbeat with a new assignment; return the heartbeat."""
    of = response_definition(HEARTBEAT)
    rows = [
        of.struct("TopicPartitions", topic_id=ZERO_UUID, partitions=[each.partition])
        for each in part
    ]
    return answer(script, epoch, of.struct("Assignment", topic_partitions=rows), error)


def still(script: Script, epoch: int, error: int = 0) -> Struct:
    """Answer a heartbeat with the assignment unchanged; return the heartbeat."""
    return answer(script, epoch, None, error)


def answer(script: Script, epoch: int, assignment: Struct | None, error: int) -> Struct:
    ask = script.wait_for(HEARTBEAT)
    script.answer(
        ask,
        member_id=ask.body.member_id,
        member_epoch=epoch,
        heartbeat_interval_ms=INTERVAL_MS,
        assignment=assignment,
        error_code=error,
    )
    return ask.body


def reported(body: Struct) -> list[int] | None:
    if body.topic_partitions is None:
        return None
    return [index for row in body.topic_partitions for index in row.partitions]


def held(script: Script) -> tuple[TopicPartition, ...]:
    assignment: tuple[TopicPartition, ...] = script.machine.assignment  # type: ignore[attr-defined]
    return assignment


def member(*, subscribe: calls.Subscribe = SUBSCRIBE, **config: Any) -> tuple[Script, str]:
    """Return a member in epoch 1 that has read both partitions up to offset 3, with its id."""
    given = {name: value for name, value in config.items() if value is not None}
    settings = {"auto_commit_interval_ms": 60_000, **given}
    script = consumer(group_id="g", group_protocol="consumer", **settings)
    script.ok(subscribe)
    assert script.asks == [], "it joins inside a poll"
    poll = script.call(POLL)
    answer_coordinator(script)
    joining = beat(script, 1, ZERO, ONE)
    if subscribe.is_listening:
        script.ok(calls.ChangeHandled())
    assert reported(still(script, 1)) == [0, 1]
    answer_committed(script, 3)
    answer_fetch(script, 3, "d")
    assert offsets(script.results[poll]) == [3]
    if config.get("enable_auto_commit", True):
        script.ok(calls.Poll(0))
        assert answer_commit(script) == {0: 4, 1: 3}, "what an earlier poll returned is done"
    return script, joining.member_id


def test_the_first_heartbeat_says_everything_and_later_ones_what_is_new() -> None:
    script = consumer(group_id="g", group_protocol="consumer", group_remote_assignor="uniform")
    script.ok(SUBSCRIBE)
    script.call(POLL)
    answer_coordinator(script)
    joining = beat(script, 1, ZERO)
    assert len(joining.member_id) == 22, "a UUID of its own (KIP-1082)"
    assert (joining.member_epoch, joining.subscribed_topic_names) == (0, ["t"])
    assert (joining.rebalance_timeout_ms, joining.server_assignor) == (300_000, "uniform")
    assert reported(joining) == []
    arrived = still(script, 1)
    assert (arrived.member_id, arrived.member_epoch) == (joining.member_id, 1)
    assert reported(arrived) == [0]
    assert arrived.subscribed_topic_names is arrived.server_assignor is None
    before_ms = script.now_ms
    later = still(script, 1)
    assert script.now_ms - before_ms == INTERVAL_MS
    assert reported(later) is None
    assert later.rebalance_timeout_ms == -1


def test_what_goes_is_committed_told_and_let_go_before_the_coordinator_hears() -> None:
    script, _ = member(subscribe=LISTENING)
    beat(script, 1, ONE)
    poll = script.call(POLL)
    assert not script.waits_for(HEARTBEAT)
    assert answer_commit(script) == {0: 4, 1: 3}
    assert changes(script)[-1] == (Change.REVOKED, 1)
    assert held(script) == (ZERO, ONE)
    assert not script.waits_for(HEARTBEAT)
    assert poll not in script.results, "nothing is read while partitions change hands"
    script.ok(calls.ChangeHandled())
    assert held(script) == (ONE,)
    assert reported(still(script, 2)) == [1]
    assert script.machine.group_metadata.generation_id == 2  # type: ignore[attr-defined]


def test_a_change_waits_for_the_next_poll() -> None:
    script, _ = member(enable_auto_commit=False)
    beat(script, 1, ONE)
    still(script, 1)
    assert held(script) == (ZERO, ONE)
    script.call(POLL)
    assert held(script) == (ONE,)


def test_nothing_is_taken_while_a_heartbeat_says_that_it_is_not_held() -> None:
    """Otherwise the coordinator could assign a partition to another member although this one has
    just begun to read it."""
    script, _ = member(enable_auto_commit=False)
    beat(script, 1, ONE)
    script.lose(script.wait_for(HEARTBEAT))
    answer_coordinator(script)
    assert reported(script.waits_for(HEARTBEAT)[0].body) == [0, 1], "it says everything anew"
    script.ok(calls.Poll(0))
    assert held(script) == (ZERO, ONE), "the answer may bring another part"
    still(script, 1)
    script.ok(calls.Poll(0))
    assert held(script) == (ONE,)


def test_a_revocation_commits_again_in_the_next_epoch() -> None:
    script, member_id = member()
    beat(script, 1, ONE)
    script.call(POLL)
    answer_commit(script, ErrorCode.STALE_MEMBER_EPOCH)
    still(script, 2)
    ask = script.wait_for(ApiKey.OFFSET_COMMIT)
    assert ask.body.member_id == member_id
    script.asks.append(ask)
    answer_commit(script)
    assert held(script) == (ONE,)


def test_a_commit_that_was_asked_for_fails_in_an_old_epoch() -> None:
    script, _ = member(enable_auto_commit=False)
    commit = script.call(calls.Commit())
    assert answer_commit(script, ErrorCode.STALE_MEMBER_EPOCH) == {0: 4, 1: 3}
    assert script.results[commit].name == "STALE_MEMBER_EPOCH"
    assert script.waits_for(HEARTBEAT), "it asks at once what has become of it"


def test_committed_offsets_are_asked_for_in_the_members_name_until_the_epoch_is_right() -> None:
    script = consumer(group_id="g", group_protocol="consumer")
    script.ok(SUBSCRIBE)
    poll = script.call(POLL)
    answer_coordinator(script)
    member_id = beat(script, 1, ZERO).member_id
    ask = script.wait_for(ApiKey.OFFSET_FETCH)
    assert asker(ask) == (member_id, 1)
    group = response_definition(ApiKey.OFFSET_FETCH).struct(
        "OffsetFetchResponseGroup", group_id="g", error_code=ErrorCode.STALE_MEMBER_EPOCH
    )
    script.answer(ask, groups=[group])
    still(script, 2)
    ask = script.wait_for(ApiKey.OFFSET_FETCH)
    assert asker(ask) == (member_id, 2)
    script.asks.append(ask)
    answer_committed(script, 7)
    answer_fetch(script, 7, "h")
    assert offsets(script.results[poll]) == [7]


def asker(ask: Ask) -> tuple[str, int]:
    return ask.body.groups[0].member_id, ask.body.groups[0].member_epoch


@pytest.mark.parametrize("error", [ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID])
def test_a_fenced_member_has_lost_its_partitions_and_joins_again(error: ErrorCode) -> None:
    script, member_id = member()
    still(script, 0, error)
    assert not script.machine.group_metadata.member_id  # type: ignore[attr-defined]
    assert held(script), "its application works on them yet"
    with pytest.raises(ClientError, match="this consumer is not a member of the group"):
        script.ok(calls.Commit())
    script.call(POLL)
    assert changes(script)[-1] == (Change.LOST, 2)
    assert not script.waits_for(ApiKey.OFFSET_COMMIT)
    joining = beat(script, 5, ZERO)
    assert (joining.member_id, joining.member_epoch) == (member_id, 0)
    assert joining.subscribed_topic_names == ["t"]
    assert reported(joining) == []
    assert held(script) == (ZERO,)


def test_a_member_whose_coordinator_moved_stays_and_says_everything() -> None:
    script, member_id = member()
    still(script, 0, ErrorCode.NOT_COORDINATOR)
    answer_coordinator(script)
    body = still(script, 1)
    assert (body.member_id, body.member_epoch) == (member_id, 1)
    assert (body.subscribed_topic_names, reported(body)) == (["t"], [0, 1])
    assert changes(script) == [(Change.ASSIGNED, 2)]


def test_a_topic_that_is_forbidden_is_told_once_and_asked_for_again() -> None:
    script, _ = member(enable_auto_commit=False)
    still(script, 0, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(ClientError, match="TOPIC_AUTHORIZATION_FAILED") as refused:
        script.ok(POLL)
    assert not refused.value.fatal
    poll = script.call(POLL)
    assert still(script, 1).subscribed_topic_names == ["t"]
    answer_fetch(script, 4, "e")
    assert offsets(script.results[poll]) == [4]


def test_a_replaced_static_member_can_only_be_closed() -> None:
    script, _ = member(group_instance_id="one")
    still(script, 0, ErrorCode.FENCED_INSTANCE_ID)
    for _ in range(2):
        with pytest.raises(ClientError, match="FENCED_INSTANCE_ID") as refused:
            script.ok(POLL)
        assert refused.value.fatal
    script.ok(calls.Close())
    assert changes(script)[-1] == (Change.LOST, 2)
    assert not script.waits_for(HEARTBEAT)


def test_who_leaves_before_the_coordinator_is_found_does_not_join_afterwards() -> None:
    script = consumer(group_id="g", group_protocol="consumer")
    script.ok(SUBSCRIBE)
    script.call(POLL)
    script.ok(calls.Unsubscribe())
    answer_coordinator(script)
    script.wait(1_000)
    assert not script.waits_for(HEARTBEAT)
    script.ok(SUBSCRIBE)
    script.call(POLL)
    assert beat(script, 1, ZERO).member_epoch == 0


@pytest.mark.parametrize(("instance_id", "epoch"), [(None, -1), ("one", -2)])
def test_closing_commits_and_leaves_for_good_or_for_a_while(
    instance_id: str | None, epoch: int
) -> None:
    script, member_id = member(group_instance_id=instance_id)
    unsubscribe, close = script.call(calls.Unsubscribe()), script.call(calls.Close())
    for _ in (unsubscribe, close):
        assert answer_commit(script) == {0: 4, 1: 3}
    body = still(script, epoch)
    assert (body.member_id, body.member_epoch) == (member_id, epoch)
    assert {unsubscribe, close} <= script.results.keys()
    assert changes(script)[-1] == (Change.REVOKED, 2)


def test_a_move_that_the_table_lacks_is_an_error_of_the_client() -> None:
    with pytest.raises(ValueError, match="a member that is stale cannot make the move arrives"):
        next_state(State.STALE, Move.ARRIVES)
