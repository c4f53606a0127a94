"""The connections that a client or a node opens: requests become bytes, and answers become
events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import cast

from reference_impl.access import LoginRefused, login
from reference_impl.access.connecting import check_port, not_a_host
from reference_impl.host.outgoing.access_to import IN_PLAINTEXT, AccessTo
from reference_impl.host.outgoing.failures import (
    Progress,
    why_it_broke,
    why_not_connected,
    why_unreadable,
)
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

HANDSHAKE_S = 10.0
"""The longest time in seconds for a TLS handshake (socket.connection.setup.timeout.ms)."""
RENEWED_AFTER = 0.9
"""The part of a session after which the next request is preceded by a new login (KIP-368)."""


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
        self._access = access = connections.access_to(destination)
        self._versions: dict[int, int] = {}
        """API key -> newest version, as the broker told before the first login."""
        self._login = login(access, self._versions) if access.uses_sasl else None
        """The login, until it is finished; then None."""
        self._answers_before_login = 0
        """The number of answers that come before those of a login that renews the session."""
        self._renewal_s: float | None = None
        """The time of the loop after which the login is renewed, None if the session does not
        end."""
        self._progress = Progress.NONE
        self._is_over = False
        self._opening = asyncio.get_running_loop().create_task(self._open())

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            host, port = self._destination.host, self._destination.port
            where = self._connections.resolve.get(host, host)
            check_port(port)
            if self._access.uses_tls:
                await loop.create_connection(
                    lambda: self,
                    where,
                    port,
                    ssl=self._access.context,
                    server_hostname=host,
                    ssl_handshake_timeout=HANDSHAKE_S,
                )
            else:
                await loop.create_connection(lambda: self, where, port)
        except OSError as error:
            self._fail(*why_not_connected(error, self._access, host))
        except ValueError as error:  # UnicodeError, or a NUL in the name
            self._fail(not_a_host(host, error), is_refusal=False)

    def ask(self, effect: Ask) -> None:
        """Send a request over this connection, or queue it until the connection is established and
        logged in. Drop it if the connection is closing, whose loss is reported soon."""
        frame = encode_request(
            effect.api_key, effect.api_version, effect.request_id, effect.client_id, effect.body
        )
        self._renew_login()
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

    def _fail(self, reason: str, is_refusal: bool) -> None:
        """Report that the connection is lost. is_refusal: whether the broker, though there, gave no
        access."""
        if not self._is_over:
            self._is_over = True
            if is_refusal:
                self._connections.refused(self._destination, reason)
            self._connections.lost(self._destination, reason)

    def _renew_login(self) -> None:
        """Begin a new login if the session ends soon. Answers to the requests that are in flight
        come before its own, since brokers answer in order."""
        if self._renewal_s is None or self._transport is None or self._login is not None:
            return
        if asyncio.get_running_loop().time() >= self._renewal_s:
            self._renewal_s = None
            self._answers_before_login = len(self._asked)
            self._login = login(self._access, self._versions)
            self._transport.write(next(self._login))

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
        except StopIteration as done:
            self._login = None
            if done.value:
                session_s = done.value / 1000
                self._renewal_s = asyncio.get_running_loop().time() + RENEWED_AFTER * session_s
            self._send_what_waits()

    def connection_lost(self, exc: Exception | None) -> None:
        logs_in = self._login is not None
        self._fail(*why_it_broke(exc, self._access, self._progress, logs_in=logs_in))

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._reader.feed(data):
                if self._login is not None and self._answers_before_login == 0:
                    self._log_in(frame)
                elif not self._is_over:
                    self._answers_before_login = max(0, self._answers_before_login - 1)
                    self._connections.answered(*self._decode(frame))
                if self._progress is Progress.NONE:
                    self._progress = Progress.VERSIONS
        except LoginRefused as error:
            self._fail(str(error), is_refusal=True)
            self.abandon()
        except Malformed as error:
            self._fail(*why_unreadable(error, data, self._access, self._progress))
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
        if api_key != ApiKey.API_VERSIONS:
            self._progress = Progress.SERVED
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
        access_to: AccessTo = IN_PLAINTEXT,
        resolve: Mapping[str, str] | None = None,
        on_refused: Callable[[Destination, str], None] = lambda *_: None,
    ) -> None:
        """Open no connection yet.

        answered gets the body of each answer, or None soon after a request that expects none, even
        if that is not written yet. on_lost gets each connection that could not be made, or broke.
        access_to: gives the security settings for each destination. resolve: host name -> address,
        used before the system's resolver. on_refused gets, before on_lost, each connection that
        failed although the broker is there: by TLS, by its login, or because it closed it before
        any answer.
        """
        self.access_to = access_to
        self.refused = on_refused
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
