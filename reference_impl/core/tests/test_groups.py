"""Classic consumer groups: joining, syncing, leaving, expiring, static members, commits."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.core.groups.group_log import partition_for
from reference_impl.core.groups.states import CLASSIC_GROUP, Move, State, next_state
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

JOIN = request_definition(ApiKey.JOIN_GROUP)
SYNC = request_definition(ApiKey.SYNC_GROUP)
COMMIT = request_definition(ApiKey.OFFSET_COMMIT)
FETCH = request_definition(ApiKey.OFFSET_FETCH)
SESSION_MS, REBALANCE_MS = 10_000, 20_000


@pytest.fixture
def world() -> World:
    return new_world()


def new_world(**config: str) -> World:
    world = World({key.replace("_", "."): value for key, value in config.items()})
    world.create_topic("t", 2)
    world.node.broker.groups.ensure_topic()
    return world


class Client:
    """A member, or one who wants to be: one connection, one group."""

    def __init__(self, world: World, number: int, instance: str | None = None) -> None:
        self.world, self.number, self.instance = world, number, instance
        self.member_id, self.generation = "", -1
        self.pending = 0
        self.protocols = {"range": b"metadata"}

    def send_join(self, version: int = 7) -> Struct | None:
        rows = [
            JOIN.struct("JoinGroupRequestProtocol", name=name, metadata=data)
            for name, data in self.protocols.items()
        ]
        body = JOIN.new(
            group_id="g",
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocols=rows,
        )
        self.pending = self.world.send(ApiKey.JOIN_GROUP, version, body, self.number)
        return self.take()

    def take(self) -> Struct | None:
        """The answer to the last JoinGroup, if it has come."""
        answer = self.world.answer_to(self.pending)
        if answer is not None:
            self.member_id = answer.member_id
            self.generation = answer.generation_id
        return answer

    def join(self) -> None:
        """Ask for a place, with the id that the first answer gives (KIP-394)."""
        answer = self.send_join()
        if answer is not None and answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.send_join()

    def send_sync(self, assignments: dict[str, bytes] | None = None) -> int:
        rows = [
            SYNC.struct("SyncGroupRequestAssignment", member_id=member_id, assignment=data)
            for member_id, data in (assignments or {}).items()
        ]
        body = SYNC.new(
            group_id="g",
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocol_name="range",
            assignments=rows,
        )
        return self.world.send(ApiKey.SYNC_GROUP, 5, body, self.number)

    def heartbeat(self) -> int:
        answer = self.world.call(
            ApiKey.HEARTBEAT,
            4,
            self.number,
            group_id="g",
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
        )
        code: int = answer.error_code
        return code

    def leave(self) -> int:
        of = request_definition(ApiKey.LEAVE_GROUP)
        row = of.struct("MemberIdentity", member_id=self.member_id, group_instance_id=self.instance)
        answer = self.world.call(ApiKey.LEAVE_GROUP, 5, self.number, group_id="g", members=[row])
        code: int = answer.members[0].error_code
        return code

    def commit(self, offset: int, **fields: object) -> int:
        row = COMMIT.struct(
            "OffsetCommitRequestPartition",
            partition_index=0,
            committed_offset=offset,
            committed_metadata="note",
        )
        topic = COMMIT.struct("OffsetCommitRequestTopic", name="t", partitions=[row])
        body = {
            "group_id": "g",
            "generation_id_or_member_epoch": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
            "topics": [topic],
            **fields,
        }
        answer = self.world.call(ApiKey.OFFSET_COMMIT, 9, self.number, **body)
        code: int = answer.topics[0].partitions[0].error_code
        return code


def committed(world: World) -> int:
    group = FETCH.struct("OffsetFetchRequestGroup", group_id="g", topics=None)
    answer = world.call(ApiKey.OFFSET_FETCH, 9, groups=[group])
    topics = answer.groups[0].topics
    return topics[0].partitions[0].committed_offset if topics else -1


def stable_pair(world: World) -> tuple[Client, Client]:
    """Two members of a stable group; the first leads."""
    one, two = Client(world, 1), Client(world, 2)
    one.join()
    world.wait(0)
    one.take()
    two.join()
    one.send_join()
    two.take()
    followed = two.send_sync()
    led = one.send_sync({one.member_id: b"one", two.member_id: b"two"})
    for number, part in ((led, b"one"), (followed, b"two")):
        answer = world.answer_to(number)
        assert answer is not None
        assert (answer.error_code, answer.assignment) == (0, part)
    return one, two


def state(world: World) -> State:
    return world.node.broker.groups.groups["g"].state


def test_every_move_of_the_table_is_allowed_and_every_other_raises() -> None:
    for start in State:
        for move in Move:
            if move in CLASSIC_GROUP[start]:
                assert next_state(start, move) is CLASSIC_GROUP[start][move]
            else:
                with pytest.raises(ValueError, match=start.value):
                    next_state(start, move)


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


def test_commits_without_a_group_make_an_empty_one(world: World) -> None:
    admin = Client(world, 9)
    assert admin.commit(3) == 0
    assert state(world) is State.EMPTY
    world.restart()
    assert committed(world) == 3


def test_a_group_with_members_takes_commits_of_members_only(world: World) -> None:
    one, _ = stable_pair(world)
    assert Client(world, 9).commit(3) == ErrorCode.UNKNOWN_MEMBER_ID
    assert one.commit(4) == 0
    assert committed(world) == 4


def test_commits_are_refused_between_the_generation_and_its_assignment(world: World) -> None:
    one = Client(world, 1)
    one.join()
    world.wait(0)
    one.take()
    assert one.commit(1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_commit_to_an_unknown_group_with_a_generation_is_refused(world: World) -> None:
    one = Client(world, 1)
    one.member_id, one.generation = "m", 1
    assert one.commit(1) == ErrorCode.GROUP_ID_NOT_FOUND


def test_too_much_metadata_is_refused(world: World) -> None:
    row = COMMIT.struct(
        "OffsetCommitRequestPartition", committed_offset=1, committed_metadata="x" * 4097
    )
    topic = COMMIT.struct("OffsetCommitRequestTopic", name="t", partitions=[row])
    code = Client(world, 1).commit(1, topics=[topic])
    assert code == ErrorCode.OFFSET_METADATA_TOO_LARGE


def test_commits_end_with_their_topic(world: World) -> None:
    Client(world, 9).commit(3)
    world.call(ApiKey.DELETE_TOPICS, 3, topic_names=["t"])
    assert committed(world) == -1
    world.create_topic("t", 2)
    world.kill()
    assert committed(world) == -1


def test_only_groups_without_members_are_deleted(world: World) -> None:
    one, two = stable_pair(world)
    one.commit(1)
    answer = world.call(ApiKey.DELETE_GROUPS, 2, groups_names=["g", "other"])
    codes = [row.error_code for row in answer.results]
    assert codes == [ErrorCode.NON_EMPTY_GROUP, ErrorCode.GROUP_ID_NOT_FOUND]
    two.leave()
    one.leave()
    answer = world.call(ApiKey.DELETE_GROUPS, 2, groups_names=["g"])
    assert answer.results[0].error_code == 0
    assert committed(world) == -1
    world.kill()
    assert "g" not in world.node.broker.groups.groups


def test_nobody_coordinates_before_the_topic_exists() -> None:
    world = World()
    find: dict[str, Any] = {"key_type": 0, "coordinator_keys": ["g"]}
    first = world.call(ApiKey.FIND_COORDINATOR, 4, **find).coordinators[0]
    assert first.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    second = world.call(ApiKey.FIND_COORDINATOR, 4, **find).coordinators[0]
    assert (second.error_code, second.host) == (0, "broker")
    transaction = world.call(
        ApiKey.FIND_COORDINATOR, 4, key_type=1, coordinator_keys=["tx"]
    ).coordinators[0]
    assert transaction.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_the_partition_of_a_group_is_that_of_java() -> None:
    # String.hashCode of the first is negative, of the last MIN_VALUE (claims GRP-1).
    assert partition_for("order-processors", 50) == 30
    assert partition_for("polygenelubricants", 50) == 0
