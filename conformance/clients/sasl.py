"""The client's side of SASL step by step, so that a case can make a wrong step.

Sources: KIP-43 (SaslHandshake), KIP-152 (SaslAuthenticate), KIP-84 and RFC 5802 (SCRAM), RFC 4616
(PLAIN). It is written from the RFCs, not from the reference broker's code, so that the two check
each other.
"""

from __future__ import annotations

import struct

from conformance.case import expect
from conformance.connection import Connection
from reference_impl.access.scram import HASHES, Scram, salted
from reference_impl.wire import ErrorCode, Struct

__all__ = [
    "HASHES",
    "ITERATIONS_MAX",
    "ITERATIONS_MIN",
    "NEWEST",
    "TYPES",
    "Scram",
    "authenticate",
    "handshake",
    "log_in",
    "plain",
    "raw_token",
    "salted",
]
TYPES = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
"""Mechanism -> its number in the APIs of KIP-554."""
ITERATIONS_MIN, ITERATIONS_MAX = 4096, 16384
NEWEST = 2
"""The version of SaslAuthenticate to use if a case names none."""


def handshake(connection: Connection, mechanism: str, version: int = 1) -> Struct:
    """Send SaslHandshake for a mechanism; return the response, which lists the enabled ones."""
    return connection.call("SaslHandshake", version, mechanism=mechanism)


def authenticate(connection: Connection, token: bytes, version: int = NEWEST) -> Struct:
    """Send one token of the exchange in a SaslAuthenticate request; return the response, whatever
    it says (KIP-152)."""
    return connection.call("SaslAuthenticate", version, auth_bytes=token)


def raw_token(connection: Connection, token: bytes) -> bytes:
    """Send one token in the form before KIP-152, with only its size in front; return the target's
    token."""
    connection.send_bytes(struct.pack(">i", len(token)) + token)
    return connection.receive_frame()


def plain(user: str, password: str, authorization_id: str = "") -> bytes:
    """Return the single token of PLAIN (RFC 4616)."""
    return f"{authorization_id}\0{user}\0{password}".encode()


def log_in(
    connection: Connection,
    mechanism: str,
    user: str,
    password: str,
    version: int = NEWEST,
    *,
    extensions: str = "",
) -> Struct:
    """Perform the whole exchange; return the last response, whatever it says. Raise Deviation if
    the handshake is refused, or if the server's signature is wrong. extensions: more fields of
    SCRAM's first message."""
    expect(handshake(connection, mechanism).error_code, ErrorCode.NONE, "SaslHandshake")
    if mechanism == "PLAIN":
        return authenticate(connection, plain(user, password), version)
    scram = Scram(mechanism, user, password, extensions=extensions)
    answer = authenticate(connection, scram.first(), version)
    if answer.error_code != ErrorCode.NONE:
        return answer
    answer = authenticate(connection, scram.final(bytes(answer.auth_bytes)), version)
    if answer.error_code == ErrorCode.NONE:
        expect(bytes(answer.auth_bytes), scram.server_signature(), "the server's signature")
    return answer
