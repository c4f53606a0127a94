"""The connections on which a simulated node is asked, and its answers on them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

from chaos.sim.agenda import Agenda, Entry
from chaos.sim.network import Line
from chaos.world import Address
from reference_impl.core.effects import Respond
from reference_impl.core.events import (
    ConnectionClosed,
    ConnectionOpened,
    Event,
    Request,
    RequestArrived,
)
from reference_impl.wire import Malformed, decode_request, encode_response

Make = Callable[[int, int, bytes], Event]
"""A function that makes an event from the wall clock in ms, the monotonic clock in ms, and random
bytes."""


class Served:
    """One connection from the view of its node, which handles one request of it at a time."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.frames: deque[bytes] = deque()
        self.is_busy = False
        self.muted: Entry | None = None


class Serving:
    """The connections to the listeners of one node (network.Server)."""

    def __init__(
        self, agenda: Agenda, listeners: Mapping[Address, str], put: Callable[[Make], None]
    ) -> None:
        """Accept nothing yet. put: a function that queues an event for the node."""
        self.is_open = False
        self._agenda = agenda
        self._listeners = listeners
        self._put = put
        self._served: dict[int, Served] = {}

    # --- network.Server ---------------------------------------------------------------------------

    def is_listening(self) -> bool:
        """Return whether connections are accepted. A paused node's kernel accepts them, too."""
        return self.is_open

    def opened(self, line: Line) -> None:
        """Serve a new connection, and tell the node of it."""
        self._served[line.number] = Served(line)
        listener = self._listeners[line.address]
        port = 1024 + line.number % 60_000
        self._put(
            lambda now, ran, chance: ConnectionOpened(now, ran, chance, line.number, listener, port)
        )

    def received(self, line: Line, frame: bytes) -> None:
        """Queue a request behind the unanswered ones of its connection, and hand it to the node if
        there are none."""
        served = self._served.get(line.number)
        if served is not None:
            served.frames.append(frame)
            self._hand_over(served)

    def closed(self, line: Line) -> None:
        """Forget a connection, and tell the node that it is closed."""
        if self._served.pop(line.number, None) is not None:
            self._put(lambda now, ran, chance: ConnectionClosed(now, ran, chance, line.number))

    # --- what the node does -------------------------------------------------------------------

    def respond(self, effect: Respond) -> None:
        """Send an answer, if the connection is still open, and take the next request from it."""
        request = effect.request
        served = self._served.get(request.connection)
        if served is None:
            return
        version = request.api_version if effect.version is None else effect.version
        frame = encode_response(request.api_key, version, request.correlation_id, effect.body)
        served.line.answer(frame)
        self.release(request, effect.throttle_ms)

    def release(self, request: Request, throttle_ms: int) -> None:
        """Mark the connection as ready for its next request, after throttle_ms, and queue that
        request."""
        served = self._served.get(request.connection)
        if served is None:
            return
        served.is_busy = False
        if throttle_ms:
            served.muted = self._agenda.after(throttle_ms / 1000, lambda: self._unmute(served))
        self._hand_over(served)

    def hang_up(self, connection: int, reason: str) -> None:
        """Close one connection."""
        if (served := self._served.get(connection)) is not None:
            served.line.hang_up(reason)

    def end(self, *, loses_power: bool) -> None:
        """End all connections, because the process has ended. loses_power: the clients get no
        notice, because the machine has lost power."""
        self.is_open = False
        served_lines, self._served = list(self._served.values()), {}
        for served in served_lines:
            if loses_power:
                served.line.strand(is_client=False)
            else:
                served.line.hang_up("the node is gone")

    # --- inside -------------------------------------------------------------------------------

    def _hand_over(self, served: Served) -> None:
        if served.is_busy or served.muted is not None or not served.frames:
            return
        frame, line = served.frames.popleft(), served.line
        try:
            header, body = decode_request(bytearray(frame[4:]))
        except Malformed as error:
            line.hang_up(str(error))
            return
        served.is_busy = True
        request = Request(
            line.number,
            header.api_key,
            header.api_version,
            header.correlation_id,
            header.client_id,
            f"/10.0.0.{line.source + 1}",
            body,
            len(frame) - 4,
        )
        self._put(lambda now, ran, chance: RequestArrived(now, ran, chance, request))

    def _unmute(self, served: Served) -> None:
        served.muted = None
        self._hand_over(served)
