"""Users of SCRAM, made, described and deleted while the broker runs. SEC-14.

Sources: KIP-554; ScramControlManager.java, ScramImage.java.
"""

from __future__ import annotations

import pytest

from conformance.case import case, expect, expect_that
from conformance.cases.security.secured_wire import add_user, come_in, errors_by_user, upsertion
from conformance.clients.sasl import ITERATIONS_MAX, ITERATIONS_MIN, TYPES, log_in
from conformance.target.examination import Examined
from conformance.target.secured import SECURED
from conformance.wire import Wire, eventually, part
from reference_impl.wire import ErrorCode, Struct

SHA_256, SHA_512 = TYPES
ALTER, DESCRIBE = "AlterUserScramCredentials", "DescribeUserScramCredentials"


def deletion(user: str, mechanism: int = TYPES[SHA_256]) -> Struct:
    return part(ALTER, "ScramCredentialDeletion", name=user, mechanism=mechanism)


def described(wire: Wire, version: int, *users: str) -> dict[str, Struct]:
    """Return the row of each of these SCRAM users, or of every user if none is named."""
    rows = [part(DESCRIBE, "UserName", name=user) for user in users] or None
    answer = wire.call(DESCRIBE, version, users=rows)
    expect(answer.error_code, ErrorCode.NONE, "error of the answer")
    return {row.user: row for row in answer.results}


def credentials(row: Struct) -> dict[int, int]:
    """Return mechanism -> iterations."""
    return {info.mechanism: info.iterations for info in row.credential_infos}


def wait_until_described(wire: Wire, version: int, user: str, expected: dict[int, int]) -> None:
    eventually(
        lambda: described(wire, version, user)[user],
        lambda row: credentials(row) == expected,
        f"{user} is described with {expected}",
    )


@case("SEC-14", DESCRIBE, spec="KIP-554, Describe", priority="P1")
def test_credentials_are_described_without_their_secret(wire: Wire, version: int) -> None:
    """A user's mechanisms and iterations are described, whether that user or all users are
    requested, and no secret is."""
    user = wire.new_name("user")
    rows = [upsertion(user, SHA_256, "pencil", 4096)]
    expect(errors_by_user(wire.call(ALTER, upsertions=rows)), {user: ErrorCode.NONE}, "errors")
    wait_until_described(wire, version, user, {1: 4096})
    rows = [upsertion(user, SHA_512, "pencil", 8192)]
    expect(errors_by_user(wire.call(ALTER, upsertions=rows)), {user: ErrorCode.NONE}, "errors")
    wait_until_described(wire, version, user, {1: 4096, 2: 8192})
    expect(credentials(described(wire, version)[user]), {1: 4096, 2: 8192}, "among all users")


@case("SEC-14", DESCRIBE, spec="KIP-554, Describe; ScramImage.describe", priority="P1")
def test_describing_a_stranger_or_a_user_twice_is_an_error_of_its_row(
    wire: Wire, version: int
) -> None:
    """An unknown user gets RESOURCE_NOT_FOUND (91), one named twice DUPLICATE_RESOURCE (92) in one
    row, and no credentials; the answer as a whole succeeds."""
    unknown, twice = wire.new_name("user"), wire.new_name("user")
    rows = described(wire, version, unknown, twice, twice)
    found = {user: ErrorCode(row.error_code) for user, row in rows.items()}
    expected = {unknown: ErrorCode.RESOURCE_NOT_FOUND, twice: ErrorCode.DUPLICATE_RESOURCE}
    expect(found, expected, "errors")
    expect([credentials(row) for row in rows.values()], [{}, {}], "credentials")
    expect_that(all(row.error_message for row in rows.values()), "messages", "sentences", rows)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"mechanism": 0}, ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ({"mechanism": 3}, ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ({"iterations": ITERATIONS_MIN - 1}, ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ({"iterations": -1}, ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ({"iterations": ITERATIONS_MAX + 1}, ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ({"name": ""}, ErrorCode.UNACCEPTABLE_CREDENTIAL),
    ],
    ids=[
        "no mechanism",
        "unknown mechanism",
        "few iterations",
        "negative iterations",
        "many iterations",
        "empty name",
    ],
)
@case("SEC-14", ALTER, spec="KIP-554, Alter; ScramControlManager.validateUpsertion", priority="P1")
def test_an_impossible_credential_is_refused_and_the_others_are_taken(
    wire: Wire, version: int, changes: dict[str, object], expected: ErrorCode
) -> None:
    """An unknown mechanism gets UNSUPPORTED_SASL_MECHANISM (33); too few or many iterations and an
    empty name UNACCEPTABLE_CREDENTIAL (93). Such a user is not made: describing it gets
    RESOURCE_NOT_FOUND (91). Other users of the request are not affected."""
    good, bad = wire.new_name("user"), upsertion(wire.new_name("user"), SHA_256, "pencil")
    for name, value in changes.items():
        setattr(bad, name, value)
    rows = [bad, upsertion(good, SHA_256, "pencil")]
    answer = wire.call(ALTER, version, upsertions=rows)
    found = errors_by_user(answer)
    expect(found, {bad.name: expected, good: ErrorCode.NONE}, "errors")
    wait_until_described(wire, 0, good, {1: ITERATIONS_MIN})
    if bad.name:
        row = described(wire, 0, bad.name)[bad.name]
        expect(row.error_code, ErrorCode.RESOURCE_NOT_FOUND, "the refused user")


@pytest.mark.parametrize("bounds", [ITERATIONS_MIN, ITERATIONS_MAX])
@case("SEC-14", ALTER, spec="ScramControlManager.validateUpsertion", priority="P1")
def test_the_bounds_of_the_iterations_are_allowed(wire: Wire, version: int, bounds: int) -> None:
    """4096 and 16384 iterations are accepted."""
    user = wire.new_name("user")
    answer = wire.call(ALTER, version, upsertions=[upsertion(user, SHA_256, "pencil", bounds)])
    expect(errors_by_user(answer), {user: ErrorCode.NONE}, "errors")


@case("SEC-14", ALTER, spec="KIP-554, Alter; ScramControlManager.validateDeletion", priority="P1")
def test_only_what_is_there_can_be_deleted(wire: Wire, version: int) -> None:
    """Deletion takes one mechanism and leaves the other. A user without that credential gets
    RESOURCE_NOT_FOUND (91), an empty name 93, an unknown mechanism 33."""
    user = wire.new_name("user")
    for mechanism in TYPES:
        wire.call(ALTER, version, upsertions=[upsertion(user, mechanism, "pencil")])
    wait_until_described(wire, 0, user, {1: ITERATIONS_MIN, 2: ITERATIONS_MIN})
    answer = wire.call(ALTER, version, deletions=[deletion(user)])
    expect(errors_by_user(answer), {user: ErrorCode.NONE}, "errors")
    wait_until_described(wire, 0, user, {2: ITERATIONS_MIN})
    stranger = wire.new_name("user")
    for row, expected in (
        (deletion(user), ErrorCode.RESOURCE_NOT_FOUND),
        (deletion(stranger), ErrorCode.RESOURCE_NOT_FOUND),
        (deletion(""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (deletion(user, mechanism=9), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
    ):
        answer = wire.call(ALTER, version, deletions=[row])
        expect(errors_by_user(answer), {row.name: expected}, f"errors of {row}")


@case("SEC-14", ALTER, spec="KIP-554, Alter; ScramControlManager.alterCredentials", priority="P1")
def test_a_user_is_altered_once_in_a_request(wire: Wire, version: int) -> None:
    """A user who is named twice, by whatever mechanisms, gets DUPLICATE_RESOURCE (92) and is not
    changed: a user without credentials still gets RESOURCE_NOT_FOUND (91) when described."""
    user = wire.new_name("user")
    rows = [upsertion(user, SHA_256, "a"), upsertion(user, SHA_512, "b")]
    answer = wire.call(ALTER, version, upsertions=rows)
    expect(errors_by_user(answer), {user: ErrorCode.DUPLICATE_RESOURCE}, "errors of two upsertions")
    row = described(wire, 0, user)[user]
    expect(row.error_code, ErrorCode.RESOURCE_NOT_FOUND, "the user afterwards")
    wire.call(ALTER, version, upsertions=[upsertion(user, SHA_256, "a")])
    wait_until_described(wire, 0, user, {1: ITERATIONS_MIN})
    answer = wire.call(
        ALTER, version, deletions=[deletion(user)], upsertions=[upsertion(user, SHA_256, "b")]
    )
    expect(errors_by_user(answer), {user: ErrorCode.DUPLICATE_RESOURCE}, "errors of both")


@case("SEC-14", ALTER, spec="KIP-554; KIP-84", priority="P1", config=SECURED)
def test_a_new_password_is_the_only_one_and_a_deleted_one_is_none(
    wire: Wire, examined: Examined, version: int
) -> None:
    """After an upsertion the old password gets SASL_AUTHENTICATION_FAILED (58) and the new one is
    accepted; after the deletion neither is accepted."""
    user = add_user(wire, examined, SHA_256, "old")

    def error(password: str) -> int:
        answer = log_in(come_in(wire, examined, "SASL"), SHA_256, user, password)
        return int(answer.error_code)

    refused = ErrorCode.SASL_AUTHENTICATION_FAILED
    wire.call(ALTER, version, upsertions=[upsertion(user, SHA_256, "new")])
    eventually(lambda: error("new"), lambda code: code == 0, "the new password is accepted")
    expect(error("old"), refused, "error of the old password")
    wire.call(ALTER, version, deletions=[deletion(user)])
    eventually(lambda: error("new"), lambda code: code == refused, "no password is accepted")


@case(
    "SEC-14",
    ALTER,
    spec="UserScramCredentialRecord.json",
    priority="P1",
    requires={"restart"},
    config=SECURED,
)
def test_users_outlive_the_broker(wire: Wire, examined: Examined, version: int) -> None:
    """A user is known after the broker was killed and started again."""
    user = add_user(wire, examined, SHA_512, "pencil")
    wire.forget_connections()
    examined.kill_and_restart()
    answer = log_in(come_in(wire, examined, "SASL"), SHA_512, user, "pencil")
    expect(answer.error_code, ErrorCode.NONE, "error after the restart")
    wait_until_described(wire, 0, user, {2: ITERATIONS_MIN})
