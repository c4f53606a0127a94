"""The entries that decide about access. SEC-13.

Source: KIP-11 (deny beats allow, wildcards, hosts), KIP-290 (prefixes), StandardAuthorizerData.java
(implied operations), KIP-679 (a principal that may write may be idempotent).
"""

from __future__ import annotations

from typing import Any

import pytest

from conformance.case import case, expect, expect_that
from conformance.target.controlled import CONTROLLED, Guest, codes_in
from conformance.wire import Topic, Wire, part
from reference_impl.wire import ErrorCode
from reference_impl.wire.acls import AclOperation, AclPermissionType, PatternType, ResourceType

DENY = {"permission_type": AclPermissionType.DENY}
PREFIXED = {"resource_pattern_type": PatternType.PREFIXED}
READ, WRITE, DESCRIBE, ALL = (
    AclOperation.READ,
    AclOperation.WRITE,
    AclOperation.DESCRIBE,
    AclOperation.ALL,
)
TOPIC = ResourceType.TOPIC
LOOPBACK = "127.0.0.1"
SPEC = "KIP-11; StandardAuthorizerData.authorize"


def may_read(guest: Guest, topic: Topic) -> bool:
    """Return whether DescribeProducers, which needs READ, is served."""
    rows = [part("DescribeProducers", "TopicRequest", name=topic.name, partition_indexes=[0])]
    return allowed(codes_in(guest.call("DescribeProducers", topics=rows)))


def may_describe(guest: Guest, topic: Topic) -> bool:
    """Return whether Metadata shows the topic."""
    rows = [part("Metadata", "MetadataRequestTopic", name=topic.name)]
    return allowed(codes_in(guest.call("Metadata", topics=rows)))


def may_describe_configs(guest: Guest, topic: Topic) -> bool:
    """Return whether DescribeConfigs shows the topic's configuration."""
    row = part(
        "DescribeConfigs", "DescribeConfigsResource", resource_type=2, resource_name=topic.name
    )
    return allowed(codes_in(guest.call("DescribeConfigs", resources=[row])))


def allowed(codes: set[int]) -> bool:
    """Return whether an answer has no error; the only other expected outcome is the topic's
    refusal."""
    refused = codes == {ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    expect_that(refused or not codes, "error codes", "none, or 29", codes)
    return not refused


MATCHING: dict[str, dict[str, Any]] = {
    "literal": {},
    "all operations": {"operation": ALL},
    "every topic": {"name": "*"},
    "prefix": {"cut": 4, **PREFIXED},
    "prefix of the whole name": PREFIXED,
    "every user": {"principal": "User:*"},
    "this host": {"host": LOOPBACK},
}
OTHERS: dict[str, dict[str, Any]] = {
    "another operation": {"operation": WRITE},
    "a literal that is a prefix": {"cut": 1},
    "a longer prefix": {"longer": ".", **PREFIXED},
    "a prefix called *": {"name": "*", **PREFIXED},
    "another user": {"principal": "User:carol"},
    "a user with a wildcard in the name": {"principal": "User:ali*"},
    "another host": {"host": "127.0.0.2"},
}


def give(guest: Guest, topic: Topic, entry: dict[str, Any], **more: Any) -> None:
    """Grant or deny the guest what one entry of the tables above says."""
    fields = entry | more
    name = topic.name[: len(topic.name) - fields.pop("cut", 0)] + fields.pop("longer", "")
    guest.may(fields.pop("operation", READ), TOPIC, fields.pop("name", name), **fields)


def by_words(entry: str) -> str:
    return entry.replace(" ", "-")


@pytest.mark.parametrize("entry", MATCHING, ids=by_words)
@case("SEC-13", "CreateAcls", spec=SPEC, priority="P1", config=CONTROLLED)
def test_an_entry_that_speaks_of_the_request_allows_it(
    wire: Wire, alice: Guest, entry: str
) -> None:
    """An entry allows exactly what it states: the resource by its name, a prefix or the wildcard;
    the user or everyone; the host or every host; the operation or all of them."""
    topic = wire.create_topic()
    expect(may_read(alice, topic), False, "may read before")
    give(alice, topic, MATCHING[entry])
    expect(may_read(alice, topic), True, "may read")


@pytest.mark.parametrize("entry", MATCHING, ids=by_words)
@case("SEC-13", "CreateAcls", spec=SPEC, priority="P1", config=CONTROLLED)
def test_deny_beats_allow(wire: Wire, alice: Guest, entry: str) -> None:
    """An entry that denies, by whatever pattern, beats all that allow, however exact they are."""
    topic = wire.create_topic()
    give(alice, topic, {})
    give(alice, topic, MATCHING["all operations"])
    expect(may_read(alice, topic), True, "may read before")
    give(alice, topic, MATCHING[entry], **DENY)
    expect(may_read(alice, topic), False, "may read")


@pytest.mark.parametrize("entry", OTHERS, ids=by_words)
@case("SEC-13", "CreateAcls", spec=SPEC, priority="P1", config=CONTROLLED)
def test_an_entry_that_speaks_of_something_else_decides_nothing(
    wire: Wire, alice: Guest, entry: str
) -> None:
    """An entry about another name, user, host or operation neither allows nor denies."""
    topic = wire.create_topic()
    give(alice, topic, OTHERS[entry])
    expect(may_read(alice, topic), False, "may read by an entry that allows something else")
    give(alice, topic, {})
    give(alice, topic, OTHERS[entry], **DENY)
    expect(may_read(alice, topic), True, "may read beside an entry that denies something else")


@pytest.mark.parametrize(
    "operation",
    [READ, WRITE, AclOperation.DELETE, AclOperation.ALTER],
    ids=lambda operation: operation.name,
)
@case(
    "SEC-13",
    "CreateAcls",
    spec="StandardAuthorizerData, IMPLIES_DESCRIBE",
    priority="P1",
    config=CONTROLLED,
)
def test_who_may_use_a_topic_may_describe_it(
    wire: Wire, alice: Guest, operation: AclOperation
) -> None:
    """READ, WRITE, DELETE and ALTER imply DESCRIBE, but denying one of them does not deny it."""
    topic = wire.create_topic()
    alice.may(operation, TOPIC, topic.name)
    expect(may_describe(alice, topic), True, "may describe")
    alice.may(operation, TOPIC, topic.name, **DENY)
    expect(may_describe(alice, topic), True, "may describe, with something else denied")
    alice.may(DESCRIBE, TOPIC, topic.name, **DENY)
    expect(may_describe(alice, topic), False, "may describe, with DESCRIBE denied")


@case(
    "SEC-13",
    "CreateAcls",
    spec="StandardAuthorizerData, IMPLIES_DESCRIBE_CONFIGS",
    priority="P1",
    config=CONTROLLED,
)
def test_who_may_alter_a_configuration_may_describe_it(wire: Wire, alice: Guest) -> None:
    """ALTER_CONFIGS on a topic implies DESCRIBE_CONFIGS, and no other operation."""
    topic = wire.create_topic()
    alice.may(READ, TOPIC, topic.name)
    expect(may_describe_configs(alice, topic), False, "may describe configs by READ")
    alice.withdraw()
    alice.may(AclOperation.ALTER_CONFIGS, TOPIC, topic.name)
    expect(may_describe_configs(alice, topic), True, "may describe configs by ALTER_CONFIGS")
    expect(may_describe(alice, topic), False, "may describe by ALTER_CONFIGS")


@case("SEC-13", "CreateAcls", spec=SPEC, priority="P1", config=CONTROLLED)
def test_users_are_told_apart(wire: Wire, alice: Guest, bob: Guest) -> None:
    """A permission granted to one user, on one connection, is granted to no other."""
    topic = wire.create_topic()
    alice.may(READ, TOPIC, topic.name)
    expect((may_read(alice, topic), may_read(bob, topic)), (True, False), "may read")
    alice.may(READ, TOPIC, topic.name, principal="User:*")
    expect((may_read(alice, topic), may_read(bob, topic)), (True, True), "may read, everybody")
    bob.may(READ, TOPIC, topic.name, **DENY)
    expect((may_read(alice, topic), may_read(bob, topic)), (True, False), "may read, not bob")


@case("SEC-13", "DeleteAcls", spec=SPEC, priority="P1", config=CONTROLLED)
def test_what_is_taken_back_is_refused_on_an_open_connection(wire: Wire, alice: Guest) -> None:
    """A permission ends with its entry, also on connections that are already open."""
    topic = wire.create_topic()
    alice.may(READ, TOPIC, topic.name)
    expect(may_read(alice, topic), True, "may read")
    alice.withdraw()
    expect(may_read(alice, topic), False, "may read, the entry being deleted")


ANY_TOPIC: dict[str, tuple[tuple[tuple[AclOperation, str, dict[str, Any]], ...], bool]] = {
    "one topic": (((WRITE, "{0}", {}),), True),
    "a prefix": (((WRITE, "{0}", PREFIXED),), True),
    "every topic": (((ALL, "*", {}),), True),
    "read is not enough": (((READ, "{0}", {}),), False),
    "the one topic denied": (((WRITE, "{0}", {}), (WRITE, "{0}", DENY)), False),
    "another topic denied": (((WRITE, "{0}", {}), (WRITE, "{0}-2", DENY)), True),
    "its prefix denied": (((WRITE, "{0}-1", {}), (WRITE, "{0}", DENY | PREFIXED)), False),
    "every topic denied": (((WRITE, "{0}", {}), (ALL, "*", DENY)), False),
}


@pytest.mark.parametrize("entries", ANY_TOPIC, ids=by_words)
@case(
    "SEC-13",
    "InitProducerId",
    spec="KIP-679, Authorization; Authorizer.authorizeByResourceType",
    priority="P1",
    config=CONTROLLED,
)
def test_who_may_write_some_topic_may_be_idempotent(wire: Wire, alice: Guest, entries: str) -> None:
    """An idempotent producer needs IDEMPOTENT_WRITE of the cluster or, instead, WRITE of any topic
    that is not denied as well; else it gets CLUSTER_AUTHORIZATION_FAILED (31)."""
    granted, is_enough = ANY_TOPIC[entries]
    name = wire.new_name()
    for operation, pattern, fields in granted:
        alice.may(operation, TOPIC, pattern.format(name), **fields)
    codes = codes_in(alice.call("InitProducerId", transactional_id=None))
    refused = ErrorCode.CLUSTER_AUTHORIZATION_FAILED in codes
    expect(not refused, is_enough, "gets a producer id")
