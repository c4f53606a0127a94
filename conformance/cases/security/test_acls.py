"""Creating, finding and deleting ACLs. SEC-11, SEC-12.

Source: KIP-140, KIP-290; AclControlManager.java, ResourcePatternFilter.java.
"""

from __future__ import annotations

from typing import Any

import pytest

from conformance.case import Unsupported, case, expect, expect_that
from conformance.cases.security.secured_wire import expect_not_served
from conformance.target.controlled import (
    CONTROLLED,
    EVERYTHING,
    Guest,
    acl,
    create,
    delete,
    described,
)
from conformance.target.examination import Examined
from conformance.wire import Wire, part
from reference_impl.wire import ErrorCode, Struct
from reference_impl.wire.acls import (
    CLUSTER_NAME,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)

ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
Said = tuple[int, str, int, str, str, int, int]


def said(resources: list[Struct]) -> list[Said]:
    """Return all fields of every entry in a DescribeAcls response, sorted."""
    return sorted(
        (
            resource.resource_type,
            resource.resource_name,
            resource.pattern_type,
            entry.principal,
            entry.host,
            entry.operation,
            entry.permission_type,
        )
        for resource in resources
        for entry in resource.acls
    )


def said_of(result: Struct) -> list[Said]:
    """Return all fields of every entry that one DeleteAcls filter deleted, sorted. Fail unless all
    were deleted."""
    errors = [entry.error_code for entry in result.matching_acls]
    expect(errors, [0] * len(errors), "errors of the entries deleted")
    return sorted(
        (
            entry.resource_type,
            entry.resource_name,
            entry.pattern_type,
            entry.principal,
            entry.host,
            entry.operation,
            entry.permission_type,
        )
        for entry in result.matching_acls
    )


@case("SEC-11", "CreateAcls", spec="KIP-140; AclApis.handleCreateAcls", priority="P1")
def test_without_an_authorizer_security_is_disabled(
    wire: Wire, examined: Examined, version: int
) -> None:
    """Without an authorizer CreateAcls, DescribeAcls and DeleteAcls get SECURITY_DISABLED (54)."""
    answer = wire.call("DescribeAcls", version, **EVERYTHING)
    if examined.start_with is None and answer.error_code != ErrorCode.SECURITY_DISABLED:
        raise Unsupported("the target has an authorizer, and its configuration is not ours")
    expect(answer.error_code, ErrorCode.SECURITY_DISABLED, "DescribeAcls error")
    row = acl(
        resource_type=TOPIC, resource_name="t", principal="User:x", operation=AclOperation.READ
    )
    expect(create(wire, row, row, version=version), [ErrorCode.SECURITY_DISABLED] * 2, "creations")
    filters = [part("DeleteAcls", "DeleteAclsFilter", **EVERYTHING)]
    (result,) = wire.call("DeleteAcls", version, filters=filters).filter_results
    expect(result.error_code, ErrorCode.SECURITY_DISABLED, "error of the filter")


@case("SEC-11", "CreateAcls", spec="KIP-140; KIP-801", priority="P1", config=CONTROLLED)
def test_an_acl_is_described_as_it_was_created_and_once(
    wire: Wire, alice: Guest, version: int
) -> None:
    """An entry that is created, in one request or two, more than once, is described once, with all
    its fields; a deletion lists it, and then it is gone."""
    name = wire.new_name()
    row = acl(
        resource_type=GROUP,
        resource_name=name,
        resource_pattern_type=PREFIXED,
        principal="User:CN=x,O=y",
        host="10.0.0.1",
        operation=AclOperation.ALL,
        permission_type=DENY,
    )
    expect(create(wire, row, row, version=version), [ErrorCode.NONE] * 2, "creations")
    expect(create(wire, row, version=version), [ErrorCode.NONE], "creation of what exists")
    alice.may(AclOperation.READ, GROUP, name)  # visible, so the one before is
    mine = {"resource_name_filter": name, "principal_filter": "User:CN=x,O=y"}
    whole: Said = (GROUP, name, PREFIXED, "User:CN=x,O=y", "10.0.0.1", AclOperation.ALL, DENY)
    expect(said(described(wire, version, **mine)), [whole], "entries")
    (result,) = delete(wire, mine, version=version)
    expect(said_of(result), [whole], "deleted entries")
    (result,) = delete(wire, mine, version=version)
    expect((result.error_code, said_of(result)), (ErrorCode.NONE, []), "deleted once more")


FILTERS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "all": ({}, {"literal", "prefixed", "other", "group", "denied", "elsewhere"}),
    "name": ({"resource_name_filter": "{0}-orders"}, {"literal", "group", "denied", "elsewhere"}),
    "name, literal": (
        {"resource_name_filter": "{0}-orders", "pattern_type_filter": LITERAL},
        {"literal", "group", "denied", "elsewhere"},
    ),
    "name, prefixed": (
        {"resource_name_filter": "{0}-orders", "pattern_type_filter": PREFIXED},
        set(),
    ),
    "prefix": ({"resource_name_filter": "{0}-ord", "pattern_type_filter": PREFIXED}, {"prefixed"}),
    "match": (
        {"resource_name_filter": "{0}-orders", "pattern_type_filter": PatternType.MATCH},
        {"literal", "prefixed", "group", "denied", "elsewhere"},
    ),
    "match longer": (
        {"resource_name_filter": "{0}-orders.eu", "pattern_type_filter": PatternType.MATCH},
        {"prefixed"},
    ),
    "type": ({"resource_type_filter": GROUP}, {"group"}),
    "operation": ({"operation": AclOperation.WRITE}, {"other"}),
    "permission": ({"permission_type": DENY}, {"denied"}),
    "host": ({"host_filter": "10.0.0.1"}, {"elsewhere"}),
    "any host": ({"host_filter": "*"}, {"literal", "prefixed", "other", "group", "denied"}),
    "unknown operation": ({"operation": 100}, set()),
}
"""Filter -> the entries below that it matches. {0}: a name of the case."""


@pytest.mark.parametrize("asked", FILTERS, ids=lambda asked: asked.replace(" ", "-"))
@case(
    "SEC-11",
    "DescribeAcls",
    spec="KIP-290, Public Interfaces; ResourcePatternFilter.matches",
    priority="P1",
    config=CONTROLLED,
)
def test_a_filter_finds_and_deletes_exactly_what_it_says(
    wire: Wire, alice: Guest, asked: str
) -> None:
    """DescribeAcls and DeleteAcls match the same entries: those that have the filter's fields. ANY
    and null match everything; MATCH every literal, prefixed and wildcard pattern of the name. A
    type that does not exist matches nothing, and DeleteAcls answers it with INVALID_REQUEST
    (42)."""
    name, read = wire.new_name(), AclOperation.READ
    entries: dict[str, dict[str, Any]] = {
        "literal": {"resource_name": f"{name}-orders"},
        "prefixed": {"resource_name": f"{name}-ord", "resource_pattern_type": PREFIXED},
        "other": {"resource_name": f"{name}-payments", "operation": AclOperation.WRITE},
        "group": {"resource_name": f"{name}-orders", "resource_type": GROUP},
        "denied": {"resource_name": f"{name}-orders", "permission_type": DENY},
        "elsewhere": {"resource_name": f"{name}-orders", "host": "10.0.0.1"},
    }
    principal = f"User:{name}"
    for fields in entries.values():
        fields = {"resource_type": TOPIC, "operation": read} | fields
        alice.may(
            fields.pop("operation"),
            fields.pop("resource_type"),
            fields.pop("resource_name"),
            principal=principal,
            **fields,
        )
    whole = {
        key: (
            f.get("resource_type", TOPIC),
            f["resource_name"],
            f.get("resource_pattern_type", LITERAL),
            principal,
            f.get("host", "*"),
            f.get("operation", read),
            f.get("permission_type", ALLOW),
        )
        for key, f in entries.items()
    }
    fields, meant = FILTERS[asked]
    wanted = {"principal_filter": principal} | {
        key: value.format(name) if isinstance(value, str) else value
        for key, value in fields.items()
    }
    expected = sorted(whole[key] for key in meant)
    expect(said(described(wire, **wanted)), expected, "entries found")
    (result,) = delete(wire, wanted)
    unknown = 100 in fields.values()
    expect(result.error_code, ErrorCode.INVALID_REQUEST if unknown else ErrorCode.NONE, "deletion")
    expect(said_of(result), expected, "entries deleted")
    rest = sorted(set(whole.values()) - set(expected))
    expect(said(described(wire, principal_filter=principal)), rest, "entries left")


@case("SEC-11", "DeleteAcls", spec="KIP-140", priority="P1", config=CONTROLLED)
def test_an_acl_that_two_filters_mean_is_named_by_both(wire: Wire, alice: Guest) -> None:
    """Each filter of a DeleteAcls lists every entry that it matches, also those that another filter
    has deleted."""
    name = wire.new_name()
    alice.may(AclOperation.READ, TOPIC, name)
    both = delete(wire, {"resource_name_filter": name}, {"resource_name_filter": name})
    expect([len(said_of(result)) for result in both], [1, 1], "entries by filter")
    expect(said(described(wire, resource_name_filter=name)), [], "entries left")


@case(
    "SEC-11", "CreateAcls", spec="KIP-801", priority="P1", requires=["restart"], config=CONTROLLED
)
def test_acls_survive_a_kill(wire: Wire, examined: Examined, alice: Guest) -> None:
    """Entries created before a kill -9 are there after it, and deleted ones are not."""
    kept, gone = wire.new_name(), wire.new_name()
    alice.may(AclOperation.READ, TOPIC, kept)
    alice.may(AclOperation.READ, TOPIC, gone)
    delete(wire, {"resource_name_filter": gone})
    examined.kill_and_restart()
    wire.forget_connections()
    found = {resource.resource_name for resource in described(wire)}
    expect(sorted(found & {kept, gone}), [kept], "entries")


REFUSED: dict[str, dict[str, Any]] = {
    "unknown resource type": {"resource_type": 100},
    "unknown pattern type": {"resource_pattern_type": 100},
    "unknown operation": {"operation": 100},
    "unknown permission": {"permission_type": 100},
    "empty resource name": {"resource_name": ""},
    "another cluster": {"resource_type": ResourceType.CLUSTER, "resource_name": "mine"},
    "principal without type": {"principal": "alice"},
    "empty principal": {"principal": ""},
}


@pytest.mark.parametrize("wrong", REFUSED, ids=lambda wrong: wrong.replace(" ", "-"))
@case(
    "SEC-12",
    "CreateAcls",
    spec="AclControlManager.validateNewAcl; AclApis.handleCreateAcls",
    priority="P1",
    config=CONTROLLED,
)
def test_a_bad_acl_is_refused_and_the_one_beside_it_created(
    wire: Wire, alice: Guest, wrong: str
) -> None:
    """An entry with an unknown type, operation or permission, without a name, about another
    cluster, or whose principal has no type gets INVALID_REQUEST (42); the others are created."""
    name = wire.new_name()
    good = {
        "resource_type": TOPIC,
        "resource_name": name,
        "principal": alice.principal,
        "operation": AclOperation.READ,
    }
    codes = create(wire, acl(**(good | REFUSED[wrong])), acl(**good))
    expect(codes, [ErrorCode.INVALID_REQUEST, ErrorCode.NONE], "creations")
    alice.may(AclOperation.READ, TOPIC, name)
    expect(len(said(described(wire, resource_name_filter=name))), 1, "entries")


@pytest.mark.parametrize(
    "wrong",
    [
        {"resource_type": ResourceType.ANY},
        {"resource_pattern_type": PatternType.ANY},
        {"resource_pattern_type": PatternType.MATCH},
        {"operation": AclOperation.ANY},
        {"permission_type": AclPermissionType.ANY},
    ],
    ids=lambda wrong: "-".join(f"{key}-{value.name}" for key, value in wrong.items()),
)
@case(
    "SEC-12",
    "CreateAcls",
    spec="KIP-140; AccessControlEntry.java, ResourcePattern.java",
    priority="P1",
    config=CONTROLLED,
)
def test_what_only_filters_may_say_creates_nothing(wire: Wire, wrong: dict[str, int]) -> None:
    """ANY and MATCH belong to filters: an entry with one of them gets INVALID_REQUEST (42) or
    UNKNOWN_SERVER_ERROR (-1), and nothing is created."""
    name = wire.new_name()
    good = {
        "resource_type": TOPIC,
        "resource_name": name,
        "principal": "User:x",
        "operation": AclOperation.READ,
    }
    # Apache Kafka 4.3.1 stumbles over it and answers UNKNOWN_SERVER_ERROR for the whole request.
    (code,) = create(wire, acl(**(good | wrong)))
    expect(code, {ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_SERVER_ERROR}, "creation")
    expect(said(described(wire, resource_name_filter=name)), [], "entries")


@pytest.mark.parametrize(
    "field", ["resource_type", "resource_pattern_type", "operation", "permission_type"]
)
@case("SEC-12", "CreateAcls", spec="CreateAclsRequest.validate", priority="P1", config=CONTROLLED)
def test_an_acl_of_type_0_closes_the_connection(wire: Wire, field: str) -> None:
    """The code 0 stands for UNKNOWN: a request with it is not well formed, and the connection is
    closed; nothing is created."""
    name = wire.new_name()
    fields = {
        "resource_type": TOPIC,
        "resource_name": name,
        "principal": "User:x",
        "operation": AclOperation.READ,
        field: 0,
    }
    expect_not_served(
        wire.connect(), "CreateAcls", wire.version("CreateAcls"), creations=[acl(**fields)]
    )
    expect(said(described(wire, resource_name_filter=name)), [], "entries")


@case("SEC-12", "CreateAcls", spec="AclApis.handleCreateAcls", priority="P1", config=CONTROLLED)
def test_the_cluster_has_one_name(wire: Wire, alice: Guest) -> None:
    """The resource of type CLUSTER is called kafka-cluster."""
    alice.may(AclOperation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)
    found = described(wire, principal_filter=alice.principal)
    expect_that(len(found) == 1, "resources", "kafka-cluster", found)
