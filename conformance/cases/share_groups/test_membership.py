"""Members of share groups: how they join, are fenced, leave and are forgotten (KIP-932)."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.case import case, expect, expect_that
from conformance.clients.consumer_members import ConsumerMember, partitions_of
from conformance.clients.members import Member
from conformance.clients.share_members import LEAVE, ShareMember
from conformance.target.variants import SHARED_SHORTLY
from conformance.wire import Wire, eventually
from reference_impl.wire import ErrorCode

SPEC = "KIP-932, ShareGroupHeartbeat API; class GroupMetadataManager, shareGroupHeartbeat"
NOT_ASKED = -(2**31)


@case("SHARE-01", "ShareGroupHeartbeat", spec=SPEC, priority="P1")
def test_members_of_a_share_group_own_a_partition_together(wire: Wire) -> None:
    """A member that joins with epoch 0 gets an epoch above 0, a heartbeat interval, and the
    partitions of its topics; a second member gets a partition that the first one keeps."""
    topic = wire.create_topic()
    first = ShareMember.of(wire, topic)
    answer = first.learn(first.try_to_join())
    expect_that(answer.member_epoch > 0, "epoch", "> 0", answer.member_epoch)
    interval_ms = answer.heartbeat_interval_ms
    expect_that(interval_ms > 0, "heartbeat interval", "> 0", interval_ms)
    first.join()
    second = first.partner()
    first.learn(first.try_to_beat())
    expect(
        (first.owned, second.owned),
        (partitions_of(topic), partitions_of(topic)),
        "partitions of both members",
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"subscribed_topic_names": None},
        {"subscribed_topic_names": []},
        {"member_id": ""},
        {"group_id": ""},
        {"member_epoch": -2},
    ],
    ids=["no-topics", "empty-topics", "no-member-id", "no-group-id", "epoch-minus-two"],
)
@case("SHARE-02", "ShareGroupHeartbeat", spec=SPEC, priority="P1")
def test_an_incomplete_first_heartbeat_is_refused(wire: Wire, changed: dict[str, Any]) -> None:
    """A first heartbeat without topics, without a member id or a group id, or with an epoch below
    -1 gets INVALID_REQUEST (42), and no group is created."""
    member = ShareMember.of(wire, wire.create_topic())
    answer = member.try_to_join(**changed)
    expect(answer.error_code, ErrorCode.INVALID_REQUEST, "heartbeat error")
    expect(member.describe().error_code, ErrorCode.GROUP_ID_NOT_FOUND, "describe error")


@case("SHARE-03", "ShareGroupHeartbeat", spec=SPEC, priority="P1")
def test_another_epoch_of_a_share_member_is_fenced(wire: Wire) -> None:
    """A heartbeat with a higher epoch than the member's, or one below its previous epoch, gets
    FENCED_MEMBER_EPOCH (110); one with the previous epoch is heard, since the answer may be
    lost."""
    topics = [wire.create_topic(), wire.create_topic()]
    member = ShareMember.of(wire, topics[0])
    member.join()
    member.topics = topics
    member.learn(member.try_to_beat(subscribed_topic_names=[topic.name for topic in topics]))
    errors = [
        member.try_to_beat(member_epoch=member.epoch + by).error_code for by in (1, -1, -2, 0)
    ]
    fenced = ErrorCode.FENCED_MEMBER_EPOCH
    expect(errors, [fenced, ErrorCode.NONE, fenced, ErrorCode.NONE], "errors by epoch")


@case("SHARE-03", "ShareGroupHeartbeat", spec=SPEC, priority="P1")
def test_a_share_member_that_left_is_unknown(wire: Wire) -> None:
    """A heartbeat with epoch -1 is answered with epoch -1 and takes the member out of the group;
    its next one, like that of a stranger, gets UNKNOWN_MEMBER_ID (25)."""
    member = ShareMember.of(wire, wire.create_topic())
    member.join()
    left = member.try_to_beat(member_epoch=LEAVE)
    expect((left.error_code, left.member_epoch), (ErrorCode.NONE, LEAVE), "(error, epoch)")
    expect([m.member_id for m in member.describe().members], [], "members")
    expect(member.try_to_beat().error_code, ErrorCode.UNKNOWN_MEMBER_ID, "error afterwards")
    stranger = ShareMember.of(wire, *member.topics, group=member.group)
    answer = stranger.try_to_beat(member_epoch=1)
    expect(answer.error_code, ErrorCode.UNKNOWN_MEMBER_ID, "error of a stranger")


@case("SHARE-03", "ShareGroupHeartbeat", spec=SPEC, priority="P1", config=SHARED_SHORTLY)
def test_a_silent_share_member_is_forgotten(wire: Wire) -> None:
    """A member without a heartbeat for the session timeout leaves the group; its next heartbeat
    gets UNKNOWN_MEMBER_ID (25)."""
    member = ShareMember.of(wire, wire.create_topic())
    member.join()
    eventually(lambda: member.describe().members, lambda found: not found, "the group is empty")
    expect(member.try_to_beat().error_code, ErrorCode.UNKNOWN_MEMBER_ID, "heartbeat error")


@case("SHARE-19", "ShareGroupDescribe", spec="KIP-932, ShareGroupDescribe API", priority="P1")
def test_a_share_group_is_described(wire: Wire) -> None:
    """A group with a member is Stable, with its epochs, assignor, and the member's client id, host,
    topics and assignment; permissions are -2147483648 unless asked for."""
    topic = wire.create_topic(partitions=2)
    member = ShareMember.of(wire, topic)
    member.join()
    group = member.describe()
    expect(group.error_code, ErrorCode.NONE, "describe error")
    expect((group.group_id, group.group_state), (member.group, "Stable"), "(id, state)")
    expect((group.group_epoch, group.assignment_epoch), (member.epoch, member.epoch), "epochs")
    expect_that(group.assignor_name != "", "assignor", "a name", repr(group.assignor_name))
    expect(group.authorized_operations, NOT_ASKED, "permissions")
    expect(len(group.members), 1, "members")
    found = group.members[0]
    expect(
        (found.member_id, found.member_epoch, found.client_id, found.rack_id),
        (member.member_id, member.epoch, "touchstone", None),
        "(member id, epoch, client id, rack)",
    )
    expect_that(found.client_host != "", "host", "an address", repr(found.client_host))
    expect(list(found.subscribed_topic_names), [topic.name], "subscription")
    assigned = [
        (t.topic_id, t.topic_name, list(t.partitions)) for t in found.assignment.topic_partitions
    ]
    expect(assigned, [(topic.id, topic.name, [0, 1])], "assignment")


@case("SHARE-19", "ShareGroupDescribe", spec="KIP-932, ShareGroupDescribe API", priority="P1")
def test_an_empty_and_an_unknown_share_group_are_described(wire: Wire) -> None:
    """A group that nobody knows gets GROUP_ID_NOT_FOUND (69); one that its last member left is
    Empty."""
    member = ShareMember.of(wire, wire.create_topic())
    expect(member.describe().error_code, ErrorCode.GROUP_ID_NOT_FOUND, "error before it exists")
    member.join()
    member.try_to_beat(member_epoch=LEAVE)
    group = member.describe()
    expect((group.error_code, group.group_state), (ErrorCode.NONE, "Empty"), "(error, state)")


@case("SHARE-22", "ShareGroupHeartbeat", spec=SPEC, priority="P2")
def test_groups_of_other_types_are_no_share_groups(wire: Wire) -> None:
    """A group of consumers, classic or not, cannot be joined as a share group, nor described as one
    (GROUP_ID_NOT_FOUND, 69); a share group cannot be joined by consumers (69 in
    ConsumerGroupHeartbeat, INCONSISTENT_GROUP_PROTOCOL, 23, in JoinGroup)."""
    topic = wire.create_topic()
    for group in (ConsumerMember.stable(wire, topic).group, Member.stable(wire).group):
        sharer = ShareMember.of(wire, topic, group=group)
        errors = (sharer.try_to_join().error_code, sharer.describe().error_code)
        expect(errors, (ErrorCode.GROUP_ID_NOT_FOUND,) * 2, "errors of joining and describing")
    sharer = ShareMember.of(wire, topic)
    sharer.join()
    consumer = ConsumerMember.of(wire, topic, group=sharer.group)
    expect(consumer.try_to_join().error_code, ErrorCode.GROUP_ID_NOT_FOUND, "consumer's error")
    classic = Member.of(wire, sharer.group)
    expect(classic.try_to_join().error_code, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "classic error")
