"""Member epochs: who is heard, who is fenced, and when an assignment is told."""

from __future__ import annotations

from conformance.case import case, expect, expect_that
from conformance.clients.consumer_members import (
    LEAVE_FOR_A_MOMENT,
    ConsumerMember,
    assigned,
    owned_field,
    partitions_of,
    settle,
)
from conformance.target.variants import SHORT_LIVED
from conformance.wire import Topic, Wire, eventually
from reference_impl.wire import ErrorCode

EPOCHS = "KIP-848, Member Epoch; GroupMetadataManager.throwIfConsumerGroupMemberEpochIsInvalid"
FENCED = ErrorCode.FENCED_MEMBER_EPOCH
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID


def moved(wire: Wire, version: int) -> tuple[ConsumerMember, Topic, int]:
    """Return a member that has just moved to a new epoch by subscribing to one topic more, that
    topic, and the epoch before."""
    member = ConsumerMember.stable(wire, wire.create_topic(), version=version)
    before, added = member.epoch, wire.create_topic()
    member.topics.append(added)
    member.acknowledge(**member.subscription())
    settle(member)
    expect_that(
        member.epoch > before, "epoch after a new subscription", f"more than {before}", member.epoch
    )
    return member, added, before


@case("GRP8-06", "ConsumerGroupHeartbeat", spec=EPOCHS)
def test_an_epoch_of_the_future_is_fenced(wire: Wire, version: int) -> None:
    """A heartbeat with a higher epoch than the member's gets FENCED_MEMBER_EPOCH (110); the member
    with its own epoch is heard as before."""
    member = ConsumerMember.stable(wire, wire.create_topic(), version=version)
    ahead = member.try_to_beat(member_epoch=member.epoch + 1)
    expect(ahead.error_code, FENCED, "heartbeat error of the next epoch")
    expect(member.beat().member_epoch, member.epoch, "epoch after that")


@case("GRP8-07", "ConsumerGroupHeartbeat", spec=EPOCHS)
def test_a_lost_answer_is_given_again(wire: Wire, version: int) -> None:
    """A heartbeat with the previous epoch, whose owned partitions are among the assigned ones, is
    accepted and answered with the current epoch, since that answer may have been lost."""
    member, _, before = moved(wire, version)
    some = owned_field(member.owned[:1])
    answer = member.try_to_beat(member_epoch=before, topic_partitions=some)
    expect(
        (answer.error_code, answer.member_epoch),
        (ErrorCode.NONE, member.epoch),
        "(error, epoch) of a heartbeat with the previous epoch",
    )


@case("GRP8-07", "ConsumerGroupHeartbeat", spec=EPOCHS)
def test_an_epoch_of_the_past_is_fenced(wire: Wire, version: int) -> None:
    """A heartbeat with the previous epoch that names a partition which is not assigned, or names no
    owned partitions at all, gets FENCED_MEMBER_EPOCH (110)."""
    member, _, before = moved(wire, version)
    strange = [*member.owned, (wire.create_topic().id, 0)]
    answer = member.try_to_beat(member_epoch=before, topic_partitions=owned_field(strange))
    expect(answer.error_code, FENCED, "heartbeat error with a partition of others")
    expect(
        member.try_to_beat(member_epoch=before).error_code,
        FENCED,
        "heartbeat error without owned partitions",
    )
    expect(member.beat().member_epoch, member.epoch, "epoch after that")


@case("GRP8-08", "ConsumerGroupHeartbeat", spec="KIP-848, Error Handling")
def test_a_stranger_is_unknown(wire: Wire, version: int) -> None:
    """A member id that the group does not know gets UNKNOWN_MEMBER_ID (25), in a heartbeat with an
    epoch as well as in one that leaves; it does not become a member."""
    member = ConsumerMember.stable(wire, wire.create_topic(), version=version)
    stranger = member.partner()
    expect(stranger.try_to_beat(member_epoch=member.epoch).error_code, UNKNOWN, "heartbeat error")
    expect(stranger.try_to_leave().error_code, UNKNOWN, "error of leaving")
    expect(member.member_ids(), [member.member_id], "members of the group")


@case(
    "GRP8-09", "ConsumerGroupHeartbeat", spec="GroupMetadataManager.getOrMaybeCreateConsumerGroup"
)
def test_an_epoch_in_an_unknown_group_is_refused(wire: Wire, version: int) -> None:
    """A heartbeat with an epoch to a group that does not exist gets GROUP_ID_NOT_FOUND (69), and
    makes none."""
    member = ConsumerMember.of(wire, wire.create_topic(), version=version)
    not_found = ErrorCode.GROUP_ID_NOT_FOUND
    expect(member.try_to_beat(member_epoch=1).error_code, not_found, "heartbeat error")
    expect(member.described().error_code, not_found, "describe error of the group")


@case("GRP8-10", "ConsumerGroupHeartbeat", spec="KIP-848, Leaving the group")
def test_what_a_leaver_owned_goes_to_the_others(wire: Wire, version: int) -> None:
    """A heartbeat with epoch -1 is answered with epoch -1: the member is removed, its next
    heartbeat gets UNKNOWN_MEMBER_ID (25), and its partitions are assigned to the others."""
    topic = wire.create_topic(4)
    first = ConsumerMember.stable(wire, topic, version=version)
    second = first.partner()
    second.join()
    settle(first, second)
    second.leave()
    settle(first)
    expect(first.owned, partitions_of(topic), "partitions of the one who stayed")
    expect(first.member_ids(), [first.member_id], "members of the group")
    expect(second.try_to_beat().error_code, UNKNOWN, "heartbeat error of the one who left")


@case("GRP8-10", "ConsumerGroupHeartbeat", spec="KIP-848, Leaving the group")
def test_a_group_which_all_have_left_is_empty(wire: Wire, version: int) -> None:
    """When the last member has left, the group stays, Empty; a new member gets a higher epoch."""
    member = ConsumerMember.stable(wire, wire.create_topic(), version=version)
    before = member.epoch
    member.leave()
    found = member.describe()
    expect((found.group_state, len(found.members)), ("Empty", 0), "(state, members)")
    later = member.partner()
    later.join()
    settle(later)
    expect_that(
        later.epoch > before, "epoch of the next member", f"more than {before}", later.epoch
    )


@case("GRP8-12", "ConsumerGroupHeartbeat", spec="ConsumerGroupHeartbeatResponse.json, Assignment")
def test_an_unchanged_assignment_is_not_told_again(wire: Wire, version: int) -> None:
    """A member whose assignment has not changed gets a null assignment, and keeps its epoch."""
    member = ConsumerMember.stable(wire, wire.create_topic(2), version=version)
    for answer in (member.try_to_beat(), member.acknowledge()):
        expect(
            (answer.error_code, answer.member_epoch, answer.assignment),
            (ErrorCode.NONE, member.epoch, None),
            "(error, epoch, assignment)",
        )


@case(
    "GRP8-13",
    "ConsumerGroupHeartbeat",
    spec="GroupMetadataManager.consumerGroupHeartbeat",
    priority="P1",
)
def test_a_full_heartbeat_is_told_the_assignment(wire: Wire, version: int) -> None:
    """A heartbeat with subscription, rebalance timeout and owned partitions is answered with the
    assignment every time, and the epoch stays."""
    topic = wire.create_topic(2)
    member = ConsumerMember.stable(wire, topic, version=version)
    epoch = member.epoch
    for _ in range(2):
        answer = member.acknowledge(**member.subscription())
        expect_that(answer.assignment is not None, "assignment", "not null", None)
        expect(
            (answer.member_epoch, assigned(answer)),
            (epoch, partitions_of(topic)),
            "(epoch, assignment)",
        )


@case(
    "GRP8-15",
    "ConsumerGroupHeartbeat",
    spec="group.consumer.session.timeout.ms",
    priority="P1",
    config=SHORT_LIVED,
)
def test_a_silent_member_is_removed(wire: Wire, version: int) -> None:
    """A member without heartbeats for the session timeout is removed: its partitions go to the
    others, and its next heartbeat gets UNKNOWN_MEMBER_ID (25)."""
    topic = wire.create_topic(2)
    silent = ConsumerMember.stable(wire, topic, version=version)
    other = silent.partner()
    other.join()
    settle(silent, other)
    eventually(
        lambda: other.acknowledge() and other.owned,
        lambda o: o == partitions_of(topic),
        "the other member gets every partition",
    )
    expect(other.member_ids(), [other.member_id], "members of the group")
    expect(silent.try_to_beat().error_code, UNKNOWN, "heartbeat error of the silent member")


@case(
    "GRP8-15",
    "ConsumerGroupHeartbeat",
    spec="class GroupMetadataManager, consumerGroupStaticMemberGroupLeave; KIP-848",
    priority="P1",
    config=SHORT_LIVED,
)
def test_an_instance_that_does_not_come_back_is_removed(wire: Wire, version: int) -> None:
    """A static member that leaves for a moment (epoch -2), and does not return within its session
    timeout, is removed: its partitions go to the others."""
    topic = wire.create_topic(2)
    away = ConsumerMember.stable(wire, topic, version=version, instance_id="one")
    other = away.partner()
    other.join()
    settle(away, other)
    away.leave(LEAVE_FOR_A_MOMENT)
    eventually(
        lambda: other.acknowledge() and other.owned,
        lambda o: o == partitions_of(topic),
        "the other member gets every partition",
    )
    expect(other.member_ids(), [other.member_id], "members of the group")


@case(
    "GRP8-23",
    "ConsumerGroupHeartbeat",
    spec="KIP-848, Fencing; GroupMetadataManager",
    priority="P1",
)
def test_a_known_member_may_join_again(wire: Wire, version: int) -> None:
    """A member that comes with epoch 0 again, as one does that was fenced, is accepted, owns
    nothing before the answer, and is given epoch and assignment; it is not counted twice."""
    topic = wire.create_topic(2)
    member = ConsumerMember.stable(wire, topic, version=version)
    epoch = member.epoch
    answer = member.join()
    expect_that(answer.member_epoch >= epoch, "epoch", f"{epoch} or more", answer.member_epoch)
    settle(member)
    expect(member.owned, partitions_of(topic), "assignment")
    expect(member.member_ids(), [member.member_id], "members of the group")
