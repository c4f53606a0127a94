"""One TCP connection to a target, over which requests can be sent byte for byte."""

from __future__ import annotations

import itertools
import os
import socket
import struct
import time
from collections import deque
from contextlib import closing, suppress
from functools import partial
from typing import Any
from weakref import WeakSet

from chaos.world import joined
from conformance import echoes, invariants
from conformance.case import Deviation
from conformance.exchanges import EXCHANGES
from conformance.invariants.put_off import PUT_OFF, BrokenInvariant
from conformance.patience import HURRIED_TIMEOUT_S, PATIENCE
from conformance.refusals import REFUSALS, Closure
from conformance.terms import TERMS
from reference_impl.access import PLAINTEXT, Access, Endpoint, connect
from reference_impl.wire import (
    API_NAMES,
    FRAME_BYTES_MAX,
    ApiKey,
    Malformed,
    Struct,
    decode_response,
    decode_response_header,
    encode_request,
    request_definition,
)

ANSWER_TIMEOUT_S = 30.0
CLOSED, CLOSED_S, LEAST_CLOSED_S = "the connection is closed", 10.0, 2.0
"""The name of a state that comes at once, and the usual and the shortest wait for it in seconds."""
CONNECTING = "a connection"
"""The name that `Patience` gets, in the place of an API, while a connection is opened."""
UNREAD_TIMEOUT_S = 0.01
"""The seconds to wait for an answer that should have arrived already."""
_CORRELATION = itertools.count(1)


class ConnectionClosed(Exception):
    """The target closed the connection instead of answering."""


class NoAnswer(TimeoutError):
    """The target did not answer in time."""


_OPEN: WeakSet[Connection] = WeakSet()
"""The connections that are open now, whose number a target may limit."""


class Connection:
    """One TCP connection to a target, which its creation opens; it raises OSError, or NoAnswer if
    that takes too long. Every response must be complete within timeout_s, however slowly its bytes
    arrive. Answers to requests of `send` are checked against these (`echoes`, `invariants`)."""

    def __init__(
        self,
        host: str,
        port: int,
        timeout_s: float = ANSWER_TIMEOUT_S,
        *,
        access: Access = PLAINTEXT,
    ) -> None:
        self.timeout_s = timeout_s
        self._unanswered: deque[tuple[int, str, int, Struct]] = deque()
        """(correlation id, API, version, body) of the requests sent by `send`, in the order in
        which answers are due."""
        self._endpoint = Endpoint(host, port, access)
        self.socket = _connected(self._endpoint, timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._used_at, self._idle_s, self._sent_bytes = time.monotonic(), 0.0, 0
        """The time of the last byte; the seconds without a byte before the last request; the size
        of that request."""
        _OPEN.add(self)

    def send_bytes(self, data: bytes) -> None:
        if (api := _api_of(data)) is not None:
            TERMS.require_api(api)
        self.socket.settimeout(self.timeout_s)
        EXCHANGES.sent(data)
        now = time.monotonic()
        self._used_at, self._idle_s, self._sent_bytes = now, now - self._used_at, len(data)
        try:
            self.socket.sendall(data)
        except TimeoutError as error:
            raise NoAnswer(f"the target read no request within {self.timeout_s:g} s") from error
        except ConnectionError:
            self._note_closure()
            raise

    def _note_closure(self) -> None:
        idle_s = max(self._idle_s, time.monotonic() - self._used_at)
        REFUSALS.closed(Closure(idle_s, self._sent_bytes, len(_OPEN)))

    def send(
        self, api: str, version: int, body: Struct, *, client_id: str | None = "touchstone"
    ) -> int:
        """Send a request without waiting for its response, and return its correlation id. Raise
        Unsupported if the terms of the examination forbid it, NoAnswer if the target does not read
        it in time, and ConnectionError if the connection has ended."""
        if api == "Metadata" and body.topics and (version < 4 or body.allow_auto_topic_creation):
            TERMS.require("produce", "Metadata that may create topics")
        correlation_id = next(_CORRELATION)
        REFUSALS.asked(api, body)
        if not (api == "Produce" and body.acks == 0):
            self._unanswered.append((correlation_id, api, version, body))
        self.send_bytes(encode_request(api_key(api), version, correlation_id, client_id, body))
        return correlation_id

    def receive_frame(self, timeout_s: float | None = None) -> bytes:
        """Return the next response without its size. Raise ConnectionClosed if the connection ends
        before, NoAnswer if the time is over, and Malformed for an impossible size."""
        bound_s = self.timeout_s if timeout_s is None else timeout_s
        deadline = time.monotonic() + bound_s
        try:
            (size,) = struct.unpack(">i", self._exactly(4, deadline))
            if not 0 <= size <= FRAME_BYTES_MAX:  # a SASL token may be empty
                raise Malformed(f"an answer cannot have {size} bytes", "size", "frame")
            frame = self._exactly(size, deadline)
        except TimeoutError as error:
            raise NoAnswer(f"no whole answer within {bound_s:g} s") from error
        EXCHANGES.received(frame)
        return frame

    def receive(self, api: str, version: int, awaited: int | None = None) -> tuple[int, Struct]:
        """Return the next response as (correlation id, body), checked against its request. Raise
        NoAnswer, which names the API; ConnectionClosed if the connection ends before; Malformed if
        it cannot be decoded; or Deviation if it has another correlation id than `awaited` (or than
        that of the oldest unanswered request), or contradicts its request. A broken invariant is
        put off to the end of the case."""
        bound_s = PATIENCE.timeout_s(api, self.timeout_s)
        try:
            frame = self.receive_frame(bound_s)
        except NoAnswer as error:
            PATIENCE.note_silence(api)
            raise NoAnswer(f"{api} v{version}: {error}") from error
        PATIENCE.note_answer(api)
        answered, _ = decode_response_header(frame, api_key(api), version)
        if (
            awaited is not None and answered != awaited
        ):  # do not decode its body: it may be of another API
            raise Deviation("correlation id of the answer", awaited, answered)
        asked = self._asked(answered)
        _, answer = decode_response(frame, api_key(api), version)
        if asked is not None:
            REFUSALS.answered(api, version, asked, answer)
            try:
                check_answer(api, version, asked, answer)
                if api == "Fetch":
                    again = partial(self._asked_anew, api, version)
                    invariants.check_moments(version, asked, answer, again)
            except BrokenInvariant as broken:
                PUT_OFF.note(api, broken)
        return answered, answer

    def _asked_anew(self, api: str, version: int, body: Struct) -> Struct | None:
        """Return the answer to a request for the same API over another connection, unchecked, or
        None if that fails. body: the request to send."""
        key, access = api_key(api), self._endpoint.access
        try:
            with closing(Connection(*self._endpoint, access=access)) as anew:
                anew.send_bytes(encode_request(key, version, 0, "touchstone", body))
                return decode_response(anew.receive_frame(), key, version)[1]
        except (OSError, ConnectionClosed, Malformed):
            return None

    def _asked(self, correlation_id: int) -> Struct | None:
        """Return the body of the request that this response must answer, and no longer await it.
        Return None if the request was sent as raw bytes. Raise Deviation if an earlier answer is
        due first."""
        if correlation_id not in (sent for sent, *_ in self._unanswered):
            return None
        expected, _, _, body = self._unanswered.popleft()
        if correlation_id != expected:
            raise Deviation("correlation id of the next answer", expected, correlation_id)
        return body

    def call(self, api: str, version: int, body: Struct | None = None, **fields: Any) -> Struct:
        """Send a request and return the body of its response. body: the request's, made of `fields`
        by default. Raise the errors of `send` and `receive`."""
        message = body if body is not None else request(api, **fields)
        correlation_id = self.send(api, version, message)
        return self.receive(api, version, correlation_id)[1]

    def stop_sending(self) -> None:
        """Close the sending half of the TCP connection, even under TLS. Raise ConnectionClosed if
        the target has closed it."""
        with socket.socket(fileno=os.dup(self.socket.fileno())) as below:
            try:
                below.shutdown(socket.SHUT_WR)
            except OSError as error:
                self._note_closure()
                raise ConnectionClosed("the target closed the connection at once") from error

    def is_closed_by_peer(self, timeout_s: float | None = None) -> bool:
        """Return True as soon as the target closes the connection, or False if it answers or stays
        silent for timeout_s, by default CLOSED_S, or less if the target left others open. The first
        byte of an answer is then lost."""
        try:
            usual_s = PATIENCE.awaited_s(CLOSED, CLOSED_S, LEAST_CLOSED_S)
            self.socket.settimeout(timeout_s or usual_s)
            is_closed = self.socket.recv(1) == b""
        except TimeoutError:
            if timeout_s is None:
                PATIENCE.note_missed(CLOSED)
            return False
        except ConnectionError:
            is_closed = True
        if is_closed:
            PATIENCE.note_reached(CLOSED)
        return is_closed

    def is_silent(self, for_s: float) -> bool:
        """Return True if no byte arrives for this time, False if one does or the connection is
        closed. Consume the whole answer that arrives, if `send` sent its request."""
        try:
            self.socket.settimeout(for_s)
            first = self.socket.recv(1)  # TLS allows no peeking
        except TimeoutError:
            return True
        except ConnectionError:
            return False
        if first and self._unanswered:
            self._note_answer_after(first)
        return False

    def note_unread(self) -> None:
        """Read the answers that have arrived and that nobody has waited for, and remember their
        errors (`REFUSALS`). Wait for each no longer than UNREAD_TIMEOUT_S until it begins, and
        HURRIED_TIMEOUT_S until it is complete."""
        while self._unanswered:
            try:
                self.socket.settimeout(UNREAD_TIMEOUT_S)
                first = self.socket.recv(1)
            except OSError:
                return
            if not first:
                return
            self._note_answer_after(first)

    def _note_answer_after(self, first: bytes) -> None:
        """Read the rest of an answer that nobody has waited for, and remember its errors. Do
        without them if it cannot be decoded, or is not complete within HURRIED_TIMEOUT_S."""
        _, api, version, body = self._unanswered.popleft()
        deadline = time.monotonic() + HURRIED_TIMEOUT_S
        with suppress(ConnectionClosed, OSError, Malformed, struct.error):
            (size,) = struct.unpack(">i", first + self._exactly(3, deadline))
            frame = self._exactly(min(size, FRAME_BYTES_MAX), deadline)
            _, answer = decode_response(frame, api_key(api), version)
            REFUSALS.answered(api, version, body, answer)

    def close(self) -> None:
        _OPEN.discard(self)
        self.socket.close()

    def _exactly(self, size: int, deadline: float) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError
            self.socket.settimeout(remaining)
            try:
                part = self.socket.recv(min(size - len(parts), 1 << 20))
            except ConnectionResetError as error:
                self._note_closure()
                raise ConnectionClosed("the target reset the connection") from error
            if not part:
                self._note_closure()
                raise ConnectionClosed("the target closed the connection")
            self._used_at = time.monotonic()
            parts += part
        return bytes(parts)


def _connected(to: Endpoint, timeout_s: float) -> socket.socket:
    """Return an open connection. Raise NoAnswer if nobody accepts it in time, and OSError if it is
    refused."""
    bound_s = PATIENCE.timeout_s(CONNECTING, timeout_s)
    try:
        return connect(to, bound_s)
    except TimeoutError as error:
        PATIENCE.note_silence(CONNECTING)
        raise NoAnswer(f"{joined(to)} accepts no connection within {bound_s:g} s") from error


def note_unread_answers() -> None:
    """Remember the errors of the answers that have arrived and that the running case has not read:
    one of them may be the reason of its failure."""
    for connection in list(_OPEN):
        connection.note_unread()


def check_answer(api: str, version: int, asked: Struct, answer: Struct) -> None:
    """Raise Deviation if a response contradicts its request, or BrokenInvariant if it contradicts
    itself."""
    echoes.check(api, version, asked, answer)
    invariants.check(api, version, asked, answer)


def api_key(api: str) -> int:
    """Return the key of an API by its Kafka name ("Produce" → 0). Raise KeyError for another
    name."""
    return int(ApiKey[_constant(api)])


def _api_of(data: bytes) -> str | None:
    """Return the API of these bytes if they are one whole request, else None."""
    if len(data) < 8 or int.from_bytes(data[:4], "big") != len(data) - 4:
        return None
    return API_NAMES.get(int.from_bytes(data[4:6], "big"))


def _constant(api: str) -> str:
    out = ""
    for at, letter in enumerate(api):
        before_lower = at + 1 < len(api) and api[at + 1].islower()
        if at and letter.isupper() and (before_lower or api[at - 1].islower()):
            out += "_"
        out += letter.upper()
    return out


def request(api: str, **fields: Any) -> Struct:
    """Return the body of a request; fields that the version in use lacks are not encoded."""
    return request_definition(api_key(api)).new(**fields)


def part(api: str, struct_name: str, **fields: Any) -> Struct:
    """Return a nested struct of a request, by the API's name and its own, with these fields."""
    return request_definition(api_key(api)).struct(struct_name, **fields)
