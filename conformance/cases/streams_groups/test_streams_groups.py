"""Groups of streams applications: their topology, their tasks, and who may heartbeat (KIP-1071)."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

import pytest

from conformance.case import case, each, expect, expect_that
from conformance.clients.members import group_connection
from conformance.target.variants import SHARED_SHORTLY
from conformance.wire import Connection, Topic, Wire, eventually, part, request
from reference_impl.wire import ErrorCode, Struct

API, DESCRIBE = "StreamsGroupHeartbeat", "StreamsGroupDescribe"
LEAVE = -1
SUBTOPOLOGY = "0"


@dataclass
class Member:
    """One process of a streams application, with the tasks that its last response gave it."""

    wire: Wire
    topic: Topic
    group: str
    connection: Connection
    member_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    epoch: int = 0
    active: list[int] = field(default_factory=list)
    """The partitions of its active tasks."""

    @staticmethod
    def of(wire: Wire, topic: Topic, group: str = "") -> Member:
        """Return a member that has not joined; by default its group is new."""
        wire.version(API)
        group = group or wire.new_name("group")
        return Member(wire, topic, group, group_connection(wire, group))

    def beat(self, **changed: Any) -> Struct:
        """Send a heartbeat; remember the epoch and the tasks of a successful one."""
        joins = {
            "topology": topology(self.topic.name),
            "rebalance_timeout_ms": 30_000,
            "process_id": self.member_id,
            "active_tasks": [],
            "standby_tasks": [],
            "warmup_tasks": [],
        }
        owned = part(API, "TaskIds", subtopology_id=SUBTOPOLOGY, partitions=self.active)
        keeps = {
            "rebalance_timeout_ms": -1,
            "active_tasks": [owned] if self.active else [],
            "standby_tasks": [],
            "warmup_tasks": [],
        }
        fields: dict[str, Any] = {
            "group_id": self.group,
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            **(joins if self.epoch == 0 else keeps),
        }
        version = self.wire.version(API)
        answer = self.connection.call(API, version, request(API, **(fields | changed)))
        if answer.error_code == ErrorCode.NONE and not changed:
            self.epoch = answer.member_epoch
            if answer.active_tasks is not None:
                self.active = sorted(p for task in answer.active_tasks for p in task.partitions)
        return answer

    def join(self) -> None:
        """Send heartbeats until the group has given tasks to this member."""
        eventually(
            self.beat,
            lambda answer: answer.error_code == ErrorCode.NONE and bool(self.active),
            "the member gets tasks",
        )

    def describe(self) -> Struct:
        """Describe the group."""
        body = request(DESCRIBE, group_ids=[self.group])
        answer = self.connection.call(DESCRIBE, self.wire.version(DESCRIBE), body)
        expect([g.group_id for g in answer.groups], [self.group], "groups described")
        return answer.groups[0]  # type: ignore[no-any-return]


def topology(*sources: str, changelog: str | None = None) -> Struct:
    """Return a topology of one subtopology that reads these topics."""
    kept = [part(API, "TopicInfo", name=changelog)] if changelog else []
    inner = part(
        API,
        "Subtopology",
        subtopology_id=SUBTOPOLOGY,
        source_topics=list(sources),
        state_changelog_topics=kept,
    )
    return part(API, "Topology", epoch=0, subtopologies=[inner])


@case("STRM-01", API, spec="KIP-1071, StreamsGroupHeartbeat", priority="P2")
def test_a_member_with_a_topology_gets_its_tasks_and_internal_topics(wire: Wire) -> None:
    """The only member of a group gets one active task for each partition of its source topic, and
    the changelog topics of its topology are created with as many partitions."""
    topic = wire.create_topic(3)
    member = Member.of(wire, topic)
    changelog = f"{member.group}-store-changelog"
    told = member.beat(topology=topology(topic.name, changelog=changelog))
    expect(told.error_code, ErrorCode.NONE, "error of the first heartbeat")
    member.epoch = told.member_epoch
    eventually(member.beat, lambda _: bool(member.active), "the member gets tasks")
    expect(member.active, [0, 1, 2], "partitions of its active tasks")
    found = wire.wait_for_topic(changelog, 3)
    wire.at_end(lambda: wire.delete_topic(found))


@pytest.mark.parametrize("fault", ["a missing source", "a changelog with partitions"])
@case("STRM-02", API, spec="KIP-1071, Topology; class StreamsGroupHeartbeatRequest", priority="P2")
def test_an_impossible_topology_is_told(wire: Wire, fault: str) -> None:
    """A topology whose source topic does not exist gets a status in the answer to the heartbeat,
    and no tasks; one that names the number of partitions of a changelog topic, which its sources
    determine, gets STREAMS_INVALID_TOPOLOGY (130)."""
    member = Member.of(wire, wire.create_topic())
    if fault == "a missing source":
        answer = member.beat(topology=topology(wire.new_name()))
        expect(answer.error_code, ErrorCode.NONE, "error")
        expect(len(each(answer.status or [], "statuses")) >= 1, True, "a status")
        expect(answer.active_tasks or [], [], "active tasks")
        return
    wrong = topology(member.topic.name)
    sized = part(API, "TopicInfo", name=f"{member.group}-changelog", partitions=5)
    wrong.subtopologies[0].state_changelog_topics = [sized]
    answer = member.beat(topology=wrong)
    expect(answer.error_code, ErrorCode.STREAMS_INVALID_TOPOLOGY, "error")


@case("STRM-03", API, spec="KIP-1071, Member epochs", priority="P2")
def test_who_is_no_member_or_has_another_epoch_is_refused(wire: Wire) -> None:
    """A heartbeat of a member that the group does not have gets UNKNOWN_MEMBER_ID (25), one with a
    greater epoch than the member's FENCED_MEMBER_EPOCH (110). A member that leaves with epoch -1 is
    removed, and the group is Empty."""
    member = Member.of(wire, wire.create_topic(2))
    member.join()
    unknown = member.beat(member_id=str(uuid.uuid4()))
    expect(unknown.error_code, ErrorCode.UNKNOWN_MEMBER_ID, "error of a stranger")
    ahead = member.beat(member_epoch=member.epoch + 10)
    expect(ahead.error_code, ErrorCode.FENCED_MEMBER_EPOCH, "error of a greater epoch")
    left = member.beat(member_epoch=LEAVE)
    expect(
        (left.error_code, left.member_epoch), (ErrorCode.NONE, LEAVE), "(error, epoch) of leaving"
    )
    after = member.beat(member_epoch=member.epoch, rebalance_timeout_ms=-1)
    expect(after.error_code, ErrorCode.UNKNOWN_MEMBER_ID, "error of who has left")
    expect(member.describe().group_state, "Empty", "state of the group")


@case("STRM-03", API, spec="KIP-1071, Member session", priority="P2", config=SHARED_SHORTLY)
def test_a_silent_member_is_removed_and_its_tasks_go_to_another(wire: Wire) -> None:
    """A member that sends no heartbeat for group.streams.session.timeout.ms is removed: the other
    member gets its tasks, and its next heartbeat gets UNKNOWN_MEMBER_ID (25)."""
    silent = Member.of(wire, wire.create_topic(2))
    silent.join()
    other = Member.of(wire, silent.topic, silent.group)

    def beat_of_other() -> list[int]:
        expect(other.beat().error_code, ErrorCode.NONE, "error of the living member")
        return other.active

    eventually(beat_of_other, lambda tasks: tasks == [0, 1], "tasks of the living member", 30.0)
    late = silent.beat()
    expect(late.error_code, ErrorCode.UNKNOWN_MEMBER_ID, "error of the removed member")


@case("STRM-04", DESCRIBE, spec="KIP-1071, StreamsGroupDescribe", priority="P2")
def test_a_streams_group_is_described(wire: Wire) -> None:
    """StreamsGroupDescribe returns the topology, the members and their tasks; a group that does not
    exist gets GROUP_ID_NOT_FOUND (69)."""
    member = Member.of(wire, wire.create_topic(2))
    member.join()
    told = member.describe()
    expect(told.error_code, ErrorCode.NONE, "error")
    sources = [s.source_topics for s in told.topology.subtopologies]
    expect(sources, [[member.topic.name]], "source topics of the topology")
    expect([m.member_id for m in told.members], [member.member_id], "members")
    tasks = [
        (t.subtopology_id, sorted(t.partitions)) for t in told.members[0].assignment.active_tasks
    ]
    expect(tasks, [(SUBTOPOLOGY, member.active)], "active tasks told")
    body = request(DESCRIBE, group_ids=[wire.new_name("group")])
    missing = member.connection.call(DESCRIBE, wire.version(DESCRIBE), body).groups[0]
    expect(missing.error_code, ErrorCode.GROUP_ID_NOT_FOUND, "error of an unknown group")


@case("STRM-05", API, spec="KIP-1071, Task assignment", priority="P2")
def test_no_task_is_active_in_two_members(wire: Wire) -> None:
    """When a second member joins, the tasks are divided: at no moment do both have the same active
    task, and in the end each task is active in one of them."""
    topic = wire.create_topic(4)
    first = Member.of(wire, topic)
    first.join()
    second = Member.of(wire, topic, first.group)

    def one_round() -> bool:
        for member in (first, second):
            expect(member.beat().error_code, ErrorCode.NONE, "error of a heartbeat")
            both = sorted(set(first.active) & set(second.active))
            expect(both, [], "tasks that are active in both members")
        return bool(second.active) and len(first.active) + len(second.active) == topic.partitions

    eventually(one_round, bool, "the tasks are divided between the members", 30.0)
    expect_that(bool(first.active), "active tasks of the first member", "some", first.active)
    expect(sorted(first.active + second.active), [0, 1, 2, 3], "active tasks of both")
