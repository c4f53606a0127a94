"""The listener of each connection, and the address of each listener that other nodes and clients
use. KIP-103."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from reference_impl.core.security.listeners import Endpoint, Listener


class ConnectionListeners:
    """The listener of each connection. A connection that was not announced counts as one to the
    first listener."""

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
        """Store the listener of this name as that on which a new connection arrived, and return it.
        Raise KeyError if there is no such listener."""
        self._of_connection[connection] = name
        return self._by_name[name]

    def closed(self, connection: int) -> None:
        """Forget a closed connection."""
        self._of_connection.pop(connection, None)

    def is_for_controllers(self, connection: int) -> bool:
        """Return whether a connection uses a listener for controllers, not one for brokers."""
        return self.name_of(connection) in self._of_controller

    @property
    def endpoints(self) -> dict[str, Endpoint]:
        """Return the address of each listener, by name, that is given to clients and other nodes:
        the advertised one, else the node's first address."""
        return {name: self._advertised.get(name, self._first) for name in self._by_name}

    def name_of(self, connection: int) -> str:
        """Return the name of the listener at which a connection came in, or of the first listener
        if the connection was not announced."""
        return self._of_connection.get(connection) or next(iter(self._by_name))

    @property
    def of_brokers(self) -> dict[str, tuple[Endpoint, int]]:
        """Return the advertised address of each of the broker's listeners, by name, with the number
        of its security protocol (SecurityProtocol.java)."""
        return self._with_protocols(self._by_name.keys() - self._of_controller.keys())

    @property
    def of_controllers(self) -> dict[str, tuple[Endpoint, int]]:
        """Return the advertised address of each of the controller's listeners, by name, with the
        number of its security protocol."""
        return self._with_protocols(self._of_controller.keys())

    def _with_protocols(self, names: AbstractSet[str]) -> dict[str, tuple[Endpoint, int]]:
        return {
            name: (self.endpoints[name], 2 * (each.sasl is not None) + (each.tls is not None))
            for name, each in self._by_name.items()
            if name in names
        }

    def advertised_to(self, connection: int) -> Endpoint:
        """Return the address at which the client of this connection can reach this node again: that
        of the same listener in `endpoints`."""
        return self._advertised.get(self.name_of(connection), self._first)
