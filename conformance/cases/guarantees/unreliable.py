"""Clients whose connections break at random, and a group member that uses them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Self

from conformance.case import expect
from conformance.cases.offsets.offsets import (
    commit_request,
    committed_in,
    errors_of_commit,
    fetch_request,
    fetched_of,
)
from conformance.clients.members import NOT_YET, RANGE
from conformance.clients.transactions import batches_of
from conformance.wire import Connection, Topic, Wire, eventually, part, request
from reference_impl.wire import ErrorCode, Struct

Address = tuple[str, int]

RESET_CHANCE = 0.15
SESSION_TIMEOUT_MS = REBALANCE_TIMEOUT_MS = 30_000
LEAVE_CHANCE = 0.02
"""The probability that a member leaves the group after a round of reads."""
IDLE_S = 0.02
REJOIN = frozenset(
    {ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID}
)
"""Errors after which a member joins again."""


def once_loaded(attempt: Callable[[], Struct]) -> Struct:
    """Return the first successful answer; repeat the attempt while the coordinator is loading."""
    answer = eventually(attempt, lambda a: a.error_code not in NOT_YET, "the coordinator serves")
    expect(answer.error_code, ErrorCode.NONE, "error")
    return answer  # type: ignore[no-any-return]


@dataclass
class Unreliable:
    """A client whose connection to one broker breaks at random before an answer is read."""

    wire: Wire
    address: Address
    chance: Random
    resets: int = 0
    connection: Connection | None = None

    def call(self, api: str, body: Struct, *, reliably: bool = False) -> tuple[Struct, bool]:
        """Send a request until its answer is read; with `reliably`, the connection does not break.
        Return the answer, and whether the request had been sent before."""
        version, sent_before = self.wire.version(api), False
        while True:
            if self.connection is None:
                self.connection = Connection(*self.address, access=self.wire.access)
            if reliably or self.chance.random() >= RESET_CHANCE:
                return self.connection.call(api, version, body), sent_before
            self.connection.send(api, version, body)
            self.close()
            self.resets, sent_before = self.resets + 1, True

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass
class Consumed:
    """The records that the members of a group have consumed, and the condition for them to stop."""

    enough: int
    deadline: float
    """The time.monotonic() at which the members give up."""
    owners: list[tuple[int, int, str]] = field(default_factory=list)
    """(generation, partition, member id) of every assignment."""
    delivered: list[tuple[int, int, int]] = field(default_factory=list)
    """(generation, partition, offset) of every record whose position was committed."""
    values: set[bytes] = field(default_factory=set)

    @property
    def generations(self) -> set[int]:
        """The generations in which some member owned a partition."""
        return {generation for generation, *_ in self.owners}

    @property
    def is_over(self) -> bool:
        """Return whether every value was consumed, in more than one generation, or the time is
        up."""
        has_all = len(self.values) >= self.enough and len(self.generations) > 1
        return has_all or time.monotonic() > self.deadline


@dataclass
class Consuming:
    """One member of the group, from its first JoinGroup to its LeaveGroup."""

    coordinator: Unreliable
    leaders: list[Unreliable]
    topic: Topic
    group: str
    consumed: Consumed
    member_id: str = ""
    generation: int = -1
    positions: dict[int, int] = field(default_factory=dict)
    """Partition -> the next offset, for the partitions that the member owns."""

    def run(self) -> int:
        """Read until every record was given to a member. Return the number of broken
        connections."""
        clients = [self.coordinator, *self.leaders]
        try:
            while not self.consumed.is_over:
                if self.joined():
                    self.work()
            self.leave()
        finally:
            for client in clients:
                client.close()
        return sum(client.resets for client in clients)

    def work(self) -> None:
        """Read the member's partitions until the group rebalances or the member leaves."""
        while not self.consumed.is_over and self.stays():
            if not sum(self.read(partition) for partition in list(self.positions)):
                time.sleep(IDLE_S)
            if self.coordinator.chance.random() < LEAVE_CHANCE:
                return self.leave()

    def joined(self) -> bool:
        """Join and get an assignment. Return False if the group rebalances again meanwhile."""
        body = request(
            "JoinGroup",
            group_id=self.group,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[
                part("JoinGroup", "JoinGroupRequestProtocol", name=RANGE[0], metadata=RANGE[1])
            ],
        )
        # An answer that waits for the others goes to the request that the broker has read last, and
        # of two connections this may be the broken one (seen on Apache Kafka 4.3.1).
        answer, _ = self.coordinator.call("JoinGroup", body, reliably=True)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            return False
        if self._must_rejoin(answer.error_code, "JoinGroup"):
            return False
        self.member_id, self.generation = answer.member_id, answer.generation_id
        leads = answer.leader == self.member_id
        return self.synced([m.member_id for m in answer.members] if leads else [], answer)

    def synced(self, members: list[str], joined: Struct) -> bool:
        """Send SyncGroup, with all assignments if there are members, and start reading this
        member's partitions."""
        shares = dict.fromkeys(members, b"")
        for partition in range(self.topic.partitions if members else 0):
            shares[members[partition % len(members)]] += bytes([partition])
        body = request(
            "SyncGroup",
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            protocol_type="consumer",
            protocol_name=joined.protocol_name,
            assignments=[
                part("SyncGroup", "SyncGroupRequestAssignment", member_id=member, assignment=share)
                for member, share in shares.items()
            ],
        )
        answer, _ = self.coordinator.call("SyncGroup", body, reliably=True)
        if self._must_rejoin(answer.error_code, "SyncGroup"):
            return False
        mine = list(bytes(answer.assignment))
        self.consumed.owners += [(self.generation, p, self.member_id) for p in mine]
        self.positions = self.committed(mine)
        return True

    def committed(self, partitions: list[int]) -> dict[int, int]:
        """Return the committed offset of each partition, or 0 for one without a commit."""
        if not partitions:
            return {}
        answer, _ = self.coordinator.call(
            "OffsetFetch", fetch_request(self.group, {self.topic: partitions})
        )
        version = self.coordinator.wire.version("OffsetFetch")
        found = committed_in(fetched_of(answer, self.group, version), self.topic)
        return {partition: max(0, found[partition].offset) for partition in partitions}

    def stays(self) -> bool:
        """Send a Heartbeat. Return whether the member is still of the newest generation."""
        answer, _ = self.coordinator.call("Heartbeat", request("Heartbeat", **self._identity()))
        return not self._must_rejoin(answer.error_code, "Heartbeat")

    def read(self, partition: int) -> int:
        """Fetch records and commit the position after them. Return the number of records."""
        leader, position = self.leaders[partition], self.positions[partition]
        body = leader.wire.fetch_request(self.topic, position, partition=partition)
        found = leader.call("Fetch", body)[0].responses[0].partitions[0]
        expect(found.error_code, ErrorCode.NONE, f"Fetch error of partition {partition}")
        records = {
            batch.base_offset + record.offset_delta: bytes(record.value or b"")
            for batch in batches_of(found)
            for record in batch.records
        }
        new = {offset: value for offset, value in records.items() if offset >= position}
        if new and self._commit(partition, max(new) + 1):
            self.consumed.delivered += [(self.generation, partition, offset) for offset in new]
            self.consumed.values.update(new.values())
        return len(new)

    def _commit(self, partition: int, offset: int) -> bool:
        """Commit the position. Return whether it is, or may be, in force: a commit whose answer was
        lost may count although the group refuses its repetition."""
        body = commit_request(
            self.group,
            self.topic,
            {partition: offset},
            generation=self.generation,
            member_id=self.member_id,
        )
        answer, sent_before = self.coordinator.call("OffsetCommit", body)
        refused = self._must_rejoin(errors_of_commit(answer)[partition], "OffsetCommit")
        if refused:
            self.positions = {}
        else:
            self.positions[partition] = offset
        return sent_before or not refused

    def leave(self) -> None:
        """Leave the group, so that the others need not wait for the end of a session."""
        identity = part("LeaveGroup", "MemberIdentity", member_id=self.member_id)
        body = request(
            "LeaveGroup", group_id=self.group, member_id=self.member_id, members=[identity]
        )
        self.coordinator.call("LeaveGroup", body, reliably=True)
        self.member_id = ""

    def _identity(self) -> Mapping[str, object]:
        return {
            "group_id": self.group,
            "generation_id": self.generation,
            "member_id": self.member_id,
        }

    def _must_rejoin(self, code: int, api: str) -> bool:
        """Return whether the member must join again after this error. Fail for any other error."""
        expect(code, REJOIN | {ErrorCode.NONE}, f"{api} error")
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            self.member_id = ""
        return code != ErrorCode.NONE
