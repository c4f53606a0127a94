"""PLAIN: user and password in one token, unencrypted; only TLS protects them.

Source: RFC 4616; PlainSaslServer.java, PlainServerCallbackHandler.java. The users are those of the
listener's JAAS configuration: user_NAME="password".
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from reference_impl.core.security.sasl.mechanisms import Denied

PLAIN = "PLAIN"
_PARTS = 3


class PlainExchange:
    """An exchange that succeeds or fails with its first token."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords
        self.user: str | None = None
        self.token_expiry_ms = None

    def answer(self, token: bytes) -> bytes:
        """Check the token [authorization id] NUL user NUL password, and return an empty one. Raise
        Denied if the token has another form, if user and password do not match, or if the
        authorization id is neither empty nor the user."""
        parts = token.decode(errors="replace").split("\0")
        if len(parts) != _PARTS:
            raise _denied(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        acts_for, user, password = parts
        if not user:
            raise _denied("Authentication failed: username not specified")
        if not password:
            raise _denied("Authentication failed: password not specified")
        # Compare in constant time, even for an unknown user, so that the time reveals nothing.
        expected = self._passwords.get(user, "")
        if not hmac.compare_digest(password.encode(), expected.encode()):
            raise _denied("Authentication failed: Invalid username or password")
        if acts_for not in ("", user):
            raise _denied(
                "Authentication failed: Client requested an authorization id that is different"
                " from username"
            )
        self.user = user
        return b""


def _denied(message: str) -> Denied:
    return Denied(message, message)
