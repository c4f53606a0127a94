"""The rules of the standard authorizer, one by one, and against a slow second version of them."""

from __future__ import annotations

import time
from random import Random
from uuid import UUID

import pytest

from reference_impl.core.security.authorization.acls import Acl, Acls, covers
from reference_impl.core.security.authorization.authorizer import Authorizer
from reference_impl.wire.acls import AclOperation, AclPermissionType, PatternType, ResourceType

ALICE, HOST = "User:alice", "10.0.0.1"
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
READ, WRITE, DESCRIBE, ALL = (
    AclOperation.READ,
    AclOperation.WRITE,
    AclOperation.DESCRIBE,
    AclOperation.ALL,
)


def acl(
    permission: AclPermissionType = ALLOW,
    operation: AclOperation = READ,
    name: str = "orders",
    pattern_type: PatternType = LITERAL,
    principal: str = ALICE,
    host: str = "*",
) -> Acl:
    """Return an entry about topics."""
    return Acl(ResourceType.TOPIC, name, pattern_type, principal, host, operation, permission)


def authorizer(*entries: Acl, super_users: str = "", if_no_acl: bool = False) -> Authorizer:
    """Return an authorizer with these entries."""
    acls = Acls()
    for number, each in enumerate(entries):
        acls.add(UUID(int=number), each)
    return Authorizer(acls, frozenset([super_users]), if_no_acl)


def allows(of: Authorizer, operation: AclOperation = READ, name: str = "orders") -> bool:
    """Return whether alice may do this."""
    return of.allows(ALICE, HOST, operation, ResourceType.TOPIC, name)


@pytest.mark.parametrize(
    "entry",
    [
        acl(),
        acl(operation=ALL),
        acl(name="*"),
        acl(name="ord", pattern_type=PREFIXED),
        acl(name="orders", pattern_type=PREFIXED),
        acl(principal="User:*"),
        acl(host=HOST),
    ],
    ids=str,
)
def test_an_entry_that_speaks_of_the_request_allows_or_denies_it(entry: Acl) -> None:
    assert allows(authorizer(entry))
    denial = acl(
        DENY, entry.operation, entry.resource_name, entry.pattern_type, entry.principal, entry.host
    )
    assert not allows(authorizer(acl(), acl(operation=ALL, name="*"), denial))


@pytest.mark.parametrize(
    "entry",
    [
        acl(operation=WRITE),
        acl(name="order"),
        acl(name="orders.eu"),
        acl(name="orders.", pattern_type=PREFIXED),
        acl(name="*", pattern_type=PREFIXED),
        acl(principal="User:bob"),
        acl(principal="User:alic*"),
        acl(host="10.0.0.2"),
    ],
    ids=str,
)
def test_an_entry_that_speaks_of_something_else_does_nothing(entry: Acl) -> None:
    assert not allows(authorizer(entry))
    denial = acl(
        DENY, entry.operation, entry.resource_name, entry.pattern_type, entry.principal, entry.host
    )
    assert allows(authorizer(acl(), denial))


@pytest.mark.parametrize(
    "operation", [READ, WRITE, AclOperation.DELETE, AclOperation.ALTER, DESCRIBE, ALL]
)
def test_who_may_do_something_may_look(operation: AclOperation) -> None:
    assert allows(authorizer(acl(operation=operation)), DESCRIBE)


@pytest.mark.parametrize("operation", [AclOperation.CREATE, AclOperation.ALTER_CONFIGS])
def test_other_operations_imply_no_look(operation: AclOperation) -> None:
    assert not allows(authorizer(acl(operation=operation)), DESCRIBE)


def test_altering_configs_implies_describing_them_and_nothing_else_does() -> None:
    of = authorizer(acl(operation=AclOperation.ALTER_CONFIGS))
    assert allows(of, AclOperation.DESCRIBE_CONFIGS)
    assert not allows(authorizer(acl(operation=READ)), AclOperation.DESCRIBE_CONFIGS)


def test_a_prohibition_implies_nothing() -> None:
    of = authorizer(acl(DENY, READ), acl(ALLOW, WRITE))
    assert not allows(of, READ)
    assert allows(of, DESCRIBE)


def test_a_super_user_may_do_what_is_denied() -> None:
    assert allows(authorizer(acl(DENY, ALL, principal="User:*"), super_users=ALICE))


def test_without_any_entry_for_the_resource_the_configuration_decides() -> None:
    other = acl(name="payments")
    assert not allows(authorizer(other))
    assert allows(authorizer(other, if_no_acl=True))
    # One entry, for whomever, ends that.
    assert not allows(authorizer(acl(principal="User:bob"), if_no_acl=True))
    assert not allows(authorizer(acl(name="*", principal="User:bob"), if_no_acl=True))


@pytest.mark.parametrize(
    ("entries", "somewhere"),
    [
        ([], False),
        ([acl(operation=WRITE)], True),
        ([acl(operation=ALL, name="*")], True),
        ([acl(operation=READ)], False),
        ([acl(operation=WRITE, principal="User:bob")], False),
        ([acl(operation=WRITE), acl(DENY, WRITE)], False),
        ([acl(operation=WRITE), acl(DENY, WRITE, "payments")], True),
        ([acl(operation=WRITE), acl(DENY, WRITE, "*")], False),
        ([acl(operation=WRITE), acl(DENY, WRITE, "ord", PREFIXED)], False),
        ([acl(operation=WRITE, name="or", pattern_type=PREFIXED), acl(DENY, ALL, "or")], True),
        (
            [
                acl(operation=WRITE, name="ord", pattern_type=PREFIXED),
                acl(DENY, ALL, "or", PREFIXED),
            ],
            False,
        ),
        ([acl(operation=WRITE, name="*"), acl(DENY, ALL, "or", PREFIXED)], True),
    ],
    ids=str,
)
def test_whether_any_topic_may_be_written(entries: list[Acl], somewhere: bool) -> None:
    of = authorizer(*entries)
    assert of.allows_somewhere(ALICE, HOST, WRITE, ResourceType.TOPIC) is somewhere


def slowly(entries: list[Acl], operation: AclOperation, name: str) -> bool:
    """Evaluate the authorization rules in the simplest way, over all entries."""
    about = [each for each in entries if covers(each, name) and each.is_about(ALICE, HOST)]
    implied = {operation, ALL} | ({READ, WRITE} if operation is DESCRIBE else set())
    denied = any(e.permission is DENY and e.operation in (operation, ALL) for e in about)
    return not denied and any(e.permission is ALLOW and e.operation in implied for e in about)


def test_random_entries_are_judged_as_the_slow_version_judges_them() -> None:
    rng = Random("acls")
    seen = set()
    for _ in range(400):
        entries = [
            acl(
                rng.choice((ALLOW, ALLOW, DENY)),
                rng.choice((READ, WRITE, DESCRIBE, ALL)),
                rng.choice(("a", "ab", "abc", "b", "*")),
                rng.choice((LITERAL, PREFIXED)),
                rng.choice((ALICE, "User:*", "User:bob")),
                rng.choice(("*", HOST, "10.0.0.2")),
            )
            for _ in range(rng.randrange(6))
        ]
        of = authorizer(*entries)
        for name in ("a", "ab", "abcd", "c"):
            for operation in (READ, WRITE, DESCRIBE):
                expected = slowly(entries, operation, name)
                assert allows(of, operation, name) is expected, (entries, name, operation)
                seen.add(expected)
    assert seen == {True, False}


def test_a_prefix_counts_until_the_last_entry_with_it_is_gone() -> None:
    acls = Acls()
    of = Authorizer(acls, frozenset())
    alice, everybody = (
        acl(name="ord", pattern_type=PREFIXED, principal=principal)
        for principal in (ALICE, "User:*")
    )
    for number, each in enumerate((alice, everybody)):
        acls.add(UUID(int=number), each)
    acls.remove(UUID(int=0))
    assert allows(of)
    acls.remove(UUID(int=1))
    assert not allows(of)
    acls.add(UUID(int=2), alice)
    assert allows(of)


def test_names_of_32_kb_cost_little_however_many_there_are() -> None:
    """A client may ask for names that no topic can have; every prefix of each was looked up."""
    of = authorizer(*(acl(name="o" * n, pattern_type=PREFIXED) for n in range(1, 50)))
    names = [f"{n}{'o' * 32_000}" for n in range(3_000)]
    started_s = time.process_time()
    assert not any(allows(of, operation, name) for name in names for operation in (READ, WRITE))
    assert time.process_time() - started_s < 1


def test_whether_any_topic_may_be_written_is_found_as_by_comparing_every_pair() -> None:
    rng = Random("somewhere")
    seen = set()
    for _ in range(1_000):
        names = ["".join(rng.choices("ab", k=rng.randrange(1, 4))) for _ in range(7)]
        denied = [acl(DENY, WRITE, name, rng.choice((LITERAL, PREFIXED))) for name in names[2:]]
        allowed = [acl(ALLOW, WRITE, name, rng.choice((LITERAL, PREFIXED))) for name in names[:2]]
        expected = any(
            not any(
                each.resource_name.startswith(no.resource_name)
                if no.pattern_type is PREFIXED
                else (LITERAL, each.resource_name) == (each.pattern_type, no.resource_name)
                for no in denied
            )
            for each in allowed
        )
        of = authorizer(*allowed, *denied)
        assert of.allows_somewhere(ALICE, HOST, WRITE, ResourceType.TOPIC) is expected, names
        seen.add(expected)
    assert seen == {True, False}


def test_whether_any_topic_may_be_written_costs_little_where_names_are_long() -> None:
    """Every prefix of each allowed name was looked up among the denied ones."""
    names = [f"{n:02}{'o' * 32_000}" for n in range(20)]
    allowed = [acl(ALLOW, WRITE, name) for name in names]
    denied = [acl(DENY, WRITE, name, PREFIXED) for name in names]
    of = authorizer(*allowed, *denied)
    started_s = time.process_time()
    assert not of.allows_somewhere(ALICE, HOST, WRITE, ResourceType.TOPIC)
    assert time.process_time() - started_s < 0.5
