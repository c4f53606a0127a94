"""A member of a classic consumer group whose every request a case chooses (KIP-62, KIP-345).

A member has its own connection to the group's coordinator, because JoinGroup and SyncGroup are
answered only when the other members have sent theirs: `ask_…` sends, `answer` waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.case import expect, expect_that
from conformance.target.settings import require_session_timeout
from conformance.wire import Connection, Wire, eventually, part, request
from reference_impl.wire import ErrorCode, Struct, definition, encode_versioned

GROUP, TRANSACTION = 0, 1
NOT_YET = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
MIN_SESSION_TIMEOUT_MS = 6_000  # group.min.session.timeout.ms


def subscription(*topics: str, user_data: bytes | None = None) -> bytes:
    """Return a consumer's metadata. Apache Kafka 4.3.1 parses it where the protocol type is
    "consumer", and never answers the JoinGroup if it cannot (README, Where Apache Kafka
    contradicts)."""
    of = definition("ConsumerProtocolSubscription")
    return encode_versioned(of, of.new(topics=list(topics), user_data=user_data), 1)


RANGE = ("range", subscription())


def found_coordinator(
    connection: Connection, version: int, key: str, key_type: int = GROUP
) -> Struct:
    """Send FindCoordinator once; return error_code, node_id, host and port, whatever the version's
    form."""
    answer = connection.call(
        "FindCoordinator", version, key=key, key_type=key_type, coordinator_keys=[key]
    )
    if version < 4:
        return answer
    expect(len(answer.coordinators), 1, "coordinators in the answer")
    return answer.coordinators[0]  # type: ignore[no-any-return]


def coordinator(wire: Wire, key: str, key_type: int = GROUP) -> tuple[str, int]:
    """Return the address of the coordinator of a group or a transactional id; wait until there is
    one. Raise Deviation if none comes in time."""
    version = wire.version("FindCoordinator")
    found = eventually(
        lambda: found_coordinator(wire.bootstrap, version, key, key_type),
        lambda answer: answer.error_code == ErrorCode.NONE,
        f"{key} gets a coordinator",
    )
    return found.host, found.port


def beside(wire: Wire, key: str, key_type: int = GROUP) -> str:
    """Return the name of another group (or transactional id) with the same coordinator, so that one
    request may name both: a coordinator knows only its own groups. Try new names until one fits;
    raise Deviation if none does in time."""
    here, prefix = coordinator(wire, key, key_type), key.partition("-")[0]
    name: str = eventually(
        lambda: wire.new_name(prefix),
        lambda found: coordinator(wire, found, key_type) == here,
        f"a name that the coordinator of {key} coordinates, too",
    )
    return name


def group_connection(wire: Wire, group: str) -> Connection:
    """Open a connection to a group's coordinator, and return it once the coordinator serves the
    group. Raise Deviation if that takes too long."""
    connection = wire.connect(address=coordinator(wire, group))
    eventually(
        lambda: described(connection, wire, group).error_code,
        lambda error: error not in NOT_YET,
        f"the coordinator of {group} has loaded it",
    )
    return connection


def described(connection: Connection, wire: Wire, group: str, version: int | None = None) -> Struct:
    """Send DescribeGroups for one group, by default in the newest version, and return its part of
    the answer, whatever it says."""
    version = wire.version("DescribeGroups") if version is None else version
    answer = connection.call("DescribeGroups", version, groups=[group])
    expect([g.group_id for g in answer.groups], [group], "groups described")
    return answer.groups[0]  # type: ignore[no-any-return]


@dataclass
class Member:
    """One member; it remembers its member id, generation, protocol and leader from the responses.
    `observer` is a second connection to the coordinator, which no waiting request blocks."""

    wire: Wire
    group: str
    connection: Connection
    observer: Connection
    versions: Mapping[str, int] = field(default_factory=dict)
    instance_id: str | None = None
    protocols: list[tuple[str, bytes]] = field(default_factory=lambda: [RANGE])
    session_timeout_ms: int = 30_000
    rebalance_timeout_ms: int = 30_000
    protocol_type: str = "consumer"
    member_id: str = ""
    generation: int = -1
    protocol: str | None = None
    leader: str = ""

    @staticmethod
    def of(wire: Wire, group: str = "", **fields: Any) -> Member:
        """Return a member that has not joined; by default its group is new."""
        group = group or wire.new_name("group")
        connections = group_connection(wire, group), group_connection(wire, group)
        return Member(wire, group, *connections, **fields)

    @staticmethod
    def stable(wire: Wire, group: str = "", **fields: Any) -> Member:
        """Let a member join and sync, and return it, the only one of a Stable group, with
        assignment b"mine"."""
        member = Member.of(wire, group, **fields)
        member.join()
        member.sync({member.member_id: b"mine"})
        return member

    @property
    def leads(self) -> bool:
        return self.member_id == self.leader

    def version(self, api: str) -> int:
        return self.versions[api] if api in self.versions else self.wire.version(api)

    def call(self, api: str, **fields: Any) -> Struct:
        return self.connection.call(api, self.version(api), **fields)

    def ask_to_join(self, **changed: Any) -> None:
        """Send JoinGroup; changed: fields other than this member's own."""
        protocols = [
            part("JoinGroup", "JoinGroupRequestProtocol", name=name, metadata=metadata)
            for name, metadata in changed.pop("protocols", self.protocols)
        ]
        fields = {
            "group_id": self.group,
            "session_timeout_ms": self.session_timeout_ms,
            "rebalance_timeout_ms": self.rebalance_timeout_ms,
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
            "protocol_type": self.protocol_type,
            "protocols": protocols,
        }
        self.connection.send(
            "JoinGroup", self.version("JoinGroup"), request("JoinGroup", **(fields | changed))
        )

    def answer_to_join(self) -> Struct:
        """Return the response to `ask_to_join`, whatever it says. Remember the values of a
        successful one, and the member id of one with MEMBER_ID_REQUIRED. Raise Unsupported if the
        broker does not allow this member's session time-out."""
        _, answer = self.connection.receive("JoinGroup", self.version("JoinGroup"))
        if answer.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self.member_id = answer.member_id
        if answer.error_code == ErrorCode.NONE:
            self.generation, self.leader = answer.generation_id, answer.leader
            self.protocol = answer.protocol_name
        if answer.error_code == ErrorCode.INVALID_SESSION_TIMEOUT:
            require_session_timeout(self.wire, self.session_timeout_ms)
        return answer

    def try_to_join(self, **changed: Any) -> Struct:
        """Send JoinGroup once, and return the response, whatever it says."""
        self.ask_to_join(**changed)
        return self.answer_to_join()

    def get_member_id(self) -> None:
        """Get a member id without joining yet, if the coordinator demands one first (KIP-394:
        JoinGroup v4 and newer, for members without an instance id). Do nothing if the member has
        one."""
        if self.member_id or self.instance_id is not None or self.version("JoinGroup") < 4:
            return
        expect(self.try_to_join().error_code, ErrorCode.MEMBER_ID_REQUIRED, "first JoinGroup error")

    def begin_to_join(self) -> None:
        """Send the JoinGroup that makes this a member, without waiting for the response."""
        self.get_member_id()
        self.ask_to_join()

    def finish_joining(self) -> Struct:
        """Wait for the response to begin_to_join, which must be a success, and return it."""
        answer = self.answer_to_join()
        expect(answer.error_code, ErrorCode.NONE, "JoinGroup error")
        return answer

    def join(self) -> Struct:
        """Become a member, which must succeed; return the response."""
        self.begin_to_join()
        return self.finish_joining()

    def ask_to_sync(self, assignments: Mapping[str, bytes] | None = None, **changed: Any) -> None:
        """Send SyncGroup. assignments: member id -> assignment, which only the leader passes.
        changed: fields other than this member's own."""
        entries = [
            part("SyncGroup", "SyncGroupRequestAssignment", member_id=member, assignment=assignment)
            for member, assignment in (assignments or {}).items()
        ]
        fields = {
            "group_id": self.group,
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol,
            "assignments": entries,
        }
        self.connection.send(
            "SyncGroup", self.version("SyncGroup"), request("SyncGroup", **(fields | changed))
        )

    def answer_to_sync(self) -> Struct:
        return self.connection.receive("SyncGroup", self.version("SyncGroup"))[1]

    def try_to_sync(self, assignments: Mapping[str, bytes] | None = None, **changed: Any) -> Struct:
        self.ask_to_sync(assignments, **changed)
        return self.answer_to_sync()

    def sync(self, assignments: Mapping[str, bytes] | None = None) -> bytes:
        """Send SyncGroup, which must succeed, with the assignments if this member leads; wait for
        the response, and return this member's assignment."""
        answer = self.try_to_sync(assignments)
        expect(answer.error_code, ErrorCode.NONE, "SyncGroup error")
        return bytes(answer.assignment)

    def heartbeat(self, **changed: Any) -> int:
        """Send a Heartbeat and return its error code."""
        fields = {
            "group_id": self.group,
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
        }
        return int(self.call("Heartbeat", **(fields | changed)).error_code)

    def leave(self) -> Struct:
        """Send LeaveGroup for this member alone, and return the response, whatever it says."""
        identity = part(
            "LeaveGroup",
            "MemberIdentity",
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )
        return self.call(
            "LeaveGroup", group_id=self.group, member_id=self.member_id, members=[identity]
        )

    def state(self) -> str:
        """Return the group's state, as DescribeGroups reports it."""
        return str(self.describe().group_state)

    def describe(self) -> Struct:
        """Describe the group, on a connection that no waiting request blocks."""
        return described(self.observer, self.wire, self.group)

    def wait_for_state(self, state: str) -> None:
        """Wait until the group is in this state. Raise Deviation if that takes too long.

        DescribeGroups reports only what every in-sync replica has. With several replicas a new
        group is unknown to it (Dead) for a moment after its first JoinGroup was answered.
        """
        eventually(self.state, lambda found: found == state, f"the group becomes {state}")

    def wait_for_members(self, count: int) -> None:
        """Wait until the coordinator counts exactly this many members. Fail if that takes too
        long."""
        eventually(
            lambda: len(self.describe().members),
            lambda n: n == count,
            f"the group has {count} members",
        )


def rebalanced(first: Member, *others: Member) -> list[Member]:
    """Let the others join the group of `first`, which is a member already, so that all are in one
    new generation. Return them, the leader first. The assignment is still to be sent. Raise
    Deviation if the rebalance does not begin in time."""
    for count, member in enumerate(others, start=2):
        member.begin_to_join()
        first.wait_for_members(count)
    eventually(
        first.heartbeat,
        lambda e: e == ErrorCode.REBALANCE_IN_PROGRESS,
        "the member is told of the rebalance",
    )
    return gathered(first, *others)


def gathered(first: Member, *others: Member) -> list[Member]:
    """Let `first` join after the others have sent JoinGroup, so that all are answered; return them,
    the leader first."""
    first.ask_to_join()
    members = [first, *others]
    for member in members:
        member.finish_joining()
    expect(
        len({(m.generation, m.leader, m.protocol) for m in members}),
        1,
        "different answers of (generation, leader, protocol)",
    )
    return sorted(members, key=lambda member: not member.leads)


def expect_generation(told: list[int], after: int = -1) -> None:
    """Require one generation for all members, later than another. Clients only compare generations
    with each other, so a coordinator may begin at any number, and leave numbers out."""
    expect_that(
        len(set(told)) == 1 and told[0] > after, "generations", f"the same, above {after}", told
    )


def stable_pair(wire: Wire, **fields: Any) -> tuple[Member, Member]:
    """Return a Stable group of two: leader (assignment b"one") and follower (b"two")."""
    first = Member.stable(wire, **fields)
    leader, follower = rebalanced(first, Member.of(wire, first.group, **fields))
    leader.ask_to_sync({leader.member_id: b"one", follower.member_id: b"two"})
    expect(follower.sync(), b"two", "assignment of the follower")
    expect(bytes(leader.answer_to_sync().assignment), b"one", "assignment of the leader")
    return leader, follower
