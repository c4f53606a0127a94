"""DescribeGroups, ListGroups, DeleteGroups, OffsetDelete: groups seen from outside."""

from __future__ import annotations

from uuid import uuid4

from conformance.case import case, expect, expect_that
from conformance.cases.offsets.offsets import Committed, commit, committed, listed
from conformance.clients.members import (
    RANGE,
    Member,
    beside,
    described,
    group_connection,
    rebalanced,
    subscription,
)
from conformance.wire import Topic, Wire, part
from reference_impl.wire import ErrorCode

NOT_ASKED = -(2**31)
DESCRIBE = "DescribeGroupsResponse.json; class ClassicGroup, asDescribedGroup"


def delete(wire: Wire, group: str, version: int) -> int:
    """Send DeleteGroups for one group; return its error code."""
    answer = group_connection(wire, group).call("DeleteGroups", version, groups_names=[group])
    expect([r.group_id for r in answer.results], [group], "groups in the answer")
    return int(answer.results[0].error_code)


def delete_offsets(wire: Wire, group: str, *topics: Topic) -> tuple[int, list[int]]:
    """Send OffsetDelete for partition 0 of each topic; return (error, errors of the partitions)."""
    partition = part("OffsetDelete", "OffsetDeleteRequestPartition", partition_index=0)
    entries = [
        part("OffsetDelete", "OffsetDeleteRequestTopic", name=topic.name, partitions=[partition])
        for topic in topics
    ]
    answer = group_connection(wire, group).call("OffsetDelete", 0, group_id=group, topics=entries)
    errors = {t.name: p.error_code for t in answer.topics for p in t.partitions}
    return answer.error_code, [errors[topic.name] for topic in topics if topic.name in errors]


@case("OFFS-19", "DescribeGroups", spec=DESCRIBE)
def test_each_state_of_a_group_is_described(wire: Wire, version: int) -> None:
    """DescribeGroups shows the states PreparingRebalance, CompletingRebalance, Stable and Empty as
    the group passes through them; protocol type always, and the protocol once it is chosen."""
    member = Member.of(wire)
    states = []

    def describe() -> None:
        found = described(member.observer, wire, member.group, version)
        expect((found.error_code, found.protocol_type), (0, "consumer"), "(error, type)")
        chosen = found.group_state in ("Stable", "CompletingRebalance")
        # Before Stable, Apache Kafka does not say which protocol was chosen.
        expect(found.protocol_data, {"range", ""} if chosen else "", "protocol")
        states.append(found.group_state)

    member.join()
    member.wait_for_state("CompletingRebalance")
    describe()
    member.sync({member.member_id: b"mine"})
    describe()
    other = Member.of(wire, member.group)
    other.begin_to_join()
    member.wait_for_state("PreparingRebalance")
    describe()
    member.leave()
    other.finish_joining()
    other.leave()
    describe()
    expect(states, ["CompletingRebalance", "Stable", "PreparingRebalance", "Empty"], "states")


@case("OFFS-19", "DescribeGroups", spec=DESCRIBE)
def test_the_members_of_a_stable_group_are_described(wire: Wire, version: int) -> None:
    """In a Stable group each member is shown with its id, instance id (v4+), client id, host,
    metadata and assignment, and the group with its protocol."""
    member = Member.stable(wire, instance_id="one")
    found = described(member.observer, wire, member.group, version)
    expect(
        (found.group_state, found.protocol_type, found.protocol_data),
        ("Stable", "consumer", "range"),
        "(state, type, protocol)",
    )
    expect(len(found.members), 1, "members")
    shown = found.members[0]
    expect((shown.member_id, shown.client_id), (member.member_id, "touchstone"), "(id, client)")
    expect_that(shown.client_host not in ("", None), "client host", "told", shown.client_host)
    expect(bytes(shown.member_metadata), RANGE[1], "metadata")
    expect(bytes(shown.member_assignment), b"mine", "assignment")
    if version >= 4:
        expect(shown.group_instance_id, "one", "instance id")


@case("OFFS-19", "DescribeGroups", spec=DESCRIBE)
def test_each_member_is_described_with_what_is_its_own(wire: Wire, version: int) -> None:
    """In a Stable group of two, each member is shown with its own metadata and assignment."""
    metadata = [subscription(user_data=b"first"), subscription(user_data=b"second")]
    first = Member.stable(wire, protocols=[("range", metadata[0])])
    other = Member.of(wire, first.group, protocols=[("range", metadata[1])])
    leader, follower = rebalanced(first, other)
    leader.ask_to_sync({leader.member_id: b"one", follower.member_id: b"two"})
    follower.sync()
    leader.answer_to_sync()
    found = described(first.observer, wire, first.group, version)
    expect(
        {
            m.member_id: (bytes(m.member_metadata), bytes(m.member_assignment))
            for m in found.members
        },
        {
            member.member_id: (member.protocols[0][1], assignment)
            for member, assignment in ((leader, b"one"), (follower, b"two"))
        },
        "(metadata, assignment) of each member",
    )


@case("OFFS-20", "DescribeGroups", spec="KIP-1043; class GroupMetadataManager, describeGroups")
def test_an_unknown_group_is_described_as_dead(wire: Wire, version: int) -> None:
    """A group that does not exist is described as Dead without members; from version 6 with
    GROUP_ID_NOT_FOUND (69), before without error."""
    group = wire.new_name("group")
    found = described(group_connection(wire, group), wire, group, version)
    expect((found.group_state, len(found.members)), ("Dead", 0), "(state, members)")
    expect(found.error_code, ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else 0, "error")


@case("OFFS-25", "DescribeGroups", versions=(3, 6), spec="KIP-430", priority="P1")
def test_authorized_operations_are_told_only_if_asked(wire: Wire, version: int) -> None:
    """authorized_operations is -2147483648 unless it is requested, and a set of bits if it is;
    beside GROUP_ID_NOT_FOUND (69), which an unknown group gets from version 6 on, -2147483648."""
    member = Member.stable(wire)
    found = described(member.observer, wire, member.group, version)
    expect(found.authorized_operations, NOT_ASKED, "operations, not asked for")
    asked = member.observer.call(
        "DescribeGroups", version, groups=[member.group], include_authorized_operations=True
    ).groups[0]
    expect_that(
        asked.authorized_operations not in (0, NOT_ASKED),
        "operations, asked for",
        "some bits",
        asked.authorized_operations,
    )
    unknown = member.observer.call(
        "DescribeGroups",
        version,
        groups=[beside(wire, member.group)],
        include_authorized_operations=True,
    ).groups[0]
    if version >= 6:
        expect(unknown.error_code, ErrorCode.GROUP_ID_NOT_FOUND, "error of an unknown group")
        expect(unknown.authorized_operations, NOT_ASKED, "operations of an unknown group")


@case("OFFS-21", "ListGroups", spec="ListGroupsResponse.json; KIP-518; KIP-848")
def test_every_group_is_listed(wire: Wire, version: int) -> None:
    """ListGroups has groups with members, groups that these have left and groups with commits only,
    each with protocol type, from v4 its state and from v5 its type."""
    topic, simple, member = wire.create_topic(), wire.new_name("group"), Member.stable(wire)
    commit(wire, simple, topic, {0: 1})
    gone = Member.stable(wire)
    gone.leave()
    gone.wait_for_state("Empty")
    expected = {
        member.group: ("consumer", "Stable", "classic"),
        gone.group: ("consumer", "Empty", "classic"),
        simple: ("", "Empty", "classic"),
    }
    for group, (protocol_type, state, group_type) in expected.items():
        entry = listed(wire, group, version)
        if entry is None:
            expect(None, group, "group listed")
            return
        expect(entry.protocol_type, protocol_type, "protocol type")
        if version >= 4:
            expect(entry.group_state, state, "state")
        if version >= 5:
            expect(entry.group_type, group_type, "type")


@case("OFFS-21", "ListGroups", versions=(4, 5), spec="KIP-518; KIP-848")
def test_groups_are_filtered_by_state_and_type(wire: Wire, version: int) -> None:
    """With a states filter (v4+) or types filter (v5+) only groups of these are listed; upper and
    lower case count alike."""
    member = Member.stable(wire)

    def is_listed(**filters: list[str]) -> bool:
        return listed(wire, member.group, version, **filters) is not None

    expect(is_listed(states_filter=["Stable"]), True, "listed among Stable")
    expect(is_listed(states_filter=["Empty", "Stable"]), True, "listed among both")
    expect(is_listed(states_filter=["Empty"]), False, "listed among Empty")
    expect(is_listed(states_filter=["sTABLE"]), True, "listed among sTABLE")
    if version >= 5:
        expect(is_listed(types_filter=["classic"]), True, "listed among classic")
        expect(is_listed(types_filter=["consumer"]), False, "listed among consumer")
        expect(is_listed(types_filter=["CLASSIC"]), True, "listed among CLASSIC")


@case("OFFS-23", "DeleteGroups", spec="KIP-229")
def test_an_empty_group_is_deleted_with_its_offsets(wire: Wire, version: int) -> None:
    """A group without members is deleted: it is no longer listed, and its committed offsets are
    gone. Deleting it again gets GROUP_ID_NOT_FOUND (69)."""
    topic, group = wire.create_topic(), wire.new_name("group")
    commit(wire, group, topic, {0: 5})
    expect(committed(wire, group, topic), Committed(5), "committed before")
    expect(delete(wire, group, version), ErrorCode.NONE, "error")
    expect(listed(wire, group, wire.version("ListGroups")), None, "group listed")
    expect(committed(wire, group, topic).offset, -1, "committed")
    expect(delete(wire, group, version), ErrorCode.GROUP_ID_NOT_FOUND, "error of a second delete")


@case("OFFS-23", "DeleteGroups", spec="class KafkaApis, handleDeleteGroups")
def test_a_group_named_twice_is_deleted_once(wire: Wire, version: int) -> None:
    """A group that one request names twice has one result, NONE."""
    topic, group = wire.create_topic(), wire.new_name("group")
    commit(wire, group, topic, {0: 5})
    answer = group_connection(wire, group).call(
        "DeleteGroups", version, groups_names=[group, group]
    )
    expect([(r.group_id, r.error_code) for r in answer.results], [(group, 0)], "results")


@case("OFFS-23", "DeleteGroups", spec="KIP-229")
def test_a_group_with_members_is_not_deleted(wire: Wire, version: int) -> None:
    """Deleting a group that has members gets NON_EMPTY_GROUP (68) and changes nothing; an unknown
    group gets GROUP_ID_NOT_FOUND (69)."""
    member = Member.stable(wire)
    expect(delete(wire, member.group, version), ErrorCode.NON_EMPTY_GROUP, "error")
    expect(member.heartbeat(), ErrorCode.NONE, "Heartbeat error")
    unknown = delete(wire, wire.new_name("group"), version)
    expect(unknown, ErrorCode.GROUP_ID_NOT_FOUND, "error of an unknown group")


@case("OFFS-18", "OffsetDelete", spec="KIP-496", priority="P1")
def test_offsets_of_an_empty_group_are_deleted(wire: Wire, version: int) -> None:
    """OffsetDelete removes a commit of a group without members; of an unknown group it gets
    GROUP_ID_NOT_FOUND (69), of a topic that does not exist UNKNOWN_TOPIC_OR_PARTITION (3)."""
    topic, group = wire.create_topic(), wire.new_name("group")
    commit(wire, group, topic, {0: 5})
    missing = Topic(wire.new_name("missing"), uuid4(), 1)
    found = delete_offsets(wire, group, missing)
    unknown_topic = [int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    expect(found, (0, unknown_topic), "(error, partition errors) of a missing topic")
    expect(delete_offsets(wire, group, topic), (0, [0]), "(error, partition errors)")
    expect(committed(wire, group, topic).offset, -1, "committed")
    unknown, _ = delete_offsets(wire, wire.new_name("group"), topic)
    expect(unknown, ErrorCode.GROUP_ID_NOT_FOUND, "error of an unknown group")


@case("OFFS-18", "OffsetDelete", spec="KIP-496", priority="P1")
def test_offsets_of_a_subscribed_topic_are_kept(wire: Wire, version: int) -> None:
    """While a member of the group subscribes to the topic, OffsetDelete gets
    GROUP_SUBSCRIBED_TO_TOPIC (86) for its partitions, and commits to other topics are deleted; with
    a protocol type other than "consumer" a group with members gets NON_EMPTY_GROUP (68)."""
    topic, unread = wire.create_topic(), wire.create_topic()
    group, other = wire.new_name("group"), wire.new_name("group")
    for name in (group, other):
        commit(wire, name, topic, {0: 5})
    commit(wire, group, unread, {0: 5})
    Member.stable(wire, group, protocols=[("range", subscription(topic.name))])
    Member.stable(wire, other, protocol_type="connect")
    expect(
        delete_offsets(wire, group, topic, unread),
        (0, [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, 0]),
        "(error, partition errors)",
    )
    expect(committed(wire, group, unread).offset, -1, "committed to that topic")
    expect(delete_offsets(wire, other, topic)[0], ErrorCode.NON_EMPTY_GROUP, "error of the other")
    expect(committed(wire, group, topic), Committed(5), "committed")
