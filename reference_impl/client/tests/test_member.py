"""The consumer as a member of a classic group, with a coordinator played by the test."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.client import calls
from reference_impl.client.effects import Change
from reference_impl.client.errors import ClientError, IllegalState
from reference_impl.client.group.classic.assignors import decode_assignment, encode_assignment
from reference_impl.client.group.classic.states import Move, State, next_state
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
from reference_impl.client.values import OffsetAndMetadata, TopicPartition
from reference_impl.links.effects import Lane
from reference_impl.wire import ApiKey, ErrorCode, response_definition


def answer_coordinator(script: Script) -> None:
    row = response_definition(ApiKey.FIND_COORDINATOR).struct(
        "Coordinator", key="g", node_id=1, host="one", port=9092
    )
    script.answer(script.wait_for(ApiKey.FIND_COORDINATOR), coordinators=[row])


def answer_sync(script: Script, *partitions: TopicPartition) -> Any:
    ask = script.wait_for(ApiKey.SYNC_GROUP)
    script.answer(ask, assignment=encode_assignment(partitions))
    return ask


def answer_join(script: Script, generation: int, leader: str = "other", **fields: Any) -> Any:
    ask = script.wait_for(ApiKey.JOIN_GROUP)
    name = ask.body.protocols[0].name
    script.answer(
        ask, generation_id=generation, member_id="me", leader=leader, protocol_name=name, **fields
    )
    return ask


def answer_committed(script: Script, offset: int, epoch: int = -1) -> None:
    of = response_definition(ApiKey.OFFSET_FETCH)
    ask = script.wait_for(ApiKey.OFFSET_FETCH)
    rows = [
        of.struct(
            "OffsetFetchResponsePartitions",
            partition_index=index,
            committed_offset=offset,
            committed_leader_epoch=epoch,
        )
        for index in ask.body.groups[0].topics[0].partition_indexes
    ]
    topic = of.struct("OffsetFetchResponseTopics", name="t", partitions=rows)
    group = of.struct("OffsetFetchResponseGroup", group_id="g", topics=[topic])
    script.answer(ask, groups=[group])


def answer_commit(script: Script, error: int = 0) -> dict[int, int]:
    """Answer OffsetCommit, and return what it asked to commit."""
    of = response_definition(ApiKey.OFFSET_COMMIT)
    ask = script.wait_for(ApiKey.OFFSET_COMMIT)
    asked = ask.body.topics[0].partitions
    rows = [
        of.struct(
            "OffsetCommitResponsePartition", partition_index=row.partition_index, error_code=error
        )
        for row in asked
    ]
    topic = of.struct("OffsetCommitResponseTopic", name="t", partitions=rows)
    script.answer(ask, topics=[topic])
    return {row.partition_index: row.committed_offset for row in asked}


def member(strategy: str = "RangeAssignor", **config: Any) -> tuple[Script, int]:
    """Return a member of generation 1 that has read both partitions up to offset 3, with its
    pending poll."""
    settings = {"group_id": "g", "partition_assignment_strategy": strategy, **config}
    script = consumer(**settings)
    script.ok(SUBSCRIBE)
    assert script.asks == [], "a rebalance begins inside a poll"
    poll = script.call(POLL)
    answer_coordinator(script)
    ask = script.wait_for(ApiKey.JOIN_GROUP)
    assert ask.destination.lane is Lane.COORDINATOR
    script.answer(ask, error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="me")
    assert answer_join(script, 1).body.member_id == "me"
    answer_sync(script, ZERO, ONE)
    answer_committed(script, 3)
    return script, poll


def beat(script: Script, error: int) -> None:
    script.answer(script.wait_for(ApiKey.HEARTBEAT), error_code=error)


def changes(script: Script) -> list[tuple[Change, int]]:
    return [(change.change, len(change.partitions)) for change in script.changes]


def test_a_committed_offset_of_a_newer_leader_awaits_newer_metadata() -> None:
    """The leader of the old metadata may lack the record before the offset (KIP-320)."""
    script = consumer(group_id="g")
    script.ok(SUBSCRIBE)
    script.call(POLL)
    answer_coordinator(script)
    answer_join(script, 1)
    answer_sync(script, ZERO)
    answer_committed(script, 3, epoch=7)
    script.wait(1000)
    assert not script.waits_for(ApiKey.OFFSET_FOR_LEADER_EPOCH)
    assert not script.waits_for(ApiKey.FETCH)
    script.leader_epoch = 7
    row = script.wait_for(ApiKey.OFFSET_FOR_LEADER_EPOCH).body.topics[0].partitions[0]
    assert (row.current_leader_epoch, row.leader_epoch) == (7, 7)


def test_the_leader_shares_the_partitions_out() -> None:
    script = consumer(group_id="g")
    script.ok(SUBSCRIBE)
    script.call(POLL)
    answer_coordinator(script)
    of = response_definition(ApiKey.JOIN_GROUP)
    metadata = script.waits_for(ApiKey.JOIN_GROUP)[0].body.protocols[0].metadata
    members = [
        of.struct("JoinGroupResponseMember", member_id=name, metadata=metadata)
        for name in ("me", "you")
    ]
    answer_join(script, 1, leader="me", members=members)
    ask = script.take(ApiKey.SYNC_GROUP)
    shares = {row.member_id: decode_assignment(row.assignment) for row in ask.body.assignments}
    assert shares == {"me": [ZERO], "you": [ONE]}


def test_a_member_reads_from_the_committed_offset() -> None:
    script, poll = member()
    answer_fetch(script, 3, "d")
    assert offsets(script.results[poll]) == [3]
    assert changes(script) == [(Change.ASSIGNED, 2)]


def test_no_record_is_given_out_while_its_partition_is_revoked() -> None:
    script, poll = member()
    answer_fetch(script, 3, "d")
    assert script.results[poll]
    beat(script, ErrorCode.REBALANCE_IN_PROGRESS)
    answer_fetch(script, 4, "e")
    poll = script.call(POLL)
    assert poll not in script.results, "the next owner would read it again: 4 is being committed"
    assert answer_commit(script) == {0: 4, 1: 3}


def test_an_eager_member_commits_and_gives_up_everything_before_it_joins_again() -> None:
    script, poll = member()
    answer_fetch(script, 3, "d")
    beat(script, ErrorCode.REBALANCE_IN_PROGRESS)
    assert not script.waits_for(ApiKey.OFFSET_COMMIT), "no poll, no rebalance"
    assert script.results[poll]
    script.call(POLL)
    assert answer_commit(script) == {0: 4, 1: 3}
    assert changes(script)[-1] == (Change.REVOKED, 2)
    answer_join(script, 2)
    answer_sync(script, ONE)
    assert script.machine.assignment == (ONE,)  # type: ignore[attr-defined]
    assert changes(script)[-1] == (Change.ASSIGNED, 1)


def test_a_cooperative_member_goes_on_reading_and_gives_up_only_what_is_gone() -> None:
    script, poll = member("CooperativeStickyAssignor", enable_auto_commit=False)
    answer_fetch(script, 3, "d")
    beat(script, ErrorCode.REBALANCE_IN_PROGRESS)
    poll = script.call(POLL)
    assert script.waits_for(ApiKey.JOIN_GROUP)
    answer_fetch(script, 4, "e")
    assert offsets(script.results[poll]) == [4], "it reads while it joins"
    answer_join(script, 2)
    answer_sync(script, ZERO)
    assert changes(script)[1:] == [(Change.REVOKED, 1)]
    script.call(POLL)
    ask = script.wait_for(ApiKey.JOIN_GROUP)
    assert ask.body.member_id == "me", "it joins again, so that the partition can be assigned"


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION])
def test_an_evicted_member_has_lost_its_partitions(error: ErrorCode) -> None:
    script, _ = member()
    answer_fetch(script, 3, "d")
    beat(script, error)
    script.call(POLL)
    assert changes(script)[-1] == (Change.LOST, 2)
    assert script.take(ApiKey.JOIN_GROUP).body.member_id == ""
    assert not script.waits_for(ApiKey.OFFSET_COMMIT)


def test_a_member_evicted_by_its_own_commit_joins_again() -> None:
    script, _ = member()
    answer_fetch(script, 3, "d")
    beat(script, ErrorCode.REBALANCE_IN_PROGRESS)
    script.call(POLL)
    answer_commit(script, ErrorCode.UNKNOWN_MEMBER_ID)
    assert script.wait_for(ApiKey.JOIN_GROUP).body.member_id == ""
    assert script.machine.assignment == ()  # type: ignore[attr-defined]


def test_a_silent_application_leaves_the_group() -> None:
    script, _ = member(max_poll_interval_ms=5_000)
    answer_fetch(script, 3, "d")
    script.wait(5_000)
    assert script.take(ApiKey.LEAVE_GROUP).body.members[0].member_id == "me"
    script.call(POLL)
    assert changes(script)[-1] == (Change.LOST, 2)


def test_a_fenced_static_member_can_only_be_closed() -> None:
    script, _ = member(group_instance_id="one")
    answer_fetch(script, 3, "d")
    beat(script, ErrorCode.FENCED_INSTANCE_ID)
    for _ in range(2):
        with pytest.raises(ClientError, match="FENCED_INSTANCE_ID") as refused:
            script.ok(POLL)
        assert refused.value.fatal


def test_the_listener_is_waited_for() -> None:
    script, _ = member()
    answer_fetch(script, 3, "d")
    script.ok(calls.Subscribe(frozenset({"t"}), is_listening=True))
    script.call(POLL)
    answer_commit(script)
    assert changes(script)[-1] == (Change.REVOKED, 2)
    assert not script.waits_for(ApiKey.JOIN_GROUP)
    script.ok(calls.ChangeHandled())
    assert script.waits_for(ApiKey.JOIN_GROUP)
    with pytest.raises(IllegalState):
        script.ok(calls.ChangeHandled())


def test_a_commit_is_tried_again_at_the_new_coordinator() -> None:
    script, _ = member(enable_auto_commit=False)
    commit = script.call(calls.Commit({ZERO: OffsetAndMetadata(9, "note")}))
    assert answer_commit(script, ErrorCode.NOT_COORDINATOR) == {0: 9}
    answer_coordinator(script)
    assert answer_commit(script) == {0: 9}
    assert script.results[commit] == {ZERO: OffsetAndMetadata(9, "note")}


def test_a_commit_of_an_old_generation_fails() -> None:
    script, _ = member(enable_auto_commit=False)
    commit = script.call(calls.Commit())
    assert answer_commit(script, ErrorCode.ILLEGAL_GENERATION) == {0: 3, 1: 3}
    assert script.results[commit].name == "ILLEGAL_GENERATION"


def test_auto_commit_says_what_earlier_polls_have_returned() -> None:
    script, _ = member(auto_commit_interval_ms=1_000)
    answer_fetch(script, 3, "d")
    script.wait(1_000)
    script.call(calls.Poll(0))
    assert answer_commit(script) == {0: 4, 1: 3}


def test_closing_commits_and_leaves() -> None:
    script, _ = member()
    answer_fetch(script, 3, "d")
    close = script.call(calls.Close())
    assert answer_commit(script) == {0: 4, 1: 3}
    assert close not in script.results
    assert script.reply(ApiKey.LEAVE_GROUP).body.members[0].member_id == "me"
    assert script.results[close] is None
    assert changes(script)[-1] == (Change.REVOKED, 2)


def test_a_lost_coordinator_is_looked_for_and_the_member_stays() -> None:
    script, _ = member()
    script.lose(script.wait_for(ApiKey.HEARTBEAT))
    script.wait(3_000)
    answer_coordinator(script)
    assert script.wait_for(ApiKey.HEARTBEAT).body.generation_id == 1


def test_a_move_that_the_table_lacks_is_an_error_of_the_client() -> None:
    with pytest.raises(ValueError, match="a member that is unjoined cannot make the move synced"):
        next_state(State.UNJOINED, Move.SYNCED)
