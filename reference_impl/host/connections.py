"""The connections that a client or a node opens: requests become bytes, and answers become
events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import cast

from reference_impl.access import PLAINTEXT, Access, LoginRefused, login
from reference_impl.links.effects import Ask, Destination, HangUp
from reference_impl.wire import (
    ApiKey,
    ErrorCode,
    FrameReader,
    Malformed,
    Struct,
    decode_response,
    encode_request,
)


class Outgoing(asyncio.Protocol):
    """One connection to a broker, which its creation begins to open. Requests made before it is
    established and logged in are sent afterwards."""

    def __init__(self, connections: Connections, destination: Destination) -> None:
        self._connections = connections
        self._destination = destination
        self._reader = FrameReader()
        self._asked: dict[int, tuple[int, int]] = {}
        """Correlation id -> API and version of each request that awaits its answer."""
        self._unsent: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self._login = login(connections.access) if connections.access.uses_sasl else None
        """The login, until it is finished; then None."""
        self._is_over = False
        self._opening = asyncio.get_running_loop().create_task(self._open())

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            host, port = self._destination.host, self._destination.port
            host = self._connections.resolve.get(host, host)
            access = self._connections.access
            tls = access.context if access.uses_tls else None
            await loop.create_connection(lambda: self, host, port, ssl=tls)
        except OSError as error:
            self._lost(f"no connection: {error}")

    def ask(self, effect: Ask) -> None:
        """Send a request over this connection, or queue it until the connection is established and
        logged in. Drop it if the connection is closing, whose loss is reported soon."""
        frame = encode_request(
            effect.api_key, effect.api_version, effect.request_id, effect.client_id, effect.body
        )
        if effect.expects_answer:
            self._asked[effect.request_id] = (effect.api_key, effect.api_version)
        if self._transport is None or self._login is not None:
            self._unsent.append(frame)
        elif not self._transport.is_closing():  # if it closes, connection_lost follows
            self._transport.write(frame)

    def abandon(self) -> None:
        """Close the connection without telling its owner, which has requested that."""
        self._is_over = True
        self._opening.cancel()
        if self._transport is not None:
            self._transport.abort()

    def _lost(self, reason: str) -> None:
        if not self._is_over:
            self._is_over = True
            self._connections.lost(self._destination, reason)

    # --- asyncio.Protocol ---------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._is_over:
            self._transport.abort()
        elif self._login is not None:
            self._transport.write(next(self._login))
        else:
            self._send_what_waits()

    def _send_what_waits(self) -> None:
        assert self._transport is not None
        self._transport.write(b"".join(self._unsent))
        self._unsent.clear()

    def _log_in(self, frame: bytearray) -> None:
        """Continue the login with the broker's response, and send the waiting requests once it is
        finished. Raise LoginRefused if the broker rejects it or its response cannot be read."""
        assert self._login is not None and self._transport is not None
        try:
            self._transport.write(self._login.send(frame))
        except StopIteration:
            self._login = None
            self._send_what_waits()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost(f"the connection broke: {exc or 'closed by the broker'}")

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._reader.feed(data):
                if self._login is not None:
                    self._log_in(frame)
                elif not self._is_over:
                    self._connections.answered(*self._decode(frame))
        except LoginRefused as error:
            self._lost(str(error))
            self.abandon()
        except Malformed as error:
            self._lost(f"an answer cannot be read: {error}")
            self.abandon()

    def _decode(self, frame: bytearray) -> tuple[int, Struct]:
        request_id = int.from_bytes(frame[:4], "big")
        if request_id not in self._asked:
            raise Malformed(
                f"no request has the correlation id {request_id}",
                "correlation_id",
                "ResponseHeader",
            )
        api_key, version = self._asked.pop(request_id)
        code = int.from_bytes(frame[4:6], "big", signed=True)
        if api_key == ApiKey.API_VERSIONS and code == ErrorCode.UNSUPPORTED_VERSION:
            version = (
                0  # a broker that does not know the version answers in the oldest one (KIP-511)
            )
        return request_id, decode_response(frame, api_key, version)[1]


class Connections:
    """The connections that one client, or one node, has opened."""

    def __init__(
        self,
        answered: Callable[[int, Struct | None], None],
        on_lost: Callable[[Destination, str], None],
        access: Access = PLAINTEXT,
        resolve: Mapping[str, str] | None = None,
    ) -> None:
        """Open no connection yet.

        answered gets the body of each answer, or None soon after a request that expects none, even
        if that is not written yet. on_lost gets each connection that could not be made, or broke.
        resolve: host name -> address, used before the system's resolver.
        """
        self.access = access
        self.resolve = resolve or {}
        self.answered = answered
        self._on_lost = on_lost
        self._open: dict[Destination, Outgoing] = {}

    def ask(self, effect: Ask) -> None:
        """Send a request, on a new connection if there is none. If it expects no answer, report
        None as its answer soon."""
        connection = self._open.get(effect.destination)
        if connection is None:
            connection = self._open[effect.destination] = Outgoing(self, effect.destination)
        connection.ask(effect)
        if not effect.expects_answer:
            loop = asyncio.get_running_loop()
            loop.call_soon(self.answered, effect.request_id, None)

    def hang_up(self, effect: HangUp) -> None:
        """Close a connection, if there is one, without telling `on_lost`."""
        connection = self._open.pop(effect.destination, None)
        if connection is not None:
            connection.abandon()

    def close(self) -> None:
        """Close all connections without telling `on_lost`."""
        for connection in self._open.values():
            connection.abandon()
        self._open.clear()

    def lost(self, destination: Destination, reason: str) -> None:
        """Forget a connection that is gone, or was never established, and tell `on_lost`."""
        self._open.pop(destination, None)
        self._on_lost(destination, reason)
