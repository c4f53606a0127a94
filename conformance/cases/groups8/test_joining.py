"""ConsumerGroupHeartbeat with epoch 0: how a member gets into a group, and who is refused."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.case import case, expect, expect_that
from conformance.clients.consumer_members import ConsumerMember, owned_field, partitions_of, settle
from conformance.target.variants import STRICT
from conformance.wire import Wire
from reference_impl.wire import ErrorCode

REFUSALS = "GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid"
JOINS = "KIP-848, Joining the group"
NOT_FOUND = ErrorCode.GROUP_ID_NOT_FOUND


def refused(member: ConsumerMember, code: ErrorCode, **changed: Any) -> None:
    """Require that a first heartbeat gets this error and makes no group."""
    expect(member.try_to_join(**changed).error_code, code, "heartbeat error")
    expect(member.described().error_code, NOT_FOUND, "describe error of the group")


@case("GRP8-01", "ConsumerGroupHeartbeat", spec=JOINS)
def test_a_first_member_is_given_every_partition(wire: Wire, version: int) -> None:
    """A heartbeat with epoch 0, rebalance timeout and subscription makes a member: it gets an epoch
    of 1 or more, how often to send heartbeats, and in this or a later answer every partition."""
    topic = wire.create_topic(3)
    member = ConsumerMember.of(wire, topic, version=version)
    chosen = member.member_id
    answer = member.join()
    expect(answer.member_id, chosen, "member id")
    expect_that(answer.member_epoch >= 1, "member epoch", "1 or more", answer.member_epoch)
    expect_that(
        answer.heartbeat_interval_ms > 0,
        "heartbeat interval",
        "more than 0 ms",
        answer.heartbeat_interval_ms,
    )
    expect_that(answer.assignment is not None, "assignment", "not null when joining", None)
    settle(member)
    expect(member.owned, partitions_of(topic), "assignment")
    expect(member.member_ids(), [chosen], "members of the group")


@case("GRP8-01", "ConsumerGroupHeartbeat", spec=JOINS)
def test_a_member_without_topics_is_a_member(wire: Wire, version: int) -> None:
    """A member may subscribe to nothing: it gets an empty assignment."""
    member = ConsumerMember.of(wire, version=version)
    answer = member.join()
    expect(member.owned, [], "assignment")
    expect_that(answer.member_epoch >= 1, "member epoch", "1 or more", answer.member_epoch)
    expect(member.member_ids(), [member.member_id], "members of the group")


@case("GRP8-02", "ConsumerGroupHeartbeat", versions=(0, 0), spec="KIP-1082", priority="P1")
def test_an_old_client_is_given_a_member_id(wire: Wire, version: int) -> None:
    """In version 0 a member may join without id: the coordinator makes one up."""
    member = ConsumerMember.of(wire, wire.create_topic(), version=version)
    answer = member.join(member_id="")
    expect_that(answer.member_id not in ("", None), "member id", "not empty", answer.member_id)
    settle(member)
    expect(member.member_ids(), [answer.member_id], "members of the group")


@case("GRP8-02", "ConsumerGroupHeartbeat", versions=(1, 1), spec="KIP-1082", priority="P1")
def test_a_new_client_must_choose_its_member_id(wire: Wire, version: int) -> None:
    """From version 1 on a member without id gets INVALID_REQUEST (42), and there is no group."""
    member = ConsumerMember.of(wire, wire.create_topic(), version=version)
    refused(member, ErrorCode.INVALID_REQUEST, member_id="")


@pytest.mark.parametrize("missing", ["rebalance-timeout", "subscription", "owned-partitions"])
@case("GRP8-03", "ConsumerGroupHeartbeat", spec=REFUSALS)
def test_a_first_heartbeat_must_be_complete(wire: Wire, version: int, missing: str) -> None:
    """A heartbeat with epoch 0 without rebalance timeout, without any subscription, or with its
    owned partitions left out gets INVALID_REQUEST (42), and there is no group."""
    left_out: dict[str, dict[str, Any]] = {
        "rebalance-timeout": {"rebalance_timeout_ms": -1},
        "subscription": {"subscribed_topic_names": None, "subscribed_topic_regex": None},
        "owned-partitions": {"topic_partitions": None},
    }
    member = ConsumerMember.of(wire, wire.create_topic(), version=version)
    refused(member, ErrorCode.INVALID_REQUEST, **left_out[missing])


@case("GRP8-03", "ConsumerGroupHeartbeat", spec=REFUSALS)
def test_who_joins_may_own_nothing(wire: Wire, version: int) -> None:
    """A heartbeat with epoch 0 that claims partitions gets INVALID_REQUEST (42), and there is no
    group."""
    topic = wire.create_topic()
    member = ConsumerMember.of(wire, topic, version=version)
    claimed = owned_field(partitions_of(topic))
    refused(member, ErrorCode.INVALID_REQUEST, topic_partitions=claimed)


@pytest.mark.parametrize("empty", ["group_id", "rack_id", "instance_id"])
@case("GRP8-04", "ConsumerGroupHeartbeat", spec=REFUSALS)
def test_an_empty_name_is_refused(wire: Wire, version: int, empty: str) -> None:
    """Group id, rack id or instance id as empty string get INVALID_REQUEST (42), and the member is
    not added."""
    member = ConsumerMember.of(wire, wire.create_topic(), version=version)
    refused(member, ErrorCode.INVALID_REQUEST, **{empty: ""})


@case("GRP8-04", "ConsumerGroupHeartbeat", spec=REFUSALS)
def test_an_epoch_below_minus_2_is_refused(wire: Wire, version: int) -> None:
    """A member epoch below -2 gets INVALID_REQUEST (42), and the member is not added."""
    member = ConsumerMember.of(wire, wire.create_topic(), version=version)
    refused(member, ErrorCode.INVALID_REQUEST, member_epoch=-3)


@case("GRP8-05", "ConsumerGroupHeartbeat", spec="KIP-848, Server-side Assignor")
def test_an_unknown_assignor_is_refused(wire: Wire, version: int) -> None:
    """An assignor that the broker lacks gets UNSUPPORTED_ASSIGNOR (112), and there is no group; the
    same from a member."""
    topic = wire.create_topic()
    member = ConsumerMember.of(wire, topic, version=version)
    refused(member, ErrorCode.UNSUPPORTED_ASSIGNOR, server_assignor="never-heard-of")
    member = ConsumerMember.stable(wire, topic, version=version)
    error = member.try_to_beat(server_assignor="never-heard-of").error_code
    expect(error, ErrorCode.UNSUPPORTED_ASSIGNOR, "error of a member's heartbeat")


@case(
    "GRP8-21",
    "ConsumerGroupHeartbeat",
    spec="group.consumer.max.size",
    priority="P1",
    config=STRICT,
)
def test_a_full_group_takes_no_more(wire: Wire, version: int) -> None:
    """Beyond group.consumer.max.size a new member gets GROUP_MAX_SIZE_REACHED (81) and is not
    admitted; existing members may join again, and one that leaves makes room."""
    members = [ConsumerMember.of(wire, wire.create_topic(), version=version)]
    members += [members[0].partner(), members[0].partner()]
    for member in members[:2]:
        member.join()
    refusal = members[2].try_to_join()
    expect(refusal.error_code, ErrorCode.GROUP_MAX_SIZE_REACHED, "heartbeat error of the third")
    ids = [member.member_id for member in members]
    expect(members[0].member_ids(), sorted(ids[:2]), "members of the group")
    members[1].join()
    members[1].leave()
    members[2].join()
    expect(members[0].member_ids(), sorted([ids[0], ids[2]]), "members after one has left")


@case("GRP8-01", "ConsumerGroupHeartbeat", spec="ConsumerGroupHeartbeatResponse.json, Assignment")
def test_who_says_everything_is_told_everything(wire: Wire, version: int) -> None:
    """A heartbeat that contains all fields of a member, as after a lost response, is answered with
    its assignment even if that has not changed; a heartbeat that contains none of them is not."""
    member = ConsumerMember.stable(wire, wire.create_topic(2), version=version)
    expect(member.try_to_beat().assignment, None, "assignment in the answer to nothing")
    owned = member.owned
    answer = member.acknowledge(**member.subscription())
    expect(answer.assignment is None, False, "the answer to everything has no assignment")
    expect(member.owned, owned, "assignment")
