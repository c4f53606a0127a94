"""A member of a consumer group, for tests: one connection, one group, and what it knows."""

from __future__ import annotations

from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.groups.classic.states import State
from reference_impl.core.requests.automatic_topics import ensure_groups_topic
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

JOIN = request_definition(ApiKey.JOIN_GROUP)
SYNC = request_definition(ApiKey.SYNC_GROUP)
COMMIT = request_definition(ApiKey.OFFSET_COMMIT)
FETCH = request_definition(ApiKey.OFFSET_FETCH)
SESSION_MS, REBALANCE_MS = 10_000, 20_000


def new_world(**config: str) -> World:
    return prepared(World({key.replace("_", "."): value for key, value in config.items()}))


def prepared(world: World) -> World:
    """Return the world with a topic, and with a coordinator of groups."""
    world.create_topic("t", 2)
    ensure_groups_topic(world.node.broker)
    world.settle()
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
        """Return the answer to the last JoinGroup, or None if it has not come."""
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

    def commit(self, offset: int, version: int = 9, **fields: object) -> int:
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
        answer = self.world.call(ApiKey.OFFSET_COMMIT, version, self.number, **body)
        code: int = answer.topics[0].partitions[0].error_code
        return code


def committed(world: World) -> int:
    group = FETCH.struct("OffsetFetchRequestGroup", group_id="g", topics=None)
    answer = world.call(ApiKey.OFFSET_FETCH, 9, groups=[group])
    topics = answer.groups[0].topics
    return topics[0].partitions[0].committed_offset if topics else -1


def stable_pair(world: World) -> tuple[Client, Client]:
    """Return two members of a stable group, the leader first."""
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
    group = world.node.broker.groups.of("g").groups["g"]
    assert isinstance(group, ClassicGroup)
    return group.state
