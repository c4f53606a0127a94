"""A member of a consumer group of KIP-848, for tests: it does what it is told, and no more."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.consumer.model.member import TopicIdPartition
from reference_impl.core.groups.consumer.model.records import by_topic, partitions_in
from reference_impl.core.requests.automatic_topics import ensure_groups_topic
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

HEARTBEAT = request_definition(ApiKey.CONSUMER_GROUP_HEARTBEAT)
COMMIT = request_definition(ApiKey.OFFSET_COMMIT)
REBALANCE_MS = 20_000


def new_world(**config: str) -> World:
    """Return a node with topics a (4 partitions) and b (2), whose target assignments are computed
    at once."""
    settings = {"group.consumer.assignment.interval.ms": "0"}
    settings |= {key.replace("_", "."): value for key, value in config.items()}
    world = World(settings)
    world.create_topic("a", 4)
    world.create_topic("b", 2)
    ensure_groups_topic(world.node.broker)
    world.settle()
    return world


def group_in(world: World) -> ConsumerGroup:
    """Return the group as the broker knows it."""
    group = world.node.broker.groups.of("g").groups["g"]
    assert isinstance(group, ConsumerGroup)
    return group


class Consumer:
    """One member, and what it knows."""

    def __init__(self, world: World, number: int, *topics: str, **heartbeat_fields: Any) -> None:
        self.world, self.number = world, number
        self.member_id = f"member-{number}"
        self.epoch = 0
        self.owned: set[TopicIdPartition] = set()
        self.target: set[TopicIdPartition] = set()
        """The partitions in the last assignment from the coordinator."""
        self.heartbeat_fields: dict[str, Any] = {
            "rebalance_timeout_ms": REBALANCE_MS,
            "subscribed_topic_names": list(topics),
            **heartbeat_fields,
        }
        self.instance_id: str | None = self.heartbeat_fields.pop("instance_id", None)

    def ask(self, version: int = 1, **fields: Any) -> Struct:
        """Send one heartbeat with exactly these fields besides the identity."""
        body = {
            "group_id": "g",
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "instance_id": self.instance_id,
            **fields,
        }
        return self.world.call(ApiKey.CONSUMER_GROUP_HEARTBEAT, version, self.number, **body)

    def take(self, answer: Struct) -> Struct:
        """Take over what an answer says."""
        if answer.error_code in (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID):
            self.epoch, self.owned, self.target = 0, set(), set()
        if answer.error_code == ErrorCode.NONE:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.target = set(partitions_in(answer.assignment.topic_partitions))
        return answer

    def join(self, **fields: Any) -> Struct:
        """Send the first heartbeat, which names every field."""
        self.epoch, self.owned, self.target = 0, set(), set()
        answer = self.take(self.ask(topic_partitions=[], **self.heartbeat_fields, **fields))
        assert answer.error_code == ErrorCode.NONE, answer
        return answer

    def obey(self) -> None:
        """Stop reading, and begin to read, as told."""
        self.owned = set(self.target)

    def heartbeat(self, **fields: Any) -> Struct:
        """Report what it reads."""
        return self.take(self.ask(topic_partitions=rows_of(self.owned), **fields))

    def settle(self) -> None:
        """Obey the assignment and report, a few times."""
        for _ in range(3):
            self.obey()
            self.heartbeat()
        self.obey()

    def leave(self, epoch: int = -1) -> Struct:
        """Say goodbye."""
        return self.ask(member_epoch=epoch)

    def commit(self, epoch: int, partition: TopicIdPartition, version: int = 10) -> int:
        """Commit offset 1 of one partition, and return the error."""
        name = self.world.node.broker.image.topics_by_id[partition[0]].name
        row = COMMIT.struct(
            "OffsetCommitRequestPartition", partition_index=partition[1], committed_offset=1
        )
        topic = COMMIT.struct(
            "OffsetCommitRequestTopic", name=name, topic_id=partition[0], partitions=[row]
        )
        answer = self.world.call(
            ApiKey.OFFSET_COMMIT,
            version,
            self.number,
            group_id="g",
            member_id=self.member_id,
            generation_id_or_member_epoch=epoch,
            topics=[topic],
        )
        code: int = answer.topics[0].partitions[0].error_code
        return code


def rows_of(partitions: set[TopicIdPartition]) -> list[Struct]:
    """Return partitions in the form that a heartbeat reports them."""
    return [
        HEARTBEAT.struct("TopicPartitions", topic_id=topic_id, partitions=indexes)
        for topic_id, indexes in by_topic(partitions)
    ]


def settle(*members: Consumer) -> None:
    """Let everybody walk to the target."""
    for _ in range(4):
        for member in members:
            member.obey()
            member.heartbeat()
    for member in members:
        member.obey()


def topic_id(world: World, name: str) -> UUID:
    """Return the id of a topic."""
    return world.node.broker.image.topics[name].topic_id
