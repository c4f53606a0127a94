"""SASL as every client meets it: handshake, tokens, refusals, what may be asked before. SEC-01..06.

Sources: KIP-43, KIP-84, KIP-152; SaslServerAuthenticator.java; RFC 5802, RFC 4616.
"""

from __future__ import annotations

import time

import pytest

from conformance.case import case, expect, expect_that
from conformance.cases.security.secured_wire import (
    add_user,
    come_in,
    expect_closed,
    expect_not_served,
    expect_served,
    words_of,
)
from conformance.clients.sasl import Scram, authenticate, handshake, log_in, plain, raw_token
from conformance.connection import ConnectionClosed
from conformance.target.examination import Examined
from conformance.target.secured import PASSWORDS, SECURED
from conformance.wire import Wire, request
from reference_impl.wire import ErrorCode

SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
FAILED = ErrorCode.SASL_AUTHENTICATION_FAILED
DELAY_MS = 100  # connection.failed.authentication.delay.ms, by default


@case("SEC-01", "SaslHandshake", spec="KIP-43, SaslHandshakeRequest", config=SECURED)
def test_an_unknown_mechanism_is_refused_with_those_enabled(
    wire: Wire, examined: Examined, version: int
) -> None:
    """SaslHandshake for a mechanism that the listener does not have gets
    UNSUPPORTED_SASL_MECHANISM (33) and the enabled ones; then the connection is closed."""
    connection = come_in(wire, examined, "SASL")
    answer = handshake(connection, "GSSAPI", version)
    expect(answer.error_code, ErrorCode.UNSUPPORTED_SASL_MECHANISM, "error")
    expect(sorted(answer.mechanisms), ["PLAIN", *SCRAM], "enabled mechanisms")
    expect_closed(connection)


@case(
    "SEC-01", "SaslHandshake", spec="KIP-103, mechanisms of each listener; KIP-43", config=SECURED
)
def test_each_listener_has_mechanisms_of_its_own(
    wire: Wire, examined: Examined, version: int
) -> None:
    """A mechanism that is enabled on one listener only gets UNSUPPORTED_SASL_MECHANISM (33) on the
    others."""
    answer = handshake(come_in(wire, examined, "BRIEF"), "PLAIN", version)
    expect(answer.error_code, ErrorCode.NONE, "error of PLAIN")
    expect(sorted(answer.mechanisms), ["PLAIN", "SCRAM-SHA-256"], "enabled mechanisms")
    answer = handshake(come_in(wire, examined, "BRIEF"), "SCRAM-SHA-512", version)
    expect(answer.error_code, ErrorCode.UNSUPPORTED_SASL_MECHANISM, "error of SCRAM-SHA-512")


@case("SEC-02", "SaslAuthenticate", spec="KIP-152, SaslAuthenticate request", config=SECURED)
def test_plain_with_the_right_password_is_let_in(
    wire: Wire, examined: Examined, version: int
) -> None:
    """PLAIN with a user and its password gets NONE and no token; requests are then answered."""
    connection = come_in(wire, examined, "SASL")
    answer = log_in(connection, "PLAIN", "alice", PASSWORDS["alice"], version)
    expect(answer.error_code, ErrorCode.NONE, "error")
    expect(bytes(answer.auth_bytes), b"", "token")
    expect(answer.session_lifetime_ms, 0, "lifetime of a session without end")
    expect_served(connection)


@pytest.mark.parametrize(
    "token",
    [plain("alice", "wrong"), plain("nobody", "wrong"), plain("alice", PASSWORDS["bob"])],
    ids=["wrong password", "unknown user", "password of another"],
)
@case("SEC-02", "SaslAuthenticate", spec="KIP-152, SaslAuthenticate request", config=SECURED)
def test_plain_with_a_wrong_password_is_refused(
    wire: Wire, examined: Examined, version: int, token: bytes
) -> None:
    """A wrong password and an unknown user get SASL_AUTHENTICATION_FAILED (58) with the same
    message for both, apart from the name, a moment later
    (connection.failed.authentication.delay.ms); then the broker closes."""
    connection = come_in(wire, examined, "SASL")
    handshake(connection, "PLAIN")
    began = time.monotonic()
    answer = authenticate(connection, token, version)
    took_ms = (time.monotonic() - began) * 1000
    expect(answer.error_code, FAILED, "error")
    same = come_in(wire, examined, "SASL")
    handshake(same, "PLAIN")
    name = wire.new_name("nobody")
    nobody = authenticate(same, plain(name, "wrong"), version)
    expect(
        (nobody.error_code, words_of(nobody, name)),
        (FAILED, words_of(answer, token.split(b"\0")[1].decode())),
        "(error, message) of another stranger",
    )
    expect_that(took_ms >= DELAY_MS - 10, "delay", f"{DELAY_MS} ms", f"{took_ms:.0f} ms")
    expect_closed(connection)


@pytest.mark.parametrize(
    "token",
    [b"", b"alice", b"\0alice", b"\0alice\0", b"\0\0secret"],
    ids=["empty", "no parts", "two parts", "no password", "no user"],
)
@case(
    "SEC-02", "SaslAuthenticate", spec="RFC 4616; PlainSaslServer.evaluateResponse", config=SECURED
)
def test_a_token_of_plain_that_is_none_is_refused(
    wire: Wire, examined: Examined, version: int, token: bytes
) -> None:
    """A PLAIN token that lacks its three parts, a user or a password gets
    SASL_AUTHENTICATION_FAILED (58) and a message; then the broker closes."""
    connection = come_in(wire, examined, "SASL")
    handshake(connection, "PLAIN")
    answer = authenticate(connection, token, version)
    expect(answer.error_code, FAILED, "error")
    expect_that(bool(answer.error_message), "message", "a sentence", answer.error_message)
    expect_closed(connection)


@case(
    "SEC-02", "SaslAuthenticate", spec="RFC 4616; PlainSaslServer.evaluateResponse", config=SECURED
)
def test_nobody_may_act_for_another_user(wire: Wire, examined: Examined, version: int) -> None:
    """PLAIN with an authorization id: the user's own is accepted, another is refused with
    SASL_AUTHENTICATION_FAILED (58)."""
    for acts_for, expected in (("alice", ErrorCode.NONE), ("bob", FAILED)):
        connection = come_in(wire, examined, "SASL")
        handshake(connection, "PLAIN")
        token = plain("alice", PASSWORDS["alice"], authorization_id=acts_for)
        expect(authenticate(connection, token, version).error_code, expected, acts_for)


@pytest.mark.parametrize("mechanism", SCRAM)
@case("SEC-03", "SaslAuthenticate", spec="RFC 5802; KIP-84", config=SECURED, priority="P1")
def test_scram_proves_both_sides(
    wire: Wire, examined: Examined, version: int, mechanism: str
) -> None:
    """The server's first message extends the client's nonce and has the salt and the iterations
    of the user; after a right proof comes the server's own signature, and requests are answered."""
    user = add_user(wire, examined, mechanism, "pencil", iterations=5000)
    connection = come_in(wire, examined, "SASL")
    handshake(connection, mechanism)
    scram = Scram(mechanism, user, "pencil")
    answer = authenticate(connection, scram.first(), version)
    expect(answer.error_code, ErrorCode.NONE, "error of the first message")
    final = scram.final(bytes(answer.auth_bytes))
    nonce = scram.answered("r")
    expect_that(
        nonce.startswith(scram.nonce) and len(nonce) > len(scram.nonce),
        "nonce",
        f"{scram.nonce} and more",
        nonce,
    )
    expect(scram.answered("i"), "5000", "iterations")
    answer = authenticate(connection, final, version)
    expect(answer.error_code, ErrorCode.NONE, "error of the final message")
    expect(bytes(answer.auth_bytes), scram.server_signature(), "signature")
    expect_served(connection)


@pytest.mark.parametrize("mechanism", SCRAM)
@case(
    "SEC-03",
    "SaslAuthenticate",
    spec="RFC 5802; ScramSaslServer.evaluateResponse",
    config=SECURED,
    priority="P1",
)
def test_scram_says_no_to_all_in_the_same_words(
    wire: Wire, examined: Examined, version: int, mechanism: str
) -> None:
    """A wrong password, an unknown user and a user of the other mechanism get
    SASL_AUTHENTICATION_FAILED (58) with one and the same message, apart from the name; then the
    broker closes."""
    user = add_user(wire, examined, mechanism, "pencil")
    other = next(name for name in SCRAM if name != mechanism)
    stranger = add_user(wire, examined, other, "pencil")
    messages = set()
    for name, password in ((user, "pen"), (wire.new_name("nobody"), "pen"), (stranger, "pencil")):
        connection = come_in(wire, examined, "SASL")
        answer = log_in(connection, mechanism, name, password, version)
        expect(answer.error_code, FAILED, "error")
        messages.add(words_of(answer, name))
        expect_closed(connection)
    expect(len(messages), 1, "different messages, which would tell who exists")


@case(
    "SEC-03",
    "SaslAuthenticate",
    spec="RFC 5802, SCRAM Authentication Exchange",
    config=SECURED,
    priority="P1",
)
def test_scram_refuses_what_breaks_the_exchange(
    wire: Wire, examined: Examined, version: int
) -> None:
    """SCRAM gets SASL_AUTHENTICATION_FAILED (58) for a malformed first message, one that acts for
    another user, a final message with another nonce, and a final message without proof."""
    mechanism = SCRAM[0]
    user = add_user(wire, examined, mechanism, "pencil")

    def broken_first(token: bytes) -> int:
        connection = come_in(wire, examined, "SASL")
        handshake(connection, mechanism)
        return int(authenticate(connection, token, version).error_code)

    def broken_final(old: bytes, new: bytes, nonce: str | None = None) -> int:
        connection = come_in(wire, examined, "SASL")
        handshake(connection, mechanism)
        scram = Scram(mechanism, user, "pencil")
        first = authenticate(connection, scram.first(), version)
        final = scram.final(bytes(first.auth_bytes), nonce)
        return int(authenticate(connection, final.replace(old, new), version).error_code)

    for token in (
        b"",
        b"n,,n=\xff,r=abc",
        b"y,,n=user,r=abc",
        f"n,,n={user}".encode(),
        f"n,a=somebody,n={user},r=abc".encode(),
    ):
        expect(broken_first(token), FAILED, f"first message {token!r}")
    expect(broken_final(b"", b"", nonce="of-the-client-alone"), FAILED, "another nonce, proven")
    expect(broken_final(b",p=", b",q="), FAILED, "no proof")


@case(
    "SEC-03",
    "SaslAuthenticate",
    spec="RFC 5802, saslname; ScramFormatter.username",
    config=SECURED,
    priority="P1",
)
def test_commas_and_equals_signs_in_names_are_escaped(
    wire: Wire, examined: Examined, version: int
) -> None:
    """A user whose name has a comma and an equals sign logs in with =2C and =3D for them."""
    user = add_user(wire, examined, SCRAM[0], "pencil", user=wire.new_name("a,b=c"))
    answer = log_in(come_in(wire, examined, "SASL"), SCRAM[0], user, "pencil", version)
    expect(answer.error_code, ErrorCode.NONE, "error")


@case(
    "SEC-04",
    "SaslHandshake",
    spec="SaslServerAuthenticator.handleKafkaRequest",
    config=SECURED,
    priority="P1",
)
def test_nothing_else_is_answered_before_authentication(
    wire: Wire, examined: Examined, version: int
) -> None:
    """Requests other than ApiVersions and SaslHandshake, SaslAuthenticate among them, close the
    connection when they come first; after the handshake they may get ILLEGAL_SASL_STATE (34)."""
    for api, api_version in (("Metadata", 12), ("DescribeCluster", 0), ("SaslAuthenticate", 2)):
        expect_not_served(come_in(wire, examined, "SASL"), api, api_version)
    connection = come_in(wire, examined, "SASL")
    handshake(connection, "PLAIN", version)
    if version == 0:
        expect_not_served(connection)  # it was read as a token
        return
    try:  # Apache Kafka says ILLEGAL_SASL_STATE where the answer has a field for it, then closes.
        code = connection.call("DescribeCluster", 0).error_code
    except (ConnectionClosed, ConnectionError):
        return
    expect(code, ErrorCode.ILLEGAL_SASL_STATE, "error after the handshake")
    expect_closed(connection)


@case(
    "SEC-04",
    "ApiVersions",
    spec="KIP-35; SaslServerAuthenticator.handleApiVersionsRequest",
    config=SECURED,
    priority="P1",
    versions=(3, 3),
)
def test_api_versions_is_answered_before_authentication_once(
    wire: Wire, examined: Examined, version: int
) -> None:
    """ApiVersions is answered once before the handshake, with the same list as after
    authentication, and the exchange continues; a second ApiVersions closes the connection. A
    request in an unknown version does not count."""
    software = request(
        "ApiVersions", client_software_name="touchstone", client_software_version="1"
    )
    connection = come_in(wire, examined, "SASL")
    first = connection.call("ApiVersions", version, software)
    expect(first.error_code, ErrorCode.NONE, "error")
    listed = {row.api_key: (row.min_version, row.max_version) for row in first.api_keys}
    for api, key in (("SaslHandshake", 17), ("SaslAuthenticate", 36)):
        expect(listed.get(key), wire.advertised[api], f"versions of {api}")
    expect(
        log_in(connection, "PLAIN", "alice", PASSWORDS["alice"]).error_code, ErrorCode.NONE, "error"
    )
    again = connection.call("ApiVersions", version, software)
    expect(again.error_code, ErrorCode.NONE, "error after authentication")
    connection = come_in(wire, examined, "SASL")
    connection.call("ApiVersions", version, software)
    expect_not_served(connection, "ApiVersions", version, body=software)


@case("SEC-05", "SaslHandshake", spec="KafkaApis.handleSaslHandshakeRequest", priority="P1")
def test_a_handshake_where_there_is_no_sasl_gets_illegal_sasl_state(
    wire: Wire, version: int
) -> None:
    """On a listener without SASL, SaslHandshake gets ILLEGAL_SASL_STATE (34) and no mechanisms;
    the connection stays."""
    answer = handshake(wire.bootstrap, "PLAIN", version)
    expect(answer.error_code, ErrorCode.ILLEGAL_SASL_STATE, "error")
    expect(list(answer.mechanisms), [], "mechanisms")
    expect_served(wire.bootstrap)


@case("SEC-05", "SaslAuthenticate", spec="KafkaApis.handleSaslAuthenticateRequest", priority="P1")
def test_a_token_where_there_is_no_sasl_gets_illegal_sasl_state(wire: Wire, version: int) -> None:
    """On a listener without SASL, SaslAuthenticate gets ILLEGAL_SASL_STATE (34) with a message; the
    connection stays."""
    answer = authenticate(wire.bootstrap, plain("alice", "x"), version)
    expect(answer.error_code, ErrorCode.ILLEGAL_SASL_STATE, "error")
    expect_that(bool(answer.error_message), "message", "a sentence", answer.error_message)
    expect_served(wire.bootstrap)


@case(
    "SEC-05",
    "SaslAuthenticate",
    spec="KafkaApis.handleSaslAuthenticateRequest",
    priority="P1",
    config=SECURED,
)
def test_a_token_after_authentication_gets_illegal_sasl_state(
    wire: Wire, examined: Examined, version: int
) -> None:
    """SaslAuthenticate without a handshake after authentication gets ILLEGAL_SASL_STATE (34); the
    connection stays, and stays authenticated."""
    connection = come_in(wire, examined, "SASL")
    log_in(connection, "PLAIN", "alice", PASSWORDS["alice"], version)
    answer = authenticate(connection, plain("alice", PASSWORDS["alice"]), version)
    expect(answer.error_code, ErrorCode.ILLEGAL_SASL_STATE, "error")
    expect_served(connection)


@case(
    "SEC-06",
    "SaslHandshake",
    versions=(0, 0),
    spec="KIP-152, Backward compatibility",
    config=SECURED,
    priority="P1",
)
def test_after_a_handshake_of_version_0_tokens_have_no_frame(
    wire: Wire, examined: Examined, version: int
) -> None:
    """After SaslHandshake v0 tokens are only prefixed by their size, and so are the answers; when
    the exchange has succeeded, requests are answered."""
    connection = come_in(wire, examined, "SASL")
    handshake(connection, "PLAIN", version)
    expect(raw_token(connection, plain("alice", PASSWORDS["alice"])), b"", "answer of PLAIN")
    expect_served(connection)

    user = add_user(wire, examined, SCRAM[1], "pencil")
    scram = Scram(SCRAM[1], user, "pencil")
    connection = come_in(wire, examined, "SASL")
    handshake(connection, SCRAM[1], version)
    final = scram.final(raw_token(connection, scram.first()))
    expect(raw_token(connection, final), scram.server_signature(), "signature")
    expect_served(connection)


@case(
    "SEC-06",
    "SaslHandshake",
    versions=(0, 0),
    spec="KIP-152, Backward compatibility",
    config=SECURED,
    priority="P1",
)
def test_a_raw_token_that_fails_closes_without_a_word(
    wire: Wire, examined: Examined, version: int
) -> None:
    """After SaslHandshake v0 a failed authentication closes the connection, since there is no other
    way to report it."""
    connection = come_in(wire, examined, "SASL")
    handshake(connection, "PLAIN", version)
    token = plain("alice", "wrong")
    connection.send_bytes(len(token).to_bytes(4, "big") + token)
    expect_closed(connection)
