"""Logging in by a delegation token, and tokens for somebody else. SEC-18, SEC-19.

Sources: KIP-48 (SCRAM, tokenauth), KIP-373 (owner and requester differ); ScramSaslServer.java.
"""

from __future__ import annotations

import pytest

from conformance.case import case, expect, expect_that
from conformance.cases.security.secured_wire import come_in_as, expect_served, words_of
from conformance.cases.security.test_delegation_tokens import NOT_ALLOWED, REQUESTS, refused
from conformance.cases.security.tokens import (
    CREATE,
    DAY_MS,
    DESCRIBE,
    EXPIRE,
    RENEW,
    log_in,
    make,
    renewers,
    seen,
)
from conformance.clients.sasl import HASHES
from conformance.target.controlled import CONTROLLED, Guest
from conformance.target.examination import Examined
from conformance.wire import Wire, eventually, part
from reference_impl.wire import ErrorCode
from reference_impl.wire.acls import AclOperation, ResourceType

SPEC = "KIP-48, Authentication using Token"
FOR_OTHERS = "KIP-373, Authorization"
MINUTE_MS, HOUR_MS = 60_000, 3_600_000
SESSIONS_END = "listener.name.sasl.scram-sha-256.connections.max.reauth.ms"
FAILED = ErrorCode.SASL_AUTHENTICATION_FAILED


@pytest.mark.parametrize("mechanism", HASHES)
@case("SEC-18", "SaslAuthenticate", spec=SPEC, priority="P2", config=CONTROLLED)
def test_a_token_lets_in_as_its_owner(
    wire: Wire, examined: Examined, alice: Guest, mechanism: str
) -> None:
    """A client with a token's HMAC is authenticated by SCRAM with tokenauth=true, may do what the
    token's owner may, and its session lasts no longer than the token."""
    topic = wire.create_topic()
    alice.may(AclOperation.DESCRIBE, ResourceType.TOPIC, topic.name)
    connection, answer = log_in(wire, examined, make(alice), mechanism=mechanism)
    expect(answer.error_code, ErrorCode.NONE, "error")
    expect_that(
        0 < answer.session_lifetime_ms <= DAY_MS,
        "lifetime of the session",
        f"1 to {DAY_MS}",
        answer.session_lifetime_ms,
    )
    worker = Guest(wire, connection, alice.principal)
    row = part("DescribeTopicPartitions", "TopicRequest", name=topic.name)
    found = worker.call("DescribeTopicPartitions", topics=[row]).topics
    expect([row.error_code for row in found], [ErrorCode.NONE], "error of the topic")


@pytest.mark.parametrize(
    "changes",
    [
        {"hmac": b"another"},
        {"user": "nobody"},
        {"extensions": ""},
        {"extensions": ",tokenauth=false"},
    ],
    ids=["another-hmac", "unknown-token", "no-extension", "extension-false"],
)
@case("SEC-18", "SaslAuthenticate", spec=SPEC, priority="P2", config=CONTROLLED)
def test_a_token_that_is_not_proven_lets_nobody_in(
    wire: Wire, examined: Examined, alice: Guest, changes: dict[str, object]
) -> None:
    """Another HMAC, an unknown id, or no tokenauth=true (then the id is a user, who does not exist)
    gets SASL_AUTHENTICATION_FAILED (58) with the same message, apart from the id."""
    token = make(alice)
    _, expected = log_in(wire, examined, token, user="nobody", extensions="")
    _, answer = log_in(wire, examined, token, **changes)  # type: ignore[arg-type]
    told = words_of(answer, str(changes.get("user", token.token_id)))
    expect((answer.error_code, told), (FAILED, words_of(expected, "nobody")), "answer")


@case("SEC-18", "SaslAuthenticate", spec=SPEC, priority="P2", config=CONTROLLED)
def test_a_token_that_was_expired_lets_nobody_in(
    wire: Wire, examined: Examined, alice: Guest
) -> None:
    """After ExpireDelegationToken with a negative period the token gets SASL_AUTHENTICATION_FAILED
    (58); connections that came in by it before stay."""
    token = make(alice)
    before, answer = log_in(wire, examined, token)
    expect(answer.error_code, ErrorCode.NONE, "error before")
    gone = alice.call(EXPIRE, hmac=token.hmac, expiry_time_period_ms=-1)
    expect(gone.error_code, ErrorCode.NONE, "ExpireDelegationToken error")
    eventually(
        lambda: log_in(wire, examined, token)[1].error_code,
        lambda code: code == FAILED,
        "the token lets nobody in",
    )
    expect_served(before)


@case(
    "SEC-18",
    "SaslAuthenticate",
    spec="KIP-368; class SaslServerAuthenticator, ReauthInfo",
    priority="P2",
    config=CONTROLLED | {SESSIONS_END: str(HOUR_MS)},
)
def test_a_session_lasts_no_longer_than_its_token_and_its_listener_allow(
    wire: Wire, examined: Examined, alice: Guest
) -> None:
    """Where connections.max.reauth.ms ends sessions, one that began with a token ends then, or with
    the token if that comes first."""
    for token_ms, longest_ms in ((DAY_MS, HOUR_MS), (MINUTE_MS, MINUTE_MS)):
        _, answer = log_in(wire, examined, make(alice, max_lifetime_ms=token_ms))
        expect(answer.error_code, ErrorCode.NONE, "error")
        lasts_ms = answer.session_lifetime_ms
        expect_that(0 < lasts_ms <= longest_ms, "lifetime", f"1 to {longest_ms}", lasts_ms)


@pytest.mark.parametrize("api", REQUESTS)
@case("SEC-18", CREATE, spec="KIP-48, Token acquisition", priority="P2", config=CONTROLLED)
def test_a_token_creates_and_manages_no_tokens(
    wire: Wire, examined: Examined, alice: Guest, api: str
) -> None:
    """Each of the four requests from a connection that came in by a token gets
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED (64): a stolen token must not live for ever."""
    token = make(alice)
    connection, _ = log_in(wire, examined, token)
    fields = REQUESTS[api] | ({"hmac": token.hmac} if "hmac" in REQUESTS[api] else {})
    refused(connection.call(api, wire.version(api), **fields), NOT_ALLOWED)
    expect_that(token.token_id in seen(alice), "the token", "still there", "gone")


@case("SEC-19", CREATE, versions=(3, 3), spec=FOR_OTHERS, priority="P2", config=CONTROLLED)
def test_a_token_for_somebody_else_needs_a_permission(
    wire: Wire, examined: Examined, alice: Guest, bob: Guest, version: int
) -> None:
    """CreateTokens of User:bob lets alice make a token whose owner is bob; without it she gets
    DELEGATION_TOKEN_AUTHORIZATION_FAILED (65). Both see the token, only the owner renews it: others
    get DELEGATION_TOKEN_OWNER_MISMATCH (63)."""
    wanted = {"owner_principal_type": "User", "owner_principal_name": "bob", "max_lifetime_ms": -1}
    answer = alice.call(CREATE, version, **wanted)
    refused(answer, ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED)
    alice.may(AclOperation.CREATE_TOKENS, ResourceType.USER, "User:bob")
    token = make(alice, version, **wanted)
    expect(
        (token.principal_name, token.token_requester_principal_name),
        ("bob", "alice"),
        "(owner, requester)",
    )
    expect([token.token_id in seen(guest) for guest in (alice, bob)], [True, True], "seen by both")
    answer = alice.call(RENEW, hmac=token.hmac, renew_period_ms=60_000)
    refused(answer, ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)
    expect(
        bob.call(RENEW, hmac=token.hmac, renew_period_ms=60_000).error_code,
        ErrorCode.NONE,
        "error of the owner",
    )
    _, answer = log_in(wire, examined, token)
    expect(answer.error_code, ErrorCode.NONE, "error of the login")


@pytest.mark.parametrize("by", ["token", "user"])
@case("SEC-19", DESCRIBE, spec=FOR_OTHERS, priority="P2", config=CONTROLLED)
def test_a_token_of_somebody_else_is_seen_with_a_permission(
    alice: Guest, bob: Guest, version: int, by: str
) -> None:
    """Another user's token is described only to a client with DESCRIBE on the token or
    DESCRIBE_TOKENS on its owner."""
    token, other = make(alice), make(alice)
    expect(token.token_id in seen(bob, version), False, "seen without permission")
    if by == "token":
        bob.may(AclOperation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id)
    else:
        bob.may(AclOperation.DESCRIBE_TOKENS, ResourceType.USER, "User:alice")
    eventually(lambda: token.token_id in seen(bob, version), bool, "seen with permission")
    expect(other.token_id in seen(bob, version), by == "user", "another token is seen")


@case(
    "SEC-17",
    CREATE,
    spec="KIP-48; DelegationTokenRecord.json",
    priority="P2",
    config=CONTROLLED,
    requires=["restart"],
)
def test_tokens_survive_a_restart(wire: Wire, examined: Examined, alice: Guest) -> None:
    """After a kill and a restart a token lets in, and is described, as before."""
    token = make(alice, renewers=renewers("bob"))
    examined.kill_and_restart()
    again = Guest(wire, come_in_as(wire, examined, "alice"), alice.principal)
    eventually(lambda: token.token_id in seen(again), bool, "the token is described")
    found = seen(again)[token.token_id]
    expect(
        (bytes(found.hmac), found.expiry_timestamp, [r.principal_name for r in found.renewers]),
        (bytes(token.hmac), token.expiry_timestamp_ms, ["bob"]),
        "the token",
    )
    _, answer = log_in(wire, examined, token)
    expect(answer.error_code, ErrorCode.NONE, "error of the login")
