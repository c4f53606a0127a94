"""The client's side of SCRAM, message by message, so that a test can make a wrong step.

Sources: KIP-84 and RFC 5802 (SCRAM). It is written from the RFC, not from the reference broker's
code, so that the two check each other.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from dataclasses import dataclass, field

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
NO_CHANNEL_BINDING = "n,,"


def salted(mechanism: str, password: str, salt: bytes, iterations: int) -> bytes:
    """Return Hi(password, salt, i) of RFC 5802: the salted password that AlterUserScramCredentials
    sends."""
    return hashlib.pbkdf2_hmac(HASHES[mechanism], password.encode(), salt, iterations)


@dataclass
class Scram:
    """The client's side of one SCRAM exchange, in which client and server prove to each other that
    they know the password."""

    mechanism: str
    user: str
    password: str
    nonce: str = field(default_factory=lambda: base64.b64encode(os.urandom(18)).decode())
    header: str = NO_CHANNEL_BINDING
    extensions: str = ""
    """The extensions at the end of the client's first message: ",tokenauth=true" for a delegation
    token (KIP-48)."""
    server_first: str = ""
    final_without_proof: str = ""

    def first(self) -> bytes:
        """Return the client's first message."""
        return (self.header + self._first_bare()).encode()

    def final(self, server_first: bytes, nonce: str | None = None) -> bytes:
        """Return the client's final message with its proof; nonce: by default the one of the
        server. Raise KeyError or ValueError if the server's first message cannot be read."""
        self.server_first = server_first.decode()
        channel = base64.b64encode(self.header.encode()).decode()
        self.final_without_proof = f"c={channel},r={nonce or self.answered('r')}"
        client_key = self._hmac(self._salted(), b"Client Key")
        stored_key = hashlib.new(HASHES[self.mechanism], client_key).digest()
        signature = self._hmac(stored_key, self._auth_message())
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        return f"{self.final_without_proof},p={base64.b64encode(proof).decode()}".encode()

    def server_signature(self) -> bytes:
        """Return the signature that a server which knows the password must send at the end. Call
        `final` first."""
        signature = self._hmac(self._hmac(self._salted(), b"Server Key"), self._auth_message())
        return b"v=" + base64.b64encode(signature)

    def answered(self, attribute: str) -> str:
        """Return an attribute of the server's first message: r (nonce), s (salt) or i (iterations).
        Raise KeyError if it lacks the attribute, ValueError if it cannot be parsed."""
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
