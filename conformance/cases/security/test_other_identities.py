"""Clients that prove who they are by a token of OAuth or by a certificate. SEC-08, SEC-16.

Sources: KIP-255, RFC 7628 (OAUTHBEARER); KIP-371 (principals of certificates). The owner of a new
delegation token shows the broker's principal of a client.
"""

from __future__ import annotations

import base64
import json
import ssl
import tempfile
import time
from pathlib import Path

from conformance.case import case, expect, expect_that
from conformance.cases.security.secured_wire import come_in, expect_closed
from conformance.clients.sasl import NEWEST, authenticate, handshake
from conformance.connection import Connection, ConnectionClosed
from conformance.target import certificates
from conformance.target.examination import Examined
from conformance.target.identified import CERTIFIED, IDENTIFIED, MAPPED, UNMAPPED
from conformance.wire import Wire
from reference_impl.wire import ErrorCode, Struct

HOUR_S = 3600
SLACK_MS = 60_000


def bearer(subject: str, expires_in_s: int) -> bytes:
    """Return the first message of OAUTHBEARER with an unsecured token (RFC 7515, alg none)."""
    now = int(time.time())
    claims = {"sub": subject, "iat": now - 2 * HOUR_S, "exp": now + expires_in_s}
    parts = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
        for part in ({"alg": "none"}, claims)
    ]
    return f"n,,\x01auth=Bearer {'.'.join(parts)}.\x01\x01".encode()


def principal_of(wire: Wire, connection: Connection) -> tuple[str, str]:
    """Return the principal that the broker gives to a client, by the owner of a token that it asks
    for."""
    version = wire.version("CreateDelegationToken")
    token: Struct = connection.call(
        "CreateDelegationToken", version, renewers=[], max_lifetime_ms=HOUR_S * 1000
    )
    expect(token.error_code, ErrorCode.NONE, "CreateDelegationToken error")
    return token.principal_type, token.principal_name


@case(
    "SEC-08",
    "SaslAuthenticate",
    versions=(NEWEST, NEWEST),
    spec="KIP-255; RFC 7628; class OAuthBearerSaslServer",
    priority="P2",
    requires=["settings-it-may-lack"],
    config=IDENTIFIED,
)
def test_a_token_of_oauth_names_the_client(wire: Wire, examined: Examined, version: int) -> None:
    """A valid token gets NONE, the client is its subject, and the session lasts no longer than the
    token. An expired one gets the status invalid_token in JSON, and after the client's
    acknowledgement SASL_AUTHENTICATION_FAILED (58) with that JSON; then the broker closes."""
    connection = come_in(wire, examined, "OAUTH")
    expect(handshake(connection, "OAUTHBEARER").mechanisms, ["OAUTHBEARER"], "mechanisms")
    answer = authenticate(connection, bearer("erin", HOUR_S), version)
    expect((answer.error_code, bytes(answer.auth_bytes)), (ErrorCode.NONE, b""), "(error, token)")
    longest = HOUR_S * 1000
    expect_that(
        longest - SLACK_MS <= answer.session_lifetime_ms <= longest,
        "session_lifetime_ms",
        f"about {longest}",
        answer.session_lifetime_ms,
    )
    expect(principal_of(wire, connection), ("User", "erin"), "principal")

    refused = come_in(wire, examined, "OAUTH")
    handshake(refused, "OAUTHBEARER")
    answer = authenticate(refused, bearer("erin", -HOUR_S), version)
    expect(answer.error_code, ErrorCode.NONE, "error of the challenge")
    expect(json.loads(answer.auth_bytes)["status"], "invalid_token", "status of the challenge")
    answer = authenticate(refused, b"\x01", version)
    expect(answer.error_code, ErrorCode.SASL_AUTHENTICATION_FAILED, "error of an expired token")
    expect(json.loads(answer.error_message)["status"], "invalid_token", "status of the refusal")
    expect_closed(refused)


def come_in_with(wire: Wire, examined: Examined, client: str | None) -> Connection:
    """Connect to the listener MTLS with the certificate of a client, or with none."""
    host, _, port = examined.cluster.listeners["MTLS"].rpartition(":")
    connection = wire.connect(address=(host, int(port)))
    context = ssl.create_default_context(cadata=certificates.for_loopback().chain)
    if client is not None:
        certificate = certificates.for_client(client)
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "client.pem"
            file.write_text(certificate.key + certificate.chain)
            context.load_cert_chain(file)
    connection.socket = context.wrap_socket(connection.socket, server_hostname=host)
    return connection


def is_refused_without_certificate(wire: Wire, examined: Examined) -> bool:
    """Return whether a client without a certificate gets no answer."""
    try:
        come_in_with(wire, examined, None).call("ApiVersions", 0)
    except (ssl.SSLError, OSError, ConnectionClosed):  # told by an alert of TLS, or not
        return True
    return False


@case(
    "SEC-16",
    "CreateDelegationToken",
    spec="KIP-371; class SslPrincipalMapper; broker config ssl.client.auth",
    priority="P2",
    requires=["settings-it-may-lack"],
    config=CERTIFIED,
)
def test_a_certificate_names_the_client_by_the_rules(wire: Wire, examined: Examined) -> None:
    """With ssl.client.auth=required a client without a certificate is refused. The principal of a
    client is the subject of its certificate: rewritten by the first rule of
    ssl.principal.mapping.rules that matches, or whole by the rule DEFAULT."""
    expect(is_refused_without_certificate(wire, examined), True, "refused without a certificate")
    for client, name in (
        (MAPPED, f"{MAPPED.upper()}@TLS"),
        (UNMAPPED, f"CN={UNMAPPED},OU=touchstone"),
    ):
        connection = come_in_with(wire, examined, client)
        expect(principal_of(wire, connection), ("User", name), f"principal of {client}")
