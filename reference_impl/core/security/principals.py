"""The principal of each connection. Source: KafkaPrincipal.java; KIP-189 (principal builder)."""

from __future__ import annotations

ANONYMOUS = "User:ANONYMOUS"
"""The principal of a client on a listener without authentication."""


class Principals:
    """The principals of the connections that have been authenticated."""

    def __init__(self) -> None:
        self._by_connection: dict[int, str] = {}

    def of(self, connection: int) -> str:
        """Return the principal of a connection as ACLs and quotas name it: `User:NAME`; ANONYMOUS
        if it was not authenticated."""
        return self._by_connection.get(connection, ANONYMOUS)

    def authenticated(self, connection: int, principal: str) -> None:
        """Store the principal of this connection."""
        self._by_connection[connection] = principal

    def forget(self, connection: int) -> None:
        """Forget a closed connection."""
        self._by_connection.pop(connection, None)
