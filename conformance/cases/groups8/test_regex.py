"""Subscription by regular expression (KIP-848, from version 1 of ConsumerGroupHeartbeat)."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.case import case, expect, expect_that
from conformance.clients.consumer_members import ConsumerMember, settle
from conformance.wire import Topic, Wire
from reference_impl.wire import ErrorCode

V1 = (1, 1)
SPEC = "KIP-848, Subscription by regex; ConsumerGroupHeartbeatRequest.json, SubscribedTopicRegex"


def member_by(wire: Wire, regex: str, *matching: Topic, version: int) -> ConsumerMember:
    """Return a member that has not joined yet and subscribes by this pattern alone; its partitions
    should be those of these topics."""
    return ConsumerMember.of(wire, *matching, version=version, regex=regex)


def matching_only(topic: Topic) -> str:
    """Return a regular expression, other than the plain name, that matches this topic only."""
    return f"{topic.name[:-1]}[{topic.name[-1]}]"


def join_by_regex(member: ConsumerMember, **changed: Any) -> None:
    member.join(subscribed_topic_names=None, **changed)


@case("GRP8-18", "ConsumerGroupHeartbeat", versions=V1, spec=SPEC, priority="P1")
def test_matching_topics_are_assigned(wire: Wire, version: int) -> None:
    """A member that subscribes by a regular expression gets the partitions of the topics whose
    whole name matches, and no others."""
    prefix = wire.new_name("regex")
    one, two, other = (
        wire.create_topic(2, name=f"{prefix}-{suffix}") for suffix in ("a1", "b2", "c")
    )
    longer = wire.create_topic(name=f"{prefix}-a1-longer")
    member = member_by(wire, f"{prefix}-[ab][0-9]", one, two, version=version)
    join_by_regex(member)
    settle(member)
    unwanted = {other.id, longer.id}
    expect([p for p in member.owned if p[0] in unwanted], [], "partitions that do not match")


@case("GRP8-18", "ConsumerGroupHeartbeat", versions=V1, spec=SPEC, priority="P1")
def test_names_and_a_regex_add_up(wire: Wire, version: int) -> None:
    """A member may subscribe by names and by a regular expression at once: it gets both."""
    matching, named = wire.create_topic(name=wire.new_name("regex")), wire.create_topic()
    member = member_by(wire, matching_only(matching), matching, named, version=version)
    member.join(subscribed_topic_names=[named.name])
    settle(member)


@case("GRP8-18", "ConsumerGroupHeartbeat", versions=V1, spec=SPEC, priority="P1")
def test_a_subscription_may_become_a_regex(wire: Wire, version: int) -> None:
    """A member that replaces its names by a regular expression gets the matching topics instead."""
    old, new = wire.create_topic(), wire.create_topic(name=wire.new_name("regex"))
    member = ConsumerMember.stable(wire, old, version=version)
    epoch = member.epoch
    member.topics, member.regex = [new], matching_only(new)
    member.acknowledge(**(member.subscription() | {"subscribed_topic_names": []}))
    settle(member)
    expect_that(member.epoch > epoch, "epoch", f"more than {epoch}", member.epoch)


@pytest.mark.parametrize("regex", ["topic[", "(?=ahead)a", "*"], ids=["open", "lookahead", "star"])
@case("GRP8-18", "ConsumerGroupHeartbeat", versions=V1, spec=SPEC, priority="P1")
def test_a_bad_regex_is_refused(wire: Wire, version: int, regex: str) -> None:
    """An expression that RE2 does not accept gets INVALID_REGULAR_EXPRESSION (128), and its sender
    does not become a member."""
    member = member_by(wire, regex, version=version)
    answer = member.try_to_join(subscribed_topic_names=None)
    expect(answer.error_code, ErrorCode.INVALID_REGULAR_EXPRESSION, "heartbeat error")
    found = member.described()
    expect(
        (found.error_code, len(found.members)),
        (ErrorCode.GROUP_ID_NOT_FOUND, 0),
        "(describe error, members)",
    )
