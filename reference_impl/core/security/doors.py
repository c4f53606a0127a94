"""Which listener each connection came in by, and what that one is called outside. KIP-103."""

from __future__ import annotations

from collections.abc import Mapping

from reference_impl.core.security.listeners import Endpoint, Listener


class Doors:
    """The listeners of one broker. Who is not known here came in by the first."""

    def __init__(
        self, listeners: tuple[Listener, ...], advertised: Mapping[str, Endpoint], first: Endpoint
    ) -> None:
        self._by_name = {listener.name: listener for listener in listeners}
        self._advertised = advertised
        self._first = first
        self._of_connection: dict[int, str] = {}

    def opened(self, connection: int, name: str) -> Listener:
        """Somebody has come in."""
        if name in self._advertised:
            self._of_connection[connection] = name
        return self._by_name[name]

    def closed(self, connection: int) -> None:
        """Somebody is gone."""
        self._of_connection.pop(connection, None)

    def advertised_to(self, connection: int) -> Endpoint:
        """Where a client that came this way finds this broker again."""
        name = self._of_connection.get(connection)
        return self._first if name is None else self._advertised[name]
