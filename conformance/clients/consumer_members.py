"""A member of a consumer group (KIP-848) whose every heartbeat a case chooses.

ConsumerGroupHeartbeat carries membership, assignment and revocation: the member sends what it owns,
the coordinator returns what it should own. A heartbeat without subscription, rebalance time-out or
owned partitions leaves those unchanged.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from conformance.case import expect
from conformance.clients.members import group_connection
from conformance.wire import Connection, Topic, Wire, eventually, part
from reference_impl.wire import ErrorCode, Struct

LEAVE, LEAVE_FOR_A_MOMENT = -1, -2  # member epochs; the second keeps a static member's place
Partition = tuple[uuid.UUID, int]


@dataclass
class ConsumerMember:
    """One member; it remembers its member id, epoch and assignment from the responses.

    owned: the partitions that it reports to own. It adopts a new assignment at once, so that its
    next heartbeat acknowledges it.
    """

    wire: Wire
    group: str
    connection: Connection
    topics: list[Topic]
    version: int
    instance_id: str | None = None
    regex: str | None = None
    assignor: str | None = None
    rebalance_timeout_ms: int = 30_000
    member_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    epoch: int = 0
    owned: list[Partition] = field(default_factory=list)

    @staticmethod
    def of(
        wire: Wire, *topics: Topic, group: str = "", version: int | None = None, **fields: Any
    ) -> ConsumerMember:
        """Return a member that has not joined; by default its group is new. fields: others of the
        class. Raise Unsupported if the target does not serve ConsumerGroupHeartbeat."""
        version = wire.version("ConsumerGroupHeartbeat") if version is None else version
        group = group or wire.new_name("group")
        connection = group_connection(wire, group)
        return ConsumerMember(wire, group, connection, list(topics), version, **fields)

    @staticmethod
    def stable(wire: Wire, *topics: Topic, **fields: Any) -> ConsumerMember:
        """Let a member join, and return it once it is the only member of a stable group and owns
        every partition of its topics."""
        member = ConsumerMember.of(wire, *topics, **fields)
        member.join()
        settle(member)
        return member

    def partner(self, **fields: Any) -> ConsumerMember:
        """Return another member of the same group with the same subscription, which has not
        joined."""
        same: dict[str, Any] = {
            "group": self.group,
            "version": self.version,
            "regex": self.regex,
            "assignor": self.assignor,
            "rebalance_timeout_ms": self.rebalance_timeout_ms,
        }
        return ConsumerMember.of(self.wire, *self.topics, **(same | fields))

    def subscription(self) -> dict[str, Any]:
        """Return the fields of a full heartbeat other than the identity and the owned
        partitions."""
        return {
            "rebalance_timeout_ms": self.rebalance_timeout_ms,
            "subscribed_topic_names": [topic.name for topic in self.topics],
            "subscribed_topic_regex": self.regex,
            "server_assignor": self.assignor,
        }

    def try_to_beat(self, **changed: Any) -> Struct:
        """Send a heartbeat with only the identity and the changed fields; return the response."""
        identity: dict[str, Any] = {
            "group_id": self.group,
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "instance_id": self.instance_id,
        }
        return self.connection.call("ConsumerGroupHeartbeat", self.version, **(identity | changed))

    def try_to_join(self, **changed: Any) -> Struct:
        """Send the first heartbeat of a member; return the response."""
        first = {"member_epoch": 0, "topic_partitions": []}
        return self.try_to_beat(**(self.subscription() | first | changed))

    def join(self, **changed: Any) -> Struct:
        """Join, which must succeed, without owning partitions; return the response."""
        self.owned = []
        return self.learn(self.try_to_join(**changed))

    def beat(self, **changed: Any) -> Struct:
        """Send a heartbeat that only keeps the member alive, which must succeed; return the
        response."""
        return self.learn(self.try_to_beat(**changed))

    def acknowledge(self, **changed: Any) -> Struct:
        """Send a heartbeat that reports the owned partitions, which must succeed; return the
        response."""
        return self.beat(topic_partitions=owned_field(self.owned), **changed)

    def try_to_leave(self, epoch: int = LEAVE) -> Struct:
        return self.try_to_beat(member_epoch=epoch)

    def leave(self, epoch: int = LEAVE) -> None:
        """Leave the group, which must succeed. epoch: the member epoch in the request, which says
        how to leave."""
        answer = self.try_to_leave(epoch)
        expect(
            (answer.error_code, answer.member_epoch),
            (ErrorCode.NONE, epoch),
            "(error, epoch) of leaving",
        )
        self.owned = []

    def learn(self, answer: Struct) -> Struct:
        """Remember the member id, the epoch and, if there is one, the assignment in a response,
        which must have no error; return it."""
        expect(answer.error_code, ErrorCode.NONE, f"heartbeat error ({answer.error_message})")
        self.member_id, self.epoch = answer.member_id, answer.member_epoch
        if answer.assignment is not None:
            self.owned = assigned(answer)
        return answer

    def described(self, version: int | None = None) -> Struct:
        """Return the group's part of ConsumerGroupDescribe (by default in the newest version),
        whatever it says, on the member's connection to the coordinator."""
        version = self.wire.version("ConsumerGroupDescribe") if version is None else version
        return described(self.connection, self.group, version)

    def describe(self) -> Struct:
        """Return the group's description, which must be without error."""
        found = self.described()
        expect(found.error_code, ErrorCode.NONE, f"describe error ({found.error_message})")
        return found

    def member_ids(self) -> list[str]:
        """Return the ids of the members in the group's description, in order."""
        return sorted(member.member_id for member in self.describe().members)


def described(connection: Connection, group: str, version: int) -> Struct:
    """Send ConsumerGroupDescribe for one group, and return its part of the answer, whatever it
    says."""
    answer = connection.call("ConsumerGroupDescribe", version, group_ids=[group])
    expect([g.group_id for g in answer.groups], [group], "groups described")
    return answer.groups[0]  # type: ignore[no-any-return]


def assigned(answer: Struct) -> list[Partition]:
    """Return the partitions in the assignment of an answer, in order."""
    return partitions_in(answer.assignment.topic_partitions)


def partitions_in(topics: Iterable[Struct]) -> list[Partition]:
    return sorted((topic.topic_id, index) for topic in topics for index in topic.partitions)


def partitions_of(*topics: Topic) -> list[Partition]:
    """Return every partition of these topics, in order."""
    return sorted((topic.id, index) for topic in topics for index in range(topic.partitions))


def owned_field(owned: Iterable[Partition]) -> list[Struct]:
    """Return the field TopicPartitions of a heartbeat."""
    topics: dict[uuid.UUID, list[int]] = {}
    for topic_id, partition in sorted(owned):
        topics.setdefault(topic_id, []).append(partition)
    return [
        part("ConsumerGroupHeartbeat", "TopicPartitions", topic_id=topic_id, partitions=partitions)
        for topic_id, partitions in topics.items()
    ]


def settle(*members: ConsumerMember) -> None:
    """Send heartbeats of all members until the group is stable, all have its epoch, and they own
    every partition of their topics exactly once. Raise Deviation if that takes too long."""
    wanted = partitions_of(*{topic for member in members for topic in member.topics})

    def one_round() -> tuple[str, bool, list[Partition]]:
        for member in members:
            member.acknowledge()
        found = members[0].describe()
        reached = all(member.epoch == found.group_epoch for member in members)
        return found.group_state, reached, sorted(p for member in members for p in member.owned)

    eventually(
        one_round,
        lambda found: found == ("Stable", True, wanted),
        "(state, all members in the group's epoch, partitions owned)",
    )


def settled_pair(
    wire: Wire, *topics: Topic, **fields: Any
) -> tuple[ConsumerMember, ConsumerMember]:
    """Let two members join a group, and return them once it is stable and they share the partitions
    of these topics."""
    first = ConsumerMember.stable(wire, *topics, **fields)
    second = first.partner()
    second.join()
    settle(first, second)
    return first, second
