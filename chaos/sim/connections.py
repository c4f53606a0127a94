"""The connections that one client, or one node, opens in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from chaos.sim.network import Line, Network
from reference_impl.links.effects import Ask, Destination
from reference_impl.wire import ApiKey, ErrorCode, Struct, decode_response, encode_request


class Connection:
    """One connection in virtual time, which is dialled when it is created. Requests that are sent
    before it is established wait."""

    def __init__(self, owner: Connections, destination: Destination) -> None:
        self._owner = owner
        self._destination = destination
        self._asked: dict[int, tuple[int, int]] = {}
        """Correlation id -> API and version of each request that awaits its answer."""
        self._unsent: list[bytes] = []
        self._line: Line | None = None
        self._is_over = False
        address = (destination.host, destination.port)
        owner.network.dial(address, self._opened, self._received, self._ended, owner.source)

    def ask(self, effect: Ask) -> None:
        """Send a request, or queue it until the connection is established."""
        frame = encode_request(
            effect.api_key, effect.api_version, effect.request_id, effect.client_id, effect.body
        )
        if effect.expects_answer:
            self._asked[effect.request_id] = (effect.api_key, effect.api_version)
        if self._line is None:
            self._unsent.append(frame)
        else:
            self._line.send(frame)

    def abandon(self) -> None:
        """Close the connection at its owner's own request, without reporting that back."""
        self._is_over = True
        if self._line is not None:
            self._line.close()

    def strand(self) -> None:
        """Lose the connection because its owner's machine has lost power; neither side is
        notified."""
        self._is_over = True
        if self._line is not None:
            self._line.strand(is_client=True)

    def _opened(self, line: Line) -> None:
        self._line = line
        if self._is_over:
            line.close()
        for frame in self._unsent:
            line.send(frame)
        self._unsent.clear()

    def _received(self, frame: bytes) -> None:
        if not self._is_over:
            self._owner.answered(*self._decode(bytearray(frame[4:])))

    def _decode(self, frame: bytearray) -> tuple[int, Struct]:
        request_id = int.from_bytes(frame[:4], "big")
        api_key, version = self._asked.pop(request_id)
        code = int.from_bytes(frame[4:6], "big", signed=True)
        if api_key == ApiKey.API_VERSIONS and code == ErrorCode.UNSUPPORTED_VERSION:
            version = 0  # a broker that does not know the version answers in version 0 (KIP-511)
        return request_id, decode_response(frame, api_key, version)[1]

    def _ended(self, reason: str) -> None:
        if not self._is_over:
            self._is_over = True
            self._owner.lost(self._destination, reason)


class Connections:
    """The connections that one client, or one node, has opened."""

    def __init__(
        self,
        network: Network,
        source: int,
        answered: Callable[[int, Struct | None], None],
        on_lost: Callable[[Destination, str], None],
    ) -> None:
        """Open no connection yet. source: the node that opens them, or CLIENTS.

        answered gets the body of each answer, or None where none is expected and the request is
        written. on_lost gets each connection that could not be made, or broke.
        """
        self.network = network
        self.source = source
        self.answered = answered
        self._on_lost = on_lost
        self._open: dict[Destination, Connection] = {}

    def ask(self, effect: Ask) -> None:
        """Send a request, on a new connection if there is none. If it expects no answer, report
        None as its answer soon."""
        connection = self._open.get(effect.destination)
        if connection is None:
            connection = self._open[effect.destination] = Connection(self, effect.destination)
        connection.ask(effect)
        if not effect.expects_answer:
            self.network.agenda.soon(partial(self.answered, effect.request_id, None))

    def hang_up(self, destination: Destination) -> None:
        """Close a connection without reporting that back."""
        if (connection := self._open.pop(destination, None)) is not None:
            connection.abandon()

    def close(self) -> None:
        """Close all connections without reporting that back."""
        for connection in self._open.values():
            connection.abandon()
        self._open.clear()

    def strand(self) -> None:
        """Lose all connections because the owner's machine has lost power; neither side is
        notified."""
        for connection in self._open.values():
            connection.strand()
        self._open.clear()

    def lost(self, destination: Destination, reason: str) -> None:
        """Forget a connection that is gone, or was never established, and report that."""
        self._open.pop(destination, None)
        self._on_lost(destination, reason)
