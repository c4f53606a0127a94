"""ACLs: what may be said, how it is found again, and what follows from it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from reference_impl.core.configs.broker import STANDARD_AUTHORIZER, BrokerConfig
from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.handlers import delete_acls
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, Struct, definition, request_definition
from reference_impl.wire.acls import AclOperation, AclPermissionType, PatternType, ResourceType

ADMIN, ALICE, BOB = 1, 2, 3
CONTROLLED = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:admin; User:root"}


def controlled(**config: str) -> World:
    """Return a world in which only the admin may do anything so far."""
    world = World({**CONTROLLED, **config})
    sign_in(world)
    return world


def sign_in(world: World) -> None:
    """Authenticate the connections as their users."""
    for client, name in ((ADMIN, "admin"), (ALICE, "alice"), (BOB, "bob")):
        world.node.broker.principals.authenticated(client, f"User:{name}")


def entry(**fields: Any) -> Struct:
    """Return an ACL entry: by default, Alice may read the topic `orders`."""
    defaults: dict[str, Any] = {
        "resource_type": ResourceType.TOPIC,
        "resource_name": "orders",
        "resource_pattern_type": PatternType.LITERAL,
        "principal": "User:alice",
        "host": "*",
        "operation": AclOperation.READ,
        "permission_type": AclPermissionType.ALLOW,
    }
    of = request_definition(ApiKey.CREATE_ACLS)
    return of.struct("AclCreation", **{**defaults, **fields})


def create(world: World, *entries: Struct, client: int = ADMIN) -> list[int]:
    """Add entries and return the error of each."""
    answer = world.call(ApiKey.CREATE_ACLS, 3, client=client, creations=list(entries))
    return [row.error_code for row in answer.results]


def wanted(**fields: Any) -> dict[str, Any]:
    """Return a filter that matches every entry unless a field is given."""
    everything: dict[str, Any] = {
        "resource_type_filter": ResourceType.ANY,
        "resource_name_filter": None,
        "pattern_type_filter": PatternType.ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": AclOperation.ANY,
        "permission_type": AclPermissionType.ANY,
    }
    return {**everything, **fields}


def names(world: World, **fields: Any) -> list[str]:
    """Return the resource names of the entries that a filter finds."""
    answer = world.call(ApiKey.DESCRIBE_ACLS, 3, client=ADMIN, **wanted(**fields))
    assert answer.error_code == ErrorCode.NONE
    return sorted(row.resource_name for row in answer.resources for _ in row.acls)


def delete(world: World, *filters: dict[str, Any]) -> list[Struct]:
    """Delete what the filters find; the result of each."""
    of = request_definition(ApiKey.DELETE_ACLS)
    rows = [of.struct("DeleteAclsFilter", **fields) for fields in filters]
    results: list[Struct] = world.call(
        ApiKey.DELETE_ACLS, 3, client=ADMIN, filters=rows
    ).filter_results
    return results


def test_without_an_authorizer_entries_are_refused_as_security_disabled() -> None:
    world = World()
    assert create(world, entry(), entry()) == [ErrorCode.SECURITY_DISABLED] * 2
    answer = world.call(ApiKey.DESCRIBE_ACLS, 3, **wanted())
    assert answer.error_code == ErrorCode.SECURITY_DISABLED
    assert [row.error_code for row in delete(world, wanted())] == [ErrorCode.SECURITY_DISABLED]


def test_an_entry_is_found_once_however_often_it_was_created() -> None:
    world = controlled()
    assert create(world, entry(), entry()) == [0, 0]
    assert create(world, entry()) == [0]
    assert names(world) == ["orders"]


@pytest.mark.parametrize("end", ["restart", "kill", "lose_power"])
def test_entries_survive(end: str) -> None:
    world = controlled()
    create(world, entry(), entry(resource_name="gone"))
    delete(world, wanted(resource_name_filter="gone"))
    getattr(world, end)()
    sign_in(world)
    assert names(world) == ["orders"]


@pytest.mark.parametrize(
    "fields",
    [
        {"resource_type": ResourceType.ANY},
        {"resource_type": 99},
        {"resource_pattern_type": PatternType.ANY},
        {"resource_pattern_type": PatternType.MATCH},
        {"resource_pattern_type": 99},
        {"operation": AclOperation.ANY},
        {"operation": 99},
        {"permission_type": AclPermissionType.ANY},
        {"permission_type": 99},
        {"resource_name": ""},
        {"resource_type": ResourceType.CLUSTER, "resource_name": "mine"},
        {"principal": "alice"},
        {"principal": ""},
    ],
    ids=str,
)
def test_a_bad_entry_is_refused_and_its_neighbour_is_created(fields: dict[str, Any]) -> None:
    world = controlled()
    assert create(world, entry(**fields), entry()) == [ErrorCode.INVALID_REQUEST, 0]
    assert names(world) == ["orders"]


@pytest.mark.parametrize(
    "field", ["resource_type", "resource_pattern_type", "operation", "permission_type"]
)
def test_a_type_unknown_closes_the_connection(field: str) -> None:
    world = controlled()
    body = request_definition(ApiKey.CREATE_ACLS).new(creations=[entry(), entry(**{field: 0})])
    world.send(ApiKey.CREATE_ACLS, 3, body)
    assert ADMIN in world.closed
    assert names(world) == []


PATTERNS = (
    entry(resource_name="orders"),
    entry(resource_name="order", resource_pattern_type=PatternType.PREFIXED),
    entry(resource_name="*"),
    entry(resource_name="payments"),
    entry(resource_name="orders", resource_type=ResourceType.GROUP, principal="User:bob"),
)


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, ["*", "order", "orders", "orders", "payments"]),
        ({"resource_name_filter": "orders"}, ["orders", "orders"]),
        (
            {"resource_name_filter": "orders", "pattern_type_filter": PatternType.MATCH},
            ["*", "order", "orders", "orders"],
        ),
        ({"pattern_type_filter": PatternType.PREFIXED}, ["order"]),
        ({"pattern_type_filter": PatternType.LITERAL, "resource_name_filter": "order"}, []),
        ({"resource_type_filter": ResourceType.GROUP}, ["orders"]),
        ({"principal_filter": "User:bob"}, ["orders"]),
        ({"host_filter": "1.2.3.4"}, []),
        ({"operation": AclOperation.WRITE}, []),
        ({"permission_type": AclPermissionType.DENY}, []),
        ({"operation": 99}, []),
    ],
    ids=str,
)
def test_a_filter_finds_and_deletes_exactly(fields: dict[str, Any], found: list[str]) -> None:
    world = controlled()
    create(world, *PATTERNS)
    assert names(world, **fields) == found
    (result,) = delete(world, wanted(**fields))
    is_known = 99 not in fields.values()
    assert result.error_code == (ErrorCode.NONE if is_known else ErrorCode.INVALID_REQUEST)
    assert sorted(acl.resource_name for acl in result.matching_acls) == found
    assert len(names(world)) == len(PATTERNS) - len(found)


def test_an_entry_that_two_filters_mean_is_named_by_both_and_goes_once() -> None:
    world = controlled()
    create(world, entry())
    assert [len(row.matching_acls) for row in delete(world, wanted(), wanted())] == [1, 1]
    assert names(world) == []


def test_equal_filters_share_one_result_and_all_results_the_row_of_an_entry() -> None:
    """Each filter that matches everything took memory for every entry of the cluster."""
    world = controlled()
    create(world, *PATTERNS)
    results = delete(world, wanted(), wanted(), wanted(resource_type_filter=ResourceType.TOPIC))
    assert results[0] is results[1]
    rows = [row for result in results for row in result.matching_acls]
    assert (len(rows), len({id(row) for row in rows})) == (14, 5)


def test_filters_are_refused_after_those_that_fill_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(delete_acls, "ANSWER_BYTES_MAX", 250)
    world = controlled()
    create(world, *PATTERNS)
    only = wanted(resource_name_filter="payments")
    results = delete(world, wanted(host_filter="1.2.3.4"), wanted(), wanted(), only)
    assert [len(row.matching_acls) for row in results] == [0, 5, 5, 0]
    assert [row.error_code for row in results] == [0, 0, 0, ErrorCode.INVALID_REQUEST]
    assert names(world) == []


def test_who_may_not_alter_the_cluster_changes_no_entry() -> None:
    world = controlled()
    assert create(world, entry(), client=ALICE) == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    answer = world.call(ApiKey.DESCRIBE_ACLS, 3, client=ALICE, **wanted())
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert names(world) == []


def test_a_super_user_that_is_no_principal_stops_the_broker() -> None:
    with pytest.raises(BadConfig, match=r"super\.users: admin is not a principal; write each"):
        BrokerConfig.of({"super.users": "admin"})


def test_another_authorizer_stops_the_broker() -> None:
    with pytest.raises(BadConfig, match=r"authorizer\.class\.name"):
        BrokerConfig.of({"authorizer.class.name": "com.example.Mine"})


def test_an_entry_of_a_newer_kafka_is_kept_and_allows_nothing() -> None:
    """Its operation is not known here; so it is none that anybody is asked for."""
    world = controlled()
    record = definition("AccessControlEntryRecord").new(
        id=UUID(int=1),
        resource_type=ResourceType.TOPIC,
        resource_name="orders",
        pattern_type=PatternType.LITERAL,
        principal="User:alice",
        host="*",
        operation=99,
        permission_type=AclPermissionType.ALLOW,
    )
    world.node.broker.controller.write([record])
    world.restart()
    sign_in(world)
    assert names(world) == ["orders"]
    access = world.node.broker.access
    assert access.authorizer is not None
    assert not access.authorizer.allows(
        "User:alice", "1.2.3.4", AclOperation.READ, ResourceType.TOPIC, "orders"
    )
