"""One client's connection: pass one request at a time to the node, and send the responses in order.

Source: SocketServer.java (a channel is muted while a request of it is processed), NetworkReceive
(size limits). A frame that cannot be read closes its own connection and no other.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol, TypeVar, cast

from reference_impl.core.events import Request
from reference_impl.core.log.segments.segment import Slice
from reference_impl.core.security.listeners import Listener
from reference_impl.host.node import ELEMENTS_AT_ONCE, NodeHost, Parts
from reference_impl.host.tcp.busy_poll import BusyPoll
from reference_impl.host.tcp.decoding import decoded
from reference_impl.host.tcp.departures import Departure
from reference_impl.host.tcp.entrance.subjects import subject_of_client
from reference_impl.host.tcp.intake import Intake
from reference_impl.host.tcp.responses.responses import Responses
from reference_impl.host.tcp.turns import Turns
from reference_impl.wire import FrameReader, Malformed, TooManyElements

log = logging.getLogger("reference_impl.host")
Done = TypeVar("Done")
TURNS_AFTER_LEAVING = 40
"""The number of turns that a long request gets after its client has left: enough that a batch sent
with acks=0 before the close is not lost, but a request that decompresses to very many records does
not continue for long."""
HALF_CLOSED_S = 0.9
"""The seconds for which a waiting request goes on after its client has closed its sending side: it
may be gone, or read on. It is less than a sweep's interval, so that the second sweep ends it."""


class Shared(Protocol):
    """The state that all connections of a node share; the server (`server.py`) holds it."""

    host: NodeHost
    max_frame_bytes: int
    intake: Intake
    turns: Turns
    busy_poll: BusyPoll
    aside: ThreadPoolExecutor

    def joined(self, connection: Connection) -> None:
        """Note a new client."""

    def left(self, connection: Connection) -> None:
        """Forget a client that is gone."""


class Connection(asyncio.Protocol):
    """One client's connection. At most one of its requests is in progress at the node."""

    def __init__(self, server: Shared, connection_id: int, listener: Listener) -> None:
        self.id = connection_id
        self.listener = listener.name
        self._server = server
        outside = listener.sasl.max_token_bytes if listener.sasl else server.max_frame_bytes
        self._reader = FrameReader(min(outside, server.max_frame_bytes))
        self._frames: deque[bytearray] = deque()
        self._responses = Responses(server.busy_poll)
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._client_host = ""
        self.client_port = 0
        self.subject: str | None = None
        """The subject of the client's certificate, None if it has shown none."""
        self._in_flight = False
        self._gave_way = False
        self._is_aside = False
        """Whether another thread decodes its request or encodes its answer."""
        self._turns_left: int | None = None
        self._is_pumping = False
        self.is_paused = False
        self.is_half_closed = False
        """Whether the end of the client's requests was read."""
        self._sends_no_more_s: float | None = None
        self._must_wait = False
        self._is_held = False
        self._reads_tokens = False
        self._muted: asyncio.TimerHandle | None = None
        self._broken: str | None = None
        self.last_used_s = self._loop.time()
        self.was_answered = False
        """Whether a request of this client has been answered."""

    @property
    def is_idle(self) -> bool:
        """Return whether no request of this connection is in progress or waits for its turn."""
        return not self._in_flight and not self._frames

    @property
    def is_at_long_work(self) -> bool:
        """Return whether a long request of this client is being worked on: it has given way to
        others, or another thread decodes it or encodes its response."""
        return self._gave_way or self._is_aside

    @property
    def _is_encrypted(self) -> bool:
        transport = self._transport
        return transport is not None and transport.get_extra_info("sslcontext") is not None

    # --- asyncio.Protocol ---------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._responses.begin(self._transport)
        peer = transport.get_extra_info("peername")
        self._client_host = f"/{peer[0]}" if peer else ""  # InetAddress.toString, as Kafka shows it
        self.client_port = peer[1] if peer else 0
        self.subject = subject_of_client(transport)
        self._server.joined(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._muted is not None:
            self._muted.cancel()
        self._responses.end()
        self._frames.clear()
        self._server.intake.forget(self)
        if self._gave_way:
            self._turns_left = TURNS_AFTER_LEAVING
        else:
            self._leave()

    def _leave(self) -> None:
        self._server.turns.forget(self)
        self._server.left(self)

    def data_received(self, data: bytes) -> None:
        self.last_used_s = self._loop.time()
        self._server.busy_poll.arrived()
        try:
            self._frames.extend(self._reader.feed(data))
        except Malformed as error:
            self._broken = str(error)  # requests before it are still answered
        self._must_wait = not self._server.intake.note(self, self._reader.pending_bytes)
        self._pump()

    def eof_received(self) -> bool:
        """Return whether to keep the connection open for now. The client has ended its sending
        direction, but may still read the response to a request in progress; the connection is
        closed after that response. TLS has no half-closed connections."""
        if self.is_idle or self._is_encrypted:
            return False
        self._broken = self._broken or "the client sends no more"
        self.is_half_closed = True
        return True

    def pause_writing(self) -> None:
        self._responses.is_caught_up = False

    def resume_writing(self) -> None:
        self._responses.is_caught_up = True
        if self._responses.is_sending_files:
            self._responses.go_on()
        else:
            self._pump()

    # --- Answerable ---------------------------------------------------------------------------

    def answer(self, data: bytes | None) -> None:
        self._in_flight = False
        self.was_answered = True
        self.last_used_s = self._loop.time()
        if data is not None:
            self._responses.gather(data)
        if self._is_pumping:
            return  # it was answered during the hand-over, so the pump goes on by itself
        if self._frames:
            # Another client's request may have answered this one, so let the next request wait for
            # its turn.
            self._responses.send_gathered()
            self._server.turns.wait(self)
        else:
            self._pump()

    def answer_from_files(self, parts: Sequence[bytes | Slice]) -> None:
        """Send a response parts of which lie in files. The request stays in progress until the last
        part is sent, so that no other response comes between."""
        self._responses.send_from_files(parts, self._note_progress, self._sent)

    def _sent(self, error: Exception | None) -> None:
        if error is None:
            self.answer(None)
        else:
            # A part of the response may be sent, so the client could not find the next response.
            log.warning("connection %d from %s closed: %s", self.id, self._client_host, error)
            self.abandon()

    def answer_aside(self, encode: Callable[[], Parts]) -> None:
        self._aside(encode, self._answer_with)

    def _answer_with(self, parts: Parts) -> None:
        if Slice in map(type, parts):
            self.answer_from_files(parts)
        else:
            self.answer(b"".join(cast(Sequence[bytes], parts)))

    def _aside(self, work: Callable[[], Done], then: Callable[[Done], None]) -> None:
        """Run `work` in another thread, then `then` in this one if the client is still connected.
        If `work` raises an error, close the connection."""
        self._is_aside = True
        future = self._loop.run_in_executor(self._server.aside, work)

        def done(future: asyncio.Future[Done]) -> None:
            self._is_aside = False
            if self._transport is None or future.cancelled():
                return
            self._note_use()
            error = future.exception()
            if error is None:
                then(future.result())
            elif isinstance(error, Malformed):
                self.drop(str(error))
            else:
                log.error("connection %d failed; it is closed", self.id, exc_info=error)
                self.drop("internal error")

        future.add_done_callback(done)

    def give_way(self) -> None:
        self._gave_way = True
        self._server.turns.wait(self)

    def mute(self, for_ms: int) -> None:
        self._muted = self._loop.call_later(for_ms / 1000, self._unmute)

    def _unmute(self) -> None:
        self._muted = None
        self._pump()

    def read_tokens(self) -> None:
        self._reads_tokens = True

    def admit(self) -> None:
        self._reads_tokens = False
        self._reader.max_size = self._server.max_frame_bytes

    def drop(self, reason: str) -> None:
        log.info("connection %d from %s closed: %s", self.id, self._client_host, reason)
        self._frames.clear()
        self._responses.send_gathered()
        if self._transport is not None:
            self._transport.close()

    def abandon(self) -> None:
        """Close at once and discard what was not sent."""
        if self._transport is not None:
            self._transport.abort()

    def end(self, reason: str) -> None:
        """Close at once, and log the reason."""
        log.info("connection %d from %s closed: %s", self.id, self._client_host, reason)
        self.abandon()

    # --- admission.Visitor --------------------------------------------------------------------

    @property
    def address(self) -> str:
        return self._client_host.removeprefix("/")

    def hold(self) -> None:
        self._is_held = True
        # asyncio begins to read after connection_made, even if that pauses reading. So pause later.
        self._loop.call_soon(self._pause_or_resume)

    def let_in(self) -> None:
        self._is_held = False
        self._note_use()
        self._pump()

    # --- what the server looks after ----------------------------------------------------------

    @property
    def descriptor(self) -> int:
        """The descriptor of the socket, or -1 after the socket was closed."""
        socket = None if self._transport is None else self._transport.get_extra_info("socket")
        return -1 if socket is None else cast(int, socket.fileno())

    def note_progress(self) -> None:
        """Count a client that slowly receives a long response as active (Selector.java: writes
        count)."""
        if self._responses.has_progressed():
            self._note_use()

    def _note_use(self) -> None:
        self.last_used_s = self._loop.time()

    def _note_progress(self) -> None:
        self._note_use()
        self._server.busy_poll.answered()

    def departed(self, how: Departure) -> None:
        """Close if the client is gone. If it has half-closed, close if it is muted, or if its
        request has waited for others for HALF_CLOSED_S."""
        is_working = self._responses.is_sending_files or self.is_at_long_work
        is_parked = self._in_flight and not is_working
        now_s = self._loop.time()
        if self._sends_no_more_s is None:
            self._sends_no_more_s = now_s
        is_over = now_s - self._sends_no_more_s > HALF_CLOSED_S
        if how is Departure.GONE or self._muted is not None or (is_parked and is_over):
            self.abandon()

    def read_on(self) -> None:
        self._must_wait = False
        self._note_use()
        self._pause_or_resume()

    # --- one request after the other ----------------------------------------------------------

    def take_turn(self) -> None:
        if self._gave_way:
            self._gave_way = False
            self._note_use()
            self._server.host.go_on(self.id)
            if self._turns_left is not None:
                self._turns_left -= 1
                if not self._gave_way or not self._turns_left:
                    self._leave()
        else:
            self._pump()

    def _pump(self) -> None:
        """Pass received requests to the node until the turn ends, one is in progress, or the
        connection is held back, muted, or behind with its responses. Then send the gathered
        responses, and close the connection if it is broken and idle."""
        self._is_pumping = True
        try:
            while self._frames and not (
                self._is_held
                or self._in_flight
                or self._muted is not None
                or not self._responses.is_caught_up
            ):
                self._hand_over(self._frames.popleft())
                if self._frames and self._server.turns.is_over():
                    self._server.turns.wait(self)
                    break
        finally:
            self._is_pumping = False
        self._responses.send_gathered()
        if self._broken is None and self._reader.has_more and self.is_idle:
            self._look_for_bad_size()
        if self._broken is not None and self.is_idle:
            self.drop(self._broken)
        self._pause_or_resume()

    def _look_for_bad_size(self) -> None:
        """Find an impossible frame size after the frames that were just answered."""
        try:
            self._reader.feed(b"")
        except Malformed as error:
            self._broken = str(error)

    def _pause_or_resume(self) -> None:
        """Stop reading while requests wait here, which limits a client that pipelines, and while
        this connection is muted, held, or waits for the server to take in more; else resume."""
        is_muted = self._muted is not None
        is_full = bool(self._frames) or is_muted or self._must_wait or self._is_held
        if is_full == self.is_paused or self._transport is None or self._transport.is_closing():
            return
        self.is_paused = is_full
        if is_full:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _hand_over(self, frame: bytearray) -> None:
        if self._reads_tokens:
            self._in_flight = True
            self._server.host.token_arrived(self.id, bytes(frame))
            return
        try:
            request = self._decode(frame, ELEMENTS_AT_ONCE)
        except TooManyElements:
            self._in_flight = True
            self._aside(partial(self._decode, frame), self._deliver)
        except Malformed as error:
            self.drop(str(error))
        else:
            self._deliver(request)

    def _deliver(self, request: Request) -> None:
        self._in_flight = True
        self._server.host.request_arrived(request)

    def _decode(self, frame: bytearray, elements_max: int | None = None) -> Request:
        apis = self._server.host.node.broker.apis_for(self.id)
        return decoded(frame, apis, elements_max, self.id, self._client_host)
