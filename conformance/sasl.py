"""The client's side of SASL, one step at a time, so that a case can take a wrong one.

Sources: KIP-43 (SaslHandshake), KIP-152 (SaslAuthenticate), KIP-84 and RFC 5802 (SCRAM), RFC 4616
(PLAIN). Written against the RFCs, not against the reference broker: the two check each other.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import struct
from dataclasses import dataclass, field

from conformance.case import expect
from conformance.connection import Connection
from reference_impl.wire import ErrorCode, Struct

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
TYPES = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
"""As the APIs of KIP-554 number them."""
ITERATIONS_MIN, ITERATIONS_MAX = 4096, 16384
NO_CHANNEL_BINDING = "n,,"
NEWEST = 2
"""Version of SaslAuthenticate, where a case has nothing to say of versions."""


def handshake(connection: Connection, mechanism: str, version: int = 1) -> Struct:
    """Ask for a mechanism; the answer lists those that are enabled."""
    return connection.call("SaslHandshake", version, mechanism=mechanism)


def authenticate(connection: Connection, token: bytes, version: int = NEWEST) -> Struct:
    """Send one token of the exchange, framed as a request (KIP-152)."""
    return connection.call("SaslAuthenticate", version, auth_bytes=token)


def raw_token(connection: Connection, token: bytes) -> bytes:
    """Send one token as before KIP-152, with only its size in front; return the answer's token."""
    connection.send_bytes(struct.pack(">i", len(token)) + token)
    return connection.receive_frame()


def plain(user: str, password: str, authorization_id: str = "") -> bytes:
    """Return the one token of PLAIN (RFC 4616)."""
    return f"{authorization_id}\0{user}\0{password}".encode()


def salted(mechanism: str, password: str, salt: bytes, iterations: int) -> bytes:
    """Return Hi(password, salt, i) of RFC 5802, which AlterUserScramCredentials sends."""
    return hashlib.pbkdf2_hmac(HASHES[mechanism], password.encode(), salt, iterations)


@dataclass
class Scram:
    """One exchange. The server sees that we know the password, and we that it does."""

    mechanism: str
    user: str
    password: str
    nonce: str = field(default_factory=lambda: base64.b64encode(os.urandom(18)).decode())
    header: str = NO_CHANNEL_BINDING
    extensions: str = ""
    """At the end of the first message: ",tokenauth=true" for a delegation token (KIP-48)."""
    server_first: str = ""
    final_without_proof: str = ""

    def first(self) -> bytes:
        """Return the client's first message."""
        return (self.header + self._first_bare()).encode()

    def final(self, server_first: bytes, nonce: str | None = None) -> bytes:
        """Return the client's final message: the proof, by default over the server's nonce."""
        self.server_first = server_first.decode()
        channel = base64.b64encode(self.header.encode()).decode()
        self.final_without_proof = f"c={channel},r={nonce or self.answered('r')}"
        client_key = self._hmac(self._salted(), b"Client Key")
        stored_key = hashlib.new(HASHES[self.mechanism], client_key).digest()
        signature = self._hmac(stored_key, self._auth_message())
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        return f"{self.final_without_proof},p={base64.b64encode(proof).decode()}".encode()

    def server_signature(self) -> bytes:
        """Return what a server that knows the password must send in the end."""
        signature = self._hmac(self._hmac(self._salted(), b"Server Key"), self._auth_message())
        return b"v=" + base64.b64encode(signature)

    def answered(self, attribute: str) -> str:
        """Return an attribute of the server's first message: r (nonce), s (salt), i
        (iterations)."""
        found = dict(part.split("=", 1) for part in self.server_first.split(","))
        return found[attribute]

    def _first_bare(self) -> str:
        name = self.user.replace("=", "=3D").replace(",", "=2C")
        return f"n={name},r={self.nonce}{self.extensions}"

    def _auth_message(self) -> bytes:
        return f"{self._first_bare()},{self.server_first},{self.final_without_proof}".encode()

    def _salted(self) -> bytes:
        salt = base64.b64decode(self.answered("s"))
        return salted(self.mechanism, self.password, salt, int(self.answered("i")))

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, HASHES[self.mechanism])


def log_in(
    connection: Connection,
    mechanism: str,
    user: str,
    password: str,
    version: int = NEWEST,
    *,
    extensions: str = "",
) -> Struct:
    """Do the whole exchange; return the last answer, whatever it says."""
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
