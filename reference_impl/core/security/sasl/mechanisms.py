"""The server side of a SASL mechanism: it answers the client's tokens, and in the end knows the
user.

Source: RFC 4422 (SASL); javax.security.sasl.SaslServer, as SaslServerAuthenticator.java uses it.
"""

from __future__ import annotations

from typing import Protocol


class Denied(Exception):
    """Authentication failed.

    `message` is the reason that the client receives. None hides it, since "no such user" or "wrong
    password" would help an attacker who guesses.
    """

    def __init__(self, reason: str, message: str | None = None) -> None:
        super().__init__(reason)
        self.message = message


class Exchange(Protocol):
    """One authentication under way, on the server's side."""

    @property
    def user(self) -> str | None:
        """Return the authenticated user once the exchange has succeeded, else None."""

    @property
    def token_expiry_ms(self) -> int | None:
        """Return the expiry of the delegation token that proved the user, in milliseconds of the
        wall clock, or None if a password did."""

    def answer(self, token: bytes) -> bytes:
        """Return the server's token that answers one of the client's. Raise Denied if the client's
        is malformed or wrong."""
