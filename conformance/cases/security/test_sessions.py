"""Sessions that end, and authentication again on the same connection. SEC-05, SEC-07.

Sources: KIP-368 (connections.max.reauth.ms); KafkaChannel.maybeBeginServerReauthentication.
"""

from __future__ import annotations

from conformance.case import case, expect
from conformance.cases.security.secured_wire import (
    add_user,
    come_in,
    come_in_as,
    expect_closed,
    expect_not_served,
    expect_served,
    wait_ms,
)
from conformance.clients.sasl import authenticate, handshake, log_in, plain
from conformance.target.examination import Examined
from conformance.target.secured import BRIEF_SESSION_MS, PASSWORDS, SECURED
from conformance.wire import Wire
from reference_impl.wire import ErrorCode

REAUTHENTICATIONS_APART_MS = 1000
"""Sooner after the last one, KafkaChannel takes no other (MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS)."""


@case(
    "SEC-07", "SaslAuthenticate", spec="KIP-368, session_lifetime_ms", config=SECURED, priority="P1"
)
def test_a_session_that_is_over_closes_at_the_next_request(
    wire: Wire, examined: Examined, version: int
) -> None:
    """With connections.max.reauth.ms the last answer says how long the session lasts (v1+).
    Until then requests are answered; the first one after it closes the connection."""
    user = add_user(wire, examined, "SCRAM-SHA-256", "pencil")
    connection = come_in(wire, examined, "BRIEF")
    answer = log_in(connection, "SCRAM-SHA-256", user, "pencil", version)
    expect(answer.error_code, ErrorCode.NONE, "error")
    expect(answer.session_lifetime_ms, BRIEF_SESSION_MS if version >= 1 else 0, "lifetime")
    expect_served(connection)
    wait_ms(BRIEF_SESSION_MS + 50)
    expect_not_served(connection)


@case(
    "SEC-07", "SaslAuthenticate", spec="KIP-368, Re-authentication", config=SECURED, priority="P1"
)
def test_the_same_user_may_authenticate_again_and_goes_on(
    wire: Wire, examined: Examined, version: int
) -> None:
    """Authenticating again on the same connection, before or after the end of the session, begins a
    new session; requests are answered past the end of the old one."""
    connection = come_in(wire, examined, "BRIEF")
    for _ in range(2):
        answer = log_in(connection, "PLAIN", "alice", PASSWORDS["alice"], version)
        expect(answer.error_code, ErrorCode.NONE, "error")
        wait_ms(BRIEF_SESSION_MS - 300)
        expect_served(connection)
    wait_ms(BRIEF_SESSION_MS)
    answer = log_in(connection, "PLAIN", "alice", PASSWORDS["alice"], version)
    expect(answer.error_code, ErrorCode.NONE, "error after the end of the session")
    expect_served(connection)


@case(
    "SEC-07",
    "SaslAuthenticate",
    spec="KIP-368; SaslServerAuthenticator.ReauthInfo",
    config=SECURED,
    priority="P1",
)
def test_nobody_becomes_another_user_or_takes_another_mechanism(
    wire: Wire, examined: Examined, version: int
) -> None:
    """Re-authentication as another principal gets SASL_AUTHENTICATION_FAILED (58), and
    re-authentication by another mechanism no response; both close the connection."""
    connection = come_in_as(wire, examined, "alice", listener="BRIEF")
    answer = log_in(connection, "PLAIN", "bob", PASSWORDS["bob"], version)
    expect(answer.error_code, ErrorCode.SASL_AUTHENTICATION_FAILED, "error as another user")
    expect_closed(connection)

    user = add_user(wire, examined, "SCRAM-SHA-256", PASSWORDS["alice"], user=wire.new_name())
    connection = come_in(wire, examined, "BRIEF")
    log_in(connection, "SCRAM-SHA-256", user, PASSWORDS["alice"])
    handshake(connection, "PLAIN")
    token = plain("alice", PASSWORDS["alice"])
    expect_not_served(connection, "SaslAuthenticate", version, auth_bytes=token)


@case(
    "SEC-05",
    "SaslHandshake",
    spec="KafkaChannel.maybeBeginServerReauthentication",
    config=SECURED,
    priority="P1",
)
def test_where_sessions_have_no_end_nobody_authenticates_again(
    wire: Wire, examined: Examined, version: int
) -> None:
    """Without connections.max.reauth.ms, SaslHandshake after authentication gets ILLEGAL_SASL_STATE
    (34) and no mechanisms; the connection stays."""
    connection = come_in_as(wire, examined, "alice", listener="SASL")
    answer = handshake(connection, "PLAIN", version)
    expect(answer.error_code, ErrorCode.ILLEGAL_SASL_STATE, "error")
    expect(list(answer.mechanisms), [], "mechanisms")
    expect_served(connection)


@case(
    "SEC-05",
    "SaslHandshake",
    versions=(1, 1),
    config=SECURED,
    priority="P1",
    spec="KafkaChannel.maybeBeginServerReauthentication",
)
def test_authentication_again_and_again_gets_illegal_sasl_state(
    wire: Wire, examined: Examined, version: int
) -> None:
    """Another handshake within a second of the last re-authentication gets ILLEGAL_SASL_STATE (34),
    and the connection stays; a second later it is taken."""
    connection = come_in_as(wire, examined, "alice", listener="BRIEF")
    again = log_in(connection, "PLAIN", "alice", PASSWORDS["alice"])
    expect(again.error_code, ErrorCode.NONE, "error of the second exchange")
    answer = handshake(connection, "PLAIN", version)
    expect(answer.error_code, ErrorCode.ILLEGAL_SASL_STATE, "error of the third handshake")
    expect_served(connection)
    wait_ms(REAUTHENTICATIONS_APART_MS + 50)
    expect(handshake(connection, "PLAIN", version).error_code, ErrorCode.NONE, "a second later")
    answer = authenticate(connection, plain("alice", PASSWORDS["alice"]))
    expect(answer.error_code, ErrorCode.NONE, "error of the token")
