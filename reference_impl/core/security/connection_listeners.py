"""The listener of each connection, and the address under which others know it. KIP-103."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reference_impl.core.security.listeners import Endpoint, Listener


class ConnectionListeners:
    """The listener of each connection; one that is not known here came in by the first."""

    def __init__(
        self,
        of_broker: Iterable[Listener],
        of_controller: Iterable[Listener],
        advertised: Mapping[str, Endpoint],
        first: Endpoint,
    ) -> None:
        self._of_controller = {listener.name: listener for listener in of_controller}
        self._by_name = {listener.name: listener for listener in of_broker} | self._of_controller
        self._advertised = advertised
        self._first = first
        self._of_connection: dict[int, str] = {}

    def opened(self, connection: int, name: str) -> Listener:
        """Note the listener of a new connection, and return it."""
        if name in self._advertised:
            self._of_connection[connection] = name
        return self._by_name[name]

    def closed(self, connection: int) -> None:
        """Forget a closed connection."""
        self._of_connection.pop(connection, None)

    def is_for_controllers(self, connection: int) -> bool:
        """Return whether a connection asks the controller of this node, not the broker."""
        return self._of_connection.get(connection) in self._of_controller

    @property
    def endpoints(self) -> dict[str, Endpoint]:
        """The address that others are given of each listener, by its name."""
        return {name: self._advertised.get(name, self._first) for name in self._by_name}

    def name_of(self, connection: int) -> str:
        """Return the name of the listener at which a connection came in."""
        return self._of_connection.get(connection) or next(iter(self._by_name))

    @property
    def of_brokers(self) -> dict[str, tuple[Endpoint, int]]:
        """The address of each listener of the broker, and its security protocol as its number
        (SecurityProtocol.java)."""
        return {
            name: (self.endpoints[name], 2 * (each.sasl is not None) + (each.tls is not None))
            for name, each in self._by_name.items()
            if name not in self._of_controller
        }

    def advertised_to(self, connection: int) -> Endpoint:
        """Return the address of this node that a client of this connection must use to find it
        again."""
        name = self._of_connection.get(connection)
        return self._first if name is None else self._advertised[name]
