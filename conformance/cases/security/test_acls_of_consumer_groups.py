"""The topics that a member of a consumer group may subscribe to. GRP8-29.

Source: KIP-848, ConsumerGroupHeartbeat API; KafkaApis.handleConsumerGroupHeartbeat.
"""

from __future__ import annotations

from conformance.case import case, expect
from conformance.clients.consumer_members import ConsumerMember, settle
from conformance.target.controlled import CONTROLLED, Guest
from conformance.wire import Wire
from reference_impl.wire import ErrorCode
from reference_impl.wire.acls import AclOperation, ResourceType

SPEC = "KIP-848, ConsumerGroupHeartbeat API; KafkaApis.handleConsumerGroupHeartbeat"


@case("GRP8-29", "ConsumerGroupHeartbeat", spec=SPEC, priority="P2", config=CONTROLLED)
def test_a_hidden_topic_is_not_subscribed_to(wire: Wire, version: int, alice: Guest) -> None:
    """A member that subscribes to a topic without DESCRIBE gets TOPIC_AUTHORIZATION_FAILED (29),
    one without READ on the group GROUP_AUTHORIZATION_FAILED (30); with both permissions it joins.
    """
    topic = wire.create_topic(2)
    member = ConsumerMember.of(wire, topic, version=version)
    member.connection = alice.connection
    refusal = member.try_to_join()
    expect(refusal.error_code, ErrorCode.GROUP_AUTHORIZATION_FAILED, "error without the group")
    alice.may(AclOperation.READ, ResourceType.GROUP, member.group)
    refusal = member.try_to_join()
    expect(refusal.error_code, ErrorCode.TOPIC_AUTHORIZATION_FAILED, "error without the topic")
    alice.may(AclOperation.DESCRIBE, ResourceType.TOPIC, topic.name)
    member.join()
    settle(member)


@case(
    "GRP8-29",
    "ConsumerGroupHeartbeat",
    versions=(1, 1),
    spec=SPEC,
    priority="P2",
    config=CONTROLLED,
)
def test_a_regex_does_not_find_hidden_topics(wire: Wire, version: int, alice: Guest) -> None:
    """A member that subscribes by a regular expression gets only those matching topics that it may
    DESCRIBE."""
    prefix = wire.new_name("regex")
    shown, _hidden = (wire.create_topic(name=f"{prefix}-{suffix}") for suffix in ("a", "b"))
    member = ConsumerMember.of(wire, shown, version=version, regex=f"{prefix}-.")
    member.connection = alice.connection
    alice.may(AclOperation.READ, ResourceType.GROUP, member.group)
    alice.may(AclOperation.DESCRIBE, ResourceType.TOPIC, shown.name)
    member.join(subscribed_topic_names=None)
    settle(member)
