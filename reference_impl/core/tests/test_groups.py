"""Classic consumer groups: joining, syncing, leaving, expiring, static members."""

from __future__ import annotations

import pytest

from reference_impl.core.groups.classic import timers
from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.groups.classic.states import CLASSIC_GROUP, Move, State, next_state
from reference_impl.core.storage import StorageError
from reference_impl.core.tests.group_client import (
    JOIN,
    REBALANCE_MS,
    SESSION_MS,
    Client,
    committed,
    new_world,
    stable_pair,
    state,
)
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode


@pytest.fixture
def world() -> World:
    return new_world()


def refuse(path: str, size: int) -> None:
    """Refuse each append, in place of `MemoryStorage.charge`."""
    raise StorageError(path, "no space left on the disk", no_space=True)


def test_every_move_of_the_table_is_allowed_and_every_other_raises() -> None:
    for start in State:
        for move in Move:
            if move in CLASSIC_GROUP[start]:
                assert next_state(start, move) is CLASSIC_GROUP[start][move]
            else:
                with pytest.raises(ValueError, match=start.value):
                    next_state(start, move)


@pytest.mark.parametrize("name", ["c" * 32_767, "é" * 16_383], ids=["ascii", "two bytes"])
def test_the_id_of_a_member_with_the_longest_name_is_a_string(world: World, name: str) -> None:
    for instance in (None, name):
        body = JOIN.new(
            group_id=f"g{instance is None}",
            session_timeout_ms=SESSION_MS,
            group_instance_id=instance,
            protocol_type="consumer",
            protocols=[JOIN.struct("JoinGroupRequestProtocol", name="range", metadata=b"")],
        )
        number = world.send(ApiKey.JOIN_GROUP, 7, body, client_id=name)
        world.wait(0)
        answer = world.answer_to(number)
        assert answer is not None
        ids = [answer.member_id, *(member.member_id for member in answer.members)]
        assert {len(each.encode()) for each in ids} <= {32_766, 32_767}


def test_a_single_member_leads_and_gets_its_own_assignment(world: World) -> None:
    one = Client(world, 1)
    first = one.send_join()
    assert first is not None
    assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
    one.send_join()
    world.wait(0)
    answer = one.take()
    assert answer is not None
    assert (answer.generation_id, answer.leader) == (1, one.member_id)
    assert [row.member_id for row in answer.members] == [one.member_id]
    sync = world.answer_to(one.send_sync({one.member_id: b"all"}))
    assert sync is not None
    assert sync.assignment == b"all"
    assert state(world) is State.STABLE


def test_old_versions_join_without_a_member_id(world: World) -> None:
    one = Client(world, 1)
    assert one.send_join(version=3) is None
    world.wait(0)
    answer = one.take()
    assert answer is not None
    assert answer.error_code == 0


def test_a_second_member_makes_the_first_join_again(world: World) -> None:
    one, two = stable_pair(world)
    assert one.generation == two.generation == 2
    three = Client(world, 3)
    three.join()
    assert one.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    one.send_join()
    two.send_join()
    assert three.take() is not None
    assert three.generation == 3


def test_the_initial_delay_lets_others_come_in() -> None:
    world = new_world(group_initial_rebalance_delay_ms="1000")
    one, two = Client(world, 1), Client(world, 2)
    one.join()
    world.wait(600)
    two.join()
    world.wait(600)
    assert one.take() is None  # the second member extended the delay
    world.wait(1000)
    answer = one.take()
    assert answer is not None
    assert len(answer.members) == 2
    assert two.take() is not None


def test_who_does_not_join_again_in_time_is_dropped(world: World) -> None:
    one, two = stable_pair(world)
    three = Client(world, 3)
    three.join()
    one.send_join()
    for _ in range(3):
        world.wait(REBALANCE_MS // 3)
        two.heartbeat()  # it lives, but does not join
    world.wait(REBALANCE_MS // 3)
    assert one.take() is not None
    assert two.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_joins_later_gives_the_others_no_more_time(world: World) -> None:
    one, two = stable_pair(world)
    three, four = Client(world, 3), Client(world, 4)
    three.join()
    one.send_join()
    for _ in range(3):
        world.wait(REBALANCE_MS // 4)
        two.heartbeat()
    four.join()
    world.wait(REBALANCE_MS // 4)
    assert one.take() is not None
    assert two.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_sync_in_a_stable_group_is_no_sign_of_life(world: World) -> None:
    one, _ = stable_pair(world)
    world.wait(SESSION_MS - 1)
    answer = world.answer_to(one.send_sync())
    assert answer is not None
    assert answer.error_code == ErrorCode.NONE
    world.wait(1)
    assert one.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_leaves_before_it_joins_begins_a_rebalance(world: World) -> None:
    one, _ = stable_pair(world)
    newcomer = Client(world, 3)
    newcomer.send_join()
    assert newcomer.leave() == 0
    assert one.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS


def test_who_leaves_an_empty_group_before_it_joins_begins_nothing(world: World) -> None:
    newcomer = Client(world, 1)
    newcomer.send_join()
    assert newcomer.leave() == 0
    assert state(world) is State.EMPTY


def test_a_silent_member_expires_after_its_session_timeout(world: World) -> None:
    one, two = stable_pair(world)
    world.wait(SESSION_MS - 1)
    assert one.heartbeat() == 0
    world.wait(1)
    assert two.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert one.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS


def test_who_never_syncs_is_dropped(world: World) -> None:
    one, two = Client(world, 1), Client(world, 2)
    one.join()
    world.wait(0)
    one.take()
    two.join()
    one.send_join()
    two.take()
    one.send_sync({})
    for _ in range(4):
        world.wait(REBALANCE_MS // 4)
        one.heartbeat()
        two.heartbeat()
    assert two.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


def test_leaving_begins_a_rebalance_and_the_last_one_empties_the_group(world: World) -> None:
    one, two = stable_pair(world)
    assert two.leave() == 0
    assert one.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    assert one.leave() == 0
    assert state(world) is State.EMPTY
    assert two.leave() == ErrorCode.UNKNOWN_MEMBER_ID


def test_other_generations_and_strangers_are_refused(world: World) -> None:
    one, _ = stable_pair(world)
    one.generation += 1
    assert one.heartbeat() == ErrorCode.ILLEGAL_GENERATION
    assert one.commit(1) == ErrorCode.ILLEGAL_GENERATION
    one.member_id = "stranger"
    assert one.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    answer = one.send_join()
    assert answer is not None
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_protocols_without_anything_in_common_are_refused(world: World) -> None:
    stable_pair(world)
    three = Client(world, 3)
    three.protocols = {"sticky": b""}
    answer = three.send_join()
    assert answer is not None
    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_follower_with_nothing_new_stays_in_its_generation(world: World) -> None:
    _, two = stable_pair(world)
    answer = two.send_join()
    assert answer is not None
    assert answer.generation_id == 2
    assert state(world) is State.STABLE


def test_a_leader_that_joins_again_begins_a_rebalance(world: World) -> None:
    one, _ = stable_pair(world)
    assert one.send_join() is None
    assert state(world) is State.PREPARING_REBALANCE


def test_a_static_member_comes_back_without_a_rebalance(world: World) -> None:
    one = Client(world, 1, instance="i")
    one.send_join()
    world.wait(0)
    one.take()
    world.answer_to(one.send_sync({one.member_id: b"all"}))
    again = Client(world, 2, instance="i")
    answer = again.send_join(version=9)
    assert answer is not None
    assert (answer.generation_id, answer.skip_assignment) == (1, True)
    assert again.member_id != one.member_id
    sync = world.answer_to(again.send_sync())
    assert sync is not None
    assert sync.assignment == b"all"
    assert one.heartbeat() == ErrorCode.FENCED_INSTANCE_ID
    assert one.commit(1) == ErrorCode.FENCED_INSTANCE_ID
    assert again.heartbeat() == 0


@pytest.mark.parametrize("version", [8, 9])
def test_a_static_member_keeps_its_place_if_the_log_refuses_its_successor(
    world: World, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin, "Reverting to old member
    id"."""
    one = Client(world, 1, instance="i")
    one.send_join()
    world.wait(0)
    one.take()
    world.answer_to(one.send_sync({one.member_id: b"all"}))
    again = Client(world, 2, instance="i")
    again.protocols = {"range": b"other metadata", "roundrobin": b""}
    with monkeypatch.context() as full:
        full.setattr(world.storage, "charge", refuse)
        answer = again.send_join(version)
    assert answer is not None
    assert answer.error_code == ErrorCode.NOT_COORDINATOR
    assert (answer.member_id, answer.generation_id, answer.leader) == ("", 1, one.member_id)
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")
    assert (list(answer.members), answer.skip_assignment) == ([], False)
    assert one.heartbeat() == one.commit(1) == ErrorCode.NONE
    group = world.node.broker.groups.of("g").groups["g"]
    assert isinstance(group, ClassicGroup)
    assert list(group.members) == [one.member_id] == list(group.static_members.values())
    assert group.members[one.member_id].protocols == one.protocols
    assert group.common_protocols() == {"range"}
    sessions = [key[-1] for key in world.timers if timers.SESSION in key]
    assert sessions == [one.member_id]
    world.wait(SESSION_MS - 1)
    assert one.heartbeat() == ErrorCode.NONE
    world.wait(SESSION_MS)
    assert state(world) is State.EMPTY


def test_a_full_group_turns_others_away() -> None:
    world = new_world(group_max_size="2")
    stable_pair(world)
    answer = Client(world, 3).send_join(version=3)
    assert answer is not None
    assert answer.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_group_survives_a_kill_in_its_generation(world: World) -> None:
    one, two = stable_pair(world)
    assert one.commit(5) == 0
    world.kill()
    assert (one.heartbeat(), two.heartbeat()) == (0, 0)
    assert committed(world) == 5
    world.wait(SESSION_MS)
    assert one.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_that_is_too_large_after_a_restart_rebalances(world: World) -> None:
    """GroupMetadataManager.onLoaded: the size limit may have been lowered meanwhile."""
    one, two = stable_pair(world)
    world.config = world.config.under({"group.max.size": "1"})
    world.restart()
    assert state(world) is State.PREPARING_REBALANCE
    assert one.send_join() is None
    refused = two.send_join()
    assert refused is not None
    assert refused.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_an_assignment_that_cannot_be_stored_is_dropped_and_everybody_joins_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, other = stable_pair(world)
    leader.send_join()
    other.send_join()
    leader.take()
    other.take()
    waiting = other.send_sync()
    with monkeypatch.context() as full:
        full.setattr(world.storage, "charge", refuse)
        asked = leader.send_sync({leader.member_id: b"0", other.member_id: b"1"})
    for number in (asked, waiting):
        answer = world.answer_to(number)
        assert answer is not None
        assert (answer.error_code, answer.assignment) == (ErrorCode.NOT_COORDINATOR, b"")
    assert state(world) is State.PREPARING_REBALANCE
    assert leader.heartbeat() == other.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    answer = world.answer_to(other.send_sync())
    assert answer is not None
    assert answer.error_code == ErrorCode.REBALANCE_IN_PROGRESS
