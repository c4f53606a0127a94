"""The broker's view of a SASL mechanism: tokens come in, tokens go out, in the end there is a user.

Source: RFC 4422 (SASL); javax.security.sasl.SaslServer, as SaslServerAuthenticator.java uses it.
"""

from __future__ import annotations

from typing import Protocol


class Denied(Exception):
    """Authentication failed.

    `message` is what the client may hear of it. None hides the reason, since "no such user" and
    "wrong password" would help somebody who guesses.
    """

    def __init__(self, reason: str, message: str | None = None) -> None:
        super().__init__(reason)
        self.message = message


class Exchange(Protocol):
    """One authentication under way, on the server's side."""

    @property
    def user(self) -> str | None:
        """The authenticated user once the exchange has succeeded, else None."""

    @property
    def token_expiry_ms(self) -> int | None:
        """The expiry of the delegation token that proved the user, or None if a password did."""

    def answer(self, token: bytes) -> bytes:
        """Return the server's token after one of the client's, or raise Denied."""
