"""ConsumerGroupDescribe, and how groups of the new protocol show in the older APIs (KIP-848)."""

from __future__ import annotations

from itertools import chain

from conformance.case import case, expect, expect_that
from conformance.cases.offsets.offsets import commit, listed
from conformance.cases.offsets.test_group_admin import delete
from conformance.clients.consumer_members import (
    ConsumerMember,
    described,
    partitions_in,
    partitions_of,
    settled_pair,
)
from conformance.clients.members import Member, group_connection
from conformance.clients.members import described as described_as_classic
from conformance.wire import Wire, eventually
from reference_impl.wire import ErrorCode, Struct

SPEC = "ConsumerGroupDescribeResponse.json; KIP-848, ConsumerGroupDescribe API"
NOT_FOUND = ErrorCode.GROUP_ID_NOT_FOUND


@case("GRP8-27", "ConsumerGroupDescribe", spec=SPEC, priority="P1")
def test_a_stable_group_is_described(wire: Wire, version: int) -> None:
    """A stable group is described with its state, its epoch, the same epoch of the assignment, the
    assignor, and every member with its epoch."""
    first, second = settled_pair(wire, wire.create_topic(2), assignor="range")
    found = first.described(version)
    expect(
        (found.error_code, found.group_state, found.assignor_name),
        (ErrorCode.NONE, "Stable", "range"),
        "(error, state, assignor)",
    )
    expect((found.group_epoch, found.assignment_epoch), (first.epoch, first.epoch), "epochs")
    expect(
        sorted((m.member_id, m.member_epoch) for m in found.members),
        sorted((m.member_id, m.epoch) for m in (first, second)),
        "members",
    )


@case("GRP8-27", "ConsumerGroupDescribe", spec=SPEC, priority="P1")
def test_a_member_is_described_with_its_assignment(wire: Wire, version: int) -> None:
    """A member is shown with instance id, rack, client id, host, subscription, and its present and
    target assignment by topic id and name."""
    topic = wire.create_topic(2)
    member = ConsumerMember.of(wire, topic, instance_id="one")
    member.join(rack_id="rack-7")
    member.acknowledge()  # what it does not say again stays as it was
    shown = member.described(version).members[0]
    expect(
        (shown.member_id, shown.instance_id, shown.rack_id, shown.client_id),
        (member.member_id, "one", "rack-7", "touchstone"),
        "(member, instance, rack, client)",
    )
    expect_that(shown.client_host not in ("", None), "client host", "told", shown.client_host)
    expect(list(shown.subscribed_topic_names), [topic.name], "subscribed topics")
    for assignment in (shown.assignment, shown.target_assignment):
        expect(partitions_in(assignment.topic_partitions), member.owned, "assignment")
        expect([t.topic_name for t in assignment.topic_partitions], [topic.name], "topic names")
    if version >= 1:
        expect(shown.member_type, 1, "member type (1: of the consumer protocol)")


@case("GRP8-27", "ConsumerGroupDescribe", spec=SPEC, priority="P1")
def test_the_target_of_a_member_is_described_beside_what_it_has(wire: Wire, version: int) -> None:
    """While a member has not given up a partition that it is to lose, it is described with all its
    partitions as the present assignment, and with its share as the target."""
    first = ConsumerMember.stable(wire, wire.create_topic(2))
    second = first.partner()
    second.join()

    def next_description() -> Struct:
        second.beat()
        return first.described(version)

    found = eventually(
        next_description,
        lambda group: len(group.members) == 2 and group.assignment_epoch == group.group_epoch,
        "a target for both members is decided",
    )
    targets = {
        member.member_id: partitions_in(member.target_assignment.topic_partitions)
        for member in found.members
    }
    shares = [len(targets[member.member_id]) for member in (first, second)]
    expect(shares, [1, 1], "partitions in the target of each member")
    expect(sorted(chain.from_iterable(targets.values())), first.owned, "partitions in all targets")
    (shown,) = (member for member in found.members if member.member_id == first.member_id)
    present = partitions_in(shown.assignment.topic_partitions)
    expect(present, first.owned, "present assignment of the one that is to lose a partition")


@case("GRP8-27", "ConsumerGroupDescribe", spec=SPEC, priority="P1")
def test_a_member_is_described_with_nothing_that_it_did_not_say(wire: Wire, version: int) -> None:
    """A member without an instance id and a rack is shown with null for both; a subscription by
    pattern shows the pattern and no topics, and one without a pattern null or the empty one."""
    beats, topic = wire.version("ConsumerGroupHeartbeat", 1), wire.create_topic()
    plain = ConsumerMember.stable(wire, topic)
    pattern = f"{topic.name[:-1]}.?"
    by_pattern = ConsumerMember.of(wire, topic, version=beats, regex=pattern)
    by_pattern.join(subscribed_topic_names=None)
    told: list[tuple[ConsumerMember, set[str | None], list[str]]] = [
        (plain, {None, ""}, [topic.name]),
        (by_pattern, {pattern}, []),
    ]
    for member, patterns, names in told:
        shown = member.described(version).members[0]
        expect((shown.instance_id, shown.rack_id), (None, None), "(instance, rack)")
        expect(shown.subscribed_topic_regex, patterns, "pattern")
        expect(list(shown.subscribed_topic_names), names, "subscribed topics")


@case("GRP8-27", "ConsumerGroupDescribe", spec=SPEC, priority="P1")
def test_what_is_no_consumer_group_is_not_found(wire: Wire, version: int) -> None:
    """An unknown group and a group of the classic protocol get GROUP_ID_NOT_FOUND (69), beside a
    group that is described."""
    member = ConsumerMember.stable(wire, wire.create_topic())
    for group in (wire.new_name("group"), Member.stable(wire).group):
        found = described(group_connection(wire, group), group, version)
        expect((found.error_code, len(found.members)), (NOT_FOUND, 0), "(error, members)")
    expect(member.described(version).error_code, ErrorCode.NONE, "error of the consumer group")


@case("GRP8-27", "ConsumerGroupDescribe", spec=SPEC, priority="P1")
def test_an_empty_group_id_is_invalid(wire: Wire, version: int) -> None:
    """An empty group id gets INVALID_GROUP_ID (24)."""
    found = described(wire.bootstrap, "", version)
    expect(found.error_code, ErrorCode.INVALID_GROUP_ID, "error")


@case("GRP8-27", "ListGroups", versions=(5, 5), spec="KIP-848, ListGroups", priority="P1")
def test_groups_are_listed_with_their_type(wire: Wire, version: int) -> None:
    """ListGroups returns the type and state of each group, and filters by both."""
    member = ConsumerMember.stable(wire, wire.create_topic())
    shown = listed(wire, member.group, version)
    expect_that(shown is not None, "groups listed", member.group, None)
    assert shown is not None
    expect(
        (shown.group_type, shown.group_state, shown.protocol_type),
        ("consumer", "Stable", "consumer"),
        "(type, state, protocol type)",
    )
    for fits, filters in (
        (True, {"types_filter": ["consumer"]}),
        (False, {"types_filter": ["classic"]}),
        (True, {"states_filter": ["Stable"]}),
        (False, {"states_filter": ["Empty"]}),
    ):
        found = listed(wire, member.group, version, **filters)
        expect(found is not None, fits, f"listed with {filters}")


@case("GRP8-27", "DescribeGroups", spec="KIP-848, DescribeGroups", priority="P1")
def test_a_consumer_group_is_no_classic_group(wire: Wire, version: int) -> None:
    """DescribeGroups describes a group of the new protocol as Dead, from version 6 on with
    GROUP_ID_NOT_FOUND (69)."""
    member = ConsumerMember.stable(wire, wire.create_topic())
    found = described_as_classic(member.connection, wire, member.group, version)
    expect((found.group_state, len(found.members)), ("Dead", 0), "(state, members)")
    expect(found.error_code, NOT_FOUND if version >= 6 else ErrorCode.NONE, "error")


@case("GRP8-27", "DeleteGroups", spec="class ConsumerGroup, validateDeleteGroup", priority="P1")
def test_only_an_empty_group_is_deleted(wire: Wire, version: int) -> None:
    """DeleteGroups of a group with members gets NON_EMPTY_GROUP (68) and changes nothing; once the
    group is empty it is deleted with its committed offsets."""
    topic = wire.create_topic()
    member = ConsumerMember.stable(wire, topic)
    commit(wire, member.group, topic, {0: 5}, generation=member.epoch, member_id=member.member_id)
    expect(delete(wire, member.group, version), ErrorCode.NON_EMPTY_GROUP, "error with a member")
    expect(member.member_ids(), [member.member_id], "members after that")
    member.leave()
    expect(delete(wire, member.group, version), ErrorCode.NONE, "error once it is empty")
    expect(member.described().error_code, NOT_FOUND, "describe error after that")


@case("GRP8-27", "ConsumerGroupDescribe", spec="KIP-848, ConsumerGroupDescribe", priority="P1")
def test_a_partition_that_is_being_revoked_is_still_the_members(wire: Wire, version: int) -> None:
    """A partition that a member must give up is in its assignment until it has done so."""
    topic = wire.create_topic(2)
    one = ConsumerMember.stable(wire, topic)
    one.partner().join()
    eventually(one.beat, lambda answer: answer.assignment is not None, "a partition is revoked")
    (found,) = [m for m in one.described(version).members if m.member_id == one.member_id]
    expect(partitions_in(found.assignment.topic_partitions), partitions_of(topic), "assignment")
