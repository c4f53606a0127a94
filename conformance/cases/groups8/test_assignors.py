"""The assignors of the broker (KIP-848): range and uniform."""

from __future__ import annotations

import pytest

from conformance.case import case, expect, expect_that
from conformance.clients.consumer_members import ConsumerMember, settle, settled_pair
from conformance.target.settings import require_assignor
from conformance.wire import Topic, Wire

UNIFORM = "KIP-848, Server-side Assignor; class UniformAssignor"
RANGE = "KIP-848, Server-side Assignor; class RangeAssignor"


def indexes(member: ConsumerMember, topic: Topic) -> list[int]:
    """Return a member's partitions of one topic."""
    return [partition for topic_id, partition in member.owned if topic_id == topic.id]


def group_of(
    wire: Wire, count: int, *topics: Topic, version: int, assignor: str | None
) -> list[ConsumerMember]:
    """Return this many members, which share the partitions of these topics."""
    members = list(settled_pair(wire, *topics, version=version, assignor=assignor))
    while len(members) < count:
        joining = members[0].partner()
        joining.join()
        members.append(joining)
        settle(*members)
    return members


@pytest.mark.parametrize("assignor", ["uniform", None], ids=["uniform", "default"])
@case("GRP8-16", "ConsumerGroupHeartbeat", spec=UNIFORM, priority="P1")
def test_uniform_balances_over_all_topics(wire: Wire, version: int, assignor: str | None) -> None:
    """The uniform assignor, which is the default, gives members with the same subscription numbers
    of partitions, counted over all topics, that differ by at most one."""
    require_assignor(wire, "uniform", by_default=assignor is None)
    topics = [wire.create_topic(1), wire.create_topic(3), wire.create_topic(1)]
    members = group_of(wire, 3, *topics, version=version, assignor=assignor)
    expect(sorted(len(member.owned) for member in members), [1, 2, 2], "partitions of each")


@case("GRP8-16", "ConsumerGroupHeartbeat", spec=UNIFORM, priority="P1")
def test_uniform_heeds_different_subscriptions(wire: Wire, version: int) -> None:
    """No member gets partitions of a topic to which it does not subscribe, and every partition is
    assigned."""
    require_assignor(wire, "uniform")
    shared, own = wire.create_topic(4), wire.create_topic(1)
    both = ConsumerMember.stable(wire, shared, own, version=version, assignor="uniform")
    other = both.partner()
    other.topics = [shared]
    other.join()
    settle(both, other)
    expect(indexes(other, own), [], "partitions of a topic not subscribed to")
    expect_that(indexes(other, shared) != [], "partitions of the shared topic", "some", [])


@case("GRP8-16", "ConsumerGroupHeartbeat", spec=RANGE, priority="P1")
def test_range_gives_contiguous_partitions(wire: Wire, version: int) -> None:
    """The range assignor gives each member neighbouring partitions of each topic: the same ones
    for topics with the same number of partitions. Shares of one topic differ by at most one
    partition."""
    require_assignor(wire, "range")
    topics = [wire.create_topic(5), wire.create_topic(5)]
    members = group_of(wire, 2, *topics, version=version, assignor="range")
    shares = sorted(indexes(member, topics[0]) for member in members)
    expect(sorted(map(len, shares)), [2, 3], "partitions of one topic of each")
    expect(shares[0] + shares[1], [0, 1, 2, 3, 4], "partitions of one topic, member by member")
    for member in members:
        expect(indexes(member, topics[1]), indexes(member, topics[0]), "the same of both topics")


@case("GRP8-16", "ConsumerGroupHeartbeat", spec=RANGE, priority="P1")
def test_a_member_may_change_its_assignor(wire: Wire, version: int) -> None:
    """A heartbeat that names another assignor changes the group's, which computes the next target
    assignment."""
    require_assignor(wire, "uniform")
    require_assignor(wire, "range")
    topics = [wire.create_topic(3), wire.create_topic(3)]
    first = ConsumerMember.stable(wire, *topics, version=version, assignor="uniform")
    expect(first.describe().assignor_name, "uniform", "assignor before")
    first.assignor = "range"
    first.acknowledge(server_assignor="range")
    expect(first.describe().assignor_name, "range", "assignor")
    second = first.partner()
    second.join()
    settle(first, second)
    shares = sorted(len(member.owned) for member in (first, second))
    expect(shares, [2, 4], "partitions of each: by range, two of three of each topic go to one")
