"""Delegation tokens are created, described, renewed and expired. SEC-15, SEC-17.

Sources: KIP-48, KIP-373; KafkaApis.scala, DelegationTokenControlManager.java.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from conformance.case import case, expect, expect_that
from conformance.cases.security.secured_wire import come_in_as, wait_ms
from conformance.cases.security.tokens import (
    CREATE,
    DAY_MS,
    DESCRIBE,
    EXPIRE,
    HMAC_BYTES,
    RENEW,
    make,
    renewers,
    seen,
)
from conformance.target.controlled import CONTROLLED, Guest
from conformance.target.examination import Examined
from conformance.target.secured import SECURED
from conformance.wire import Wire, eventually
from reference_impl.wire import ErrorCode, Struct

NOT_ALLOWED = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
DISABLED = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
TOLERANCE_MS = 60_000
"""The largest difference between the target's clock and ours."""
REQUESTS: dict[str, dict[str, Any]] = {
    CREATE: {"max_lifetime_ms": -1},
    RENEW: {"hmac": b"none", "renew_period_ms": -1},
    EXPIRE: {"hmac": b"none", "expiry_time_period_ms": -1},
    DESCRIBE: {"owners": None},
}


def expect_about(actual_ms: int, expected_ms: int) -> None:
    """Fail unless a timestamp is near ours."""
    expect_that(
        abs(actual_ms - expected_ms) <= TOLERANCE_MS, "timestamp", f"about {expected_ms}", actual_ms
    )


def wait_for_expiry(guest: Guest, token_id: str, expected_ms: int) -> None:
    """Wait until the broker that describes tokens knows this expiry."""
    eventually(
        lambda: seen(guest)[token_id].expiry_timestamp,
        lambda told_ms: told_ms == expected_ms,
        "the new expiry is described",
    )


def wait_for_removal(guest: Guest, token_id: str) -> None:
    """Wait until the token is no longer described to its owner."""
    eventually(
        lambda: seen(guest), lambda found: token_id not in found, "the token is no longer described"
    )


def refused(answer: Struct, code: ErrorCode) -> None:
    """Fail unless an answer has this error and tells no token."""
    expect(answer.error_code, code, "error")
    if hasattr(answer, "tokens"):
        expect(answer.tokens, [], "tokens")
    if hasattr(answer, "token_id"):
        expect((answer.token_id, bytes(answer.hmac)), ("", b""), "(token id, HMAC)")


@case("SEC-15", CREATE, spec="KIP-48, Token acquisition", priority="P2")
def test_an_unauthenticated_client_creates_no_token(wire: Wire, version: int) -> None:
    """On a listener without authentication CreateDelegationToken gets
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED (64), and no token."""
    answer = wire.call(CREATE, version, **REQUESTS[CREATE])
    refused(answer, NOT_ALLOWED)
    expect((answer.principal_type, answer.principal_name), ("User", "ANONYMOUS"), "principal")


@case("SEC-15", RENEW, spec="KIP-48; KafkaApis.allowTokenRequests", priority="P2")
def test_an_unauthenticated_client_renews_no_token(wire: Wire, version: int) -> None:
    """On a listener without authentication RenewDelegationToken gets
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED (64)."""
    refused(wire.call(RENEW, version, **REQUESTS[RENEW]), NOT_ALLOWED)


@case("SEC-15", EXPIRE, spec="KIP-48; KafkaApis.allowTokenRequests", priority="P2")
def test_an_unauthenticated_client_expires_no_token(wire: Wire, version: int) -> None:
    """On a listener without authentication ExpireDelegationToken gets
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED (64)."""
    refused(wire.call(EXPIRE, version, **REQUESTS[EXPIRE]), NOT_ALLOWED)


@case("SEC-15", DESCRIBE, spec="KIP-48; KafkaApis.allowTokenRequests", priority="P2")
def test_an_unauthenticated_client_sees_no_token(wire: Wire, version: int) -> None:
    """On a listener without authentication DescribeDelegationToken gets
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED (64), and no tokens."""
    refused(wire.call(DESCRIBE, version, **REQUESTS[DESCRIBE]), NOT_ALLOWED)


@pytest.mark.parametrize("api", REQUESTS)
@case("SEC-15", CREATE, spec="KIP-48, Configuration options", priority="P2", config=SECURED)
def test_without_a_secret_key_there_are_no_tokens(wire: Wire, examined: Examined, api: str) -> None:
    """Where delegation.token.secret.key is not set, each of the four requests of an authenticated
    client gets DELEGATION_TOKEN_AUTH_DISABLED (61)."""
    connection = come_in_as(wire, examined, "alice")
    refused(connection.call(api, wire.version(api), **REQUESTS[api]), DISABLED)


@case("SEC-17", CREATE, spec="KIP-48, Token acquisition", priority="P2", config=CONTROLLED)
def test_a_token_is_created_and_described(wire: Wire, alice: Guest, version: int) -> None:
    """A token belongs to the principal that requests it, expires after a day unless it is renewed,
    and after a week in any case, and has an HMAC of 64 bytes; its owner sees the same token, with
    its renewers, in DescribeDelegationToken."""
    before = int(time.time() * 1000)
    token = make(alice, version, renewers=renewers("bob", "carl"))
    expect((token.principal_type, token.principal_name), ("User", "alice"), "principal")
    if version >= 3:
        requester = token.token_requester_principal_type, token.token_requester_principal_name
        expect(requester, ("User", "alice"), "requester")
    expect(token.expiry_timestamp_ms - token.issue_timestamp_ms, DAY_MS, "expiry after issue")
    expect(token.max_timestamp_ms - token.issue_timestamp_ms, 7 * DAY_MS, "maximum after issue")
    expect_about(token.issue_timestamp_ms, before)
    expect(len(token.hmac), HMAC_BYTES, "bytes of the HMAC")
    expect_that(bool(token.token_id), "token id", "a name", token.token_id)
    other = make(alice, version)
    expect_that(
        other.token_id != token.token_id and other.hmac != token.hmac,
        "another token",
        "another id and HMAC",
        other.token_id,
    )
    found = seen(alice)[token.token_id]
    expect(
        (
            found.principal_type,
            found.principal_name,
            found.issue_timestamp,
            found.expiry_timestamp,
            found.max_timestamp,
            bytes(found.hmac),
        ),
        (
            "User",
            "alice",
            token.issue_timestamp_ms,
            token.expiry_timestamp_ms,
            token.max_timestamp_ms,
            bytes(token.hmac),
        ),
        "the token described",
    )
    allowed = [(row.principal_type, row.principal_name) for row in found.renewers]
    expect(sorted(allowed), [("User", "bob"), ("User", "carl")], "renewers")


@case(
    "SEC-17",
    DESCRIBE,
    spec="KIP-48, DescribeDelegationTokenRequest",
    priority="P2",
    config=CONTROLLED,
)
def test_tokens_are_described_by_owner(alice: Guest, bob: Guest, version: int) -> None:
    """Null asks for every token that one may see, a list for those which concern its principals,
    an empty list for none; a principal sees tokens that it owns or may renew, and no others."""
    own = make(alice).token_id
    shared = make(alice, renewers=renewers("bob")).token_id
    both = sorted([own, shared])

    def shown(guest: Guest, *names: str) -> list[str]:
        found = seen(guest, version, *names)
        return [token_id for token_id in both if token_id in found]

    expect(shown(alice), both, "what the owner sees")
    expect(shown(bob), [shared], "what the renewer sees")
    expect(shown(alice, "bob"), [shared], "asked for those of the renewer")
    expect(shown(alice, "alice", "nobody"), both, "asked for those of the owner")
    expect(list(seen(alice, version, "nobody")), [], "asked for those of a stranger")
    answer = alice.call(DESCRIBE, version, owners=[])
    expect((answer.error_code, answer.tokens), (ErrorCode.NONE, []), "asked for those of nobody")
    if version >= 3:
        row = seen(alice, version)[own]
        requester = row.token_requester_principal_type, row.token_requester_principal_name
        expect(requester, ("User", "alice"), "requester")


@pytest.mark.parametrize(
    ("asked_ms", "lifetime_ms"),
    [(60_000, 60_000), (0, 7 * DAY_MS), (2**62, 7 * DAY_MS), (3 * DAY_MS, 3 * DAY_MS)],
    ids=["minute", "zero", "too-long", "days"],
)
@case(
    "SEC-17",
    CREATE,
    spec="CreateDelegationTokenRequest.json, field MaxLifetimeMs",
    priority="P2",
    config=CONTROLLED,
)
def test_the_lifetime_is_what_is_asked_within_the_brokers_bound(
    alice: Guest, version: int, asked_ms: int, lifetime_ms: int
) -> None:
    """A requested lifetime up to delegation.token.max.lifetime.ms is granted, a longer one is
    reduced to that maximum, and zero or a negative one means the maximum. The expiry is never after
    the end of the lifetime."""
    token = alice.call(CREATE, version, max_lifetime_ms=asked_ms)
    expect(token.error_code, ErrorCode.NONE, "error")
    expect(token.max_timestamp_ms - token.issue_timestamp_ms, lifetime_ms, "lifetime")
    expect(token.expiry_timestamp_ms - token.issue_timestamp_ms, min(lifetime_ms, DAY_MS), "expiry")


@case("SEC-17", CREATE, spec="KIP-48; INVALID_PRINCIPAL_TYPE", priority="P2", config=CONTROLLED)
def test_a_renewer_that_is_no_user_is_refused(alice: Guest, version: int) -> None:
    """A renewer of another type than User gets INVALID_PRINCIPAL_TYPE (67), and no token."""
    rows = [*renewers("bob"), *renewers("bob", kind="Group")]
    answer = alice.call(CREATE, version, max_lifetime_ms=-1, renewers=rows)
    refused(answer, ErrorCode.INVALID_PRINCIPAL_TYPE)


@case("SEC-17", RENEW, spec="KIP-48, Token renewal", priority="P2", config=CONTROLLED)
def test_a_token_is_renewed_within_its_lifetime(alice: Guest, bob: Guest, version: int) -> None:
    """The owner and a renewer can postpone the expiry by the requested period, but at most by
    delegation.token.expiry.time.ms, and never beyond the end of the lifetime."""
    token = make(alice, renewers=renewers("bob"), max_lifetime_ms=2 * DAY_MS)
    for guest, asked_ms, period_ms in (
        (alice, DAY_MS // 2, DAY_MS // 2),
        (bob, 10 * DAY_MS, DAY_MS),
        (bob, -1, DAY_MS),
    ):
        now_ms = int(time.time() * 1000)
        answer = guest.call(RENEW, version, hmac=token.hmac, renew_period_ms=asked_ms)
        expect(answer.error_code, ErrorCode.NONE, f"error of {guest.principal}")
        expect_about(answer.expiry_timestamp_ms, now_ms + period_ms)
        wait_for_expiry(alice, token.token_id, answer.expiry_timestamp_ms)
    brief = make(alice, max_lifetime_ms=60_000)
    answer = alice.call(RENEW, version, hmac=brief.hmac, renew_period_ms=DAY_MS)
    expect(
        (answer.error_code, answer.expiry_timestamp_ms),
        (ErrorCode.NONE, brief.max_timestamp_ms),
        "(error, expiry) at the end",
    )


@case("SEC-17", RENEW, spec="KIP-48, Token renewal", priority="P2", config=CONTROLLED)
def test_a_token_of_others_or_of_nobody_is_not_renewed(
    alice: Guest, bob: Guest, version: int
) -> None:
    """Renewing with an HMAC of no token gets DELEGATION_TOKEN_NOT_FOUND (62); renewing a token that
    the client neither owns nor may renew gets DELEGATION_TOKEN_OWNER_MISMATCH (63). The expiry
    stays."""
    token = make(alice)
    answer = bob.call(RENEW, version, hmac=token.hmac, renew_period_ms=60_000)
    refused(answer, ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)
    for hmac in (b"none", b"", bytes(token.hmac)[:-1]):
        answer = alice.call(RENEW, version, hmac=hmac, renew_period_ms=60_000)
        refused(answer, ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
    told = seen(alice)[token.token_id].expiry_timestamp
    expect(told, token.expiry_timestamp_ms, "expiry")


@case(
    "SEC-17",
    EXPIRE,
    spec="KIP-48, Token expiration and cancellation",
    priority="P2",
    config=CONTROLLED,
)
def test_a_token_is_expired_later_or_at_once(alice: Guest, bob: Guest, version: int) -> None:
    """A period sets the expiry, at most to the end of the lifetime; a negative one removes the
    token: it is no longer described, and its HMAC gets DELEGATION_TOKEN_NOT_FOUND (62)."""
    token = make(alice, renewers=renewers("bob"))
    now_ms = int(time.time() * 1000)
    answer = bob.call(EXPIRE, version, hmac=token.hmac, expiry_time_period_ms=DAY_MS // 2)
    expect(answer.error_code, ErrorCode.NONE, "error of the renewer")
    expect_about(answer.expiry_timestamp_ms, now_ms + DAY_MS // 2)
    answer = alice.call(EXPIRE, version, hmac=token.hmac, expiry_time_period_ms=100 * DAY_MS)
    expect(
        (answer.error_code, answer.expiry_timestamp_ms),
        (ErrorCode.NONE, token.max_timestamp_ms),
        "(error, expiry) beyond the end",
    )
    answer = alice.call(EXPIRE, version, hmac=token.hmac, expiry_time_period_ms=-1)
    expect(answer.error_code, ErrorCode.NONE, "error at once")
    wait_for_removal(alice, token.token_id)
    for api in (EXPIRE, RENEW):
        answer = alice.call(api, alice.wire.version(api), hmac=token.hmac)
        refused(answer, ErrorCode.DELEGATION_TOKEN_NOT_FOUND)


@case(
    "SEC-17",
    EXPIRE,
    spec="KIP-48, Token expiration and cancellation",
    priority="P2",
    config=CONTROLLED,
)
def test_a_token_of_others_or_of_nobody_is_not_expired(
    alice: Guest, bob: Guest, version: int
) -> None:
    """A client that may not manage the token gets DELEGATION_TOKEN_OWNER_MISMATCH (63), an HMAC
    that belongs to no token DELEGATION_TOKEN_NOT_FOUND (62), and the token stays."""
    token = make(alice)
    answer = bob.call(EXPIRE, version, hmac=token.hmac, expiry_time_period_ms=-1)
    refused(answer, ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)
    answer = alice.call(EXPIRE, version, hmac=b"none", expiry_time_period_ms=-1)
    refused(answer, ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
    told = seen(alice)[token.token_id].expiry_timestamp
    expect(told, token.expiry_timestamp_ms, "expiry")


@case(
    "SEC-17",
    RENEW,
    spec="KIP-48, Token expiration and cancellation",
    priority="P2",
    config=CONTROLLED,
)
def test_an_expired_token_is_not_renewed_and_is_removed(
    alice: Guest, bob: Guest, version: int
) -> None:
    """After its expiry nobody renews a token, nor is told whose it is:
    DELEGATION_TOKEN_EXPIRED (66) until it is removed, within
    delegation.token.expiry.check.interval.ms, then DELEGATION_TOKEN_NOT_FOUND (62)."""
    # One of three is likely to be between its expiry and its removal.
    tokens = [make(alice, max_lifetime_ms=period_ms) for period_ms in (3000, 3400, 3800)]
    gone = {ErrorCode.DELEGATION_TOKEN_EXPIRED, ErrorCode.DELEGATION_TOKEN_NOT_FOUND}
    for token in tokens:
        wait_ms(max(0, token.max_timestamp_ms - int(time.time() * 1000)) + 100)
        for guest in (bob, alice):
            answer = guest.call(RENEW, version, hmac=token.hmac, renew_period_ms=DAY_MS)
            expect(answer.error_code, gone, f"error of {guest.principal}")
    for token in tokens:
        wait_for_removal(alice, token.token_id)
        answer = alice.call(RENEW, version, hmac=token.hmac, renew_period_ms=DAY_MS)
        refused(answer, ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
