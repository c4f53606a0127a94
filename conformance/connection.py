"""One TCP connection to a target, and the requests that go over it, byte for byte if need be."""

from __future__ import annotations

import itertools
import socket
import struct
import time
from typing import Any

from conformance.case import Deviation
from reference_impl.wire import (
    ApiKey,
    Struct,
    decode_response,
    encode_request,
    request_definition,
)

ANSWER_TIMEOUT_S = 30.0
_CORRELATION = itertools.count(1)


class ConnectionClosed(Exception):
    """The target closed the connection instead of answering."""


class Connection:
    """One TCP connection. Every read is bounded by timeout_s."""

    def __init__(self, host: str, port: int, timeout_s: float = ANSWER_TIMEOUT_S) -> None:
        self.timeout_s = timeout_s
        self.socket = socket.create_connection((host, port), timeout=timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send_bytes(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send(
        self, api: str, version: int, body: Struct, *, client_id: str | None = "touchstone"
    ) -> int:
        """Send a request without waiting; returns its correlation id."""
        correlation_id = next(_CORRELATION)
        self.send_bytes(encode_request(api_key(api), version, correlation_id, client_id, body))
        return correlation_id

    def receive_frame(self, timeout_s: float | None = None) -> bytes:
        """The next answer without its size; ConnectionClosed at the end, TimeoutError if none."""
        deadline = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s)
        (size,) = struct.unpack(">i", self._exactly(4, deadline))
        return self._exactly(size, deadline)

    def receive(self, api: str, version: int) -> tuple[int, Struct]:
        """The next answer as (correlation id, body)."""
        return decode_response(self.receive_frame(), api_key(api), version)

    def call(self, api: str, version: int, body: Struct | None = None, **fields: Any) -> Struct:
        """Send a request and return its answer's body."""
        message = body if body is not None else request(api, **fields)
        correlation_id = self.send(api, version, message)
        answered, answer = self.receive(api, version)
        if answered != correlation_id:
            raise Deviation("correlation id of the answer", correlation_id, answered)
        return answer

    def is_closed_by_peer(self, timeout_s: float = 10.0) -> bool:
        """True once the target closes; False if it answers, or stays silent for timeout_s."""
        try:
            self.socket.settimeout(timeout_s)
            return self.socket.recv(1) == b""
        except TimeoutError:
            return False
        except ConnectionError:
            return True

    def is_silent(self, for_s: float) -> bool:
        """True if nothing at all arrives for so long."""
        try:
            self.socket.settimeout(for_s)
            self.socket.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return True
        except ConnectionError:
            return False
        return False

    def close(self) -> None:
        self.socket.close()

    def _exactly(self, size: int, deadline: float) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError(f"no answer within {self.timeout_s} s")
            self.socket.settimeout(remaining)
            try:
                part = self.socket.recv(min(size - len(parts), 1 << 20))
            except ConnectionResetError as error:
                raise ConnectionClosed("the target reset the connection") from error
            if not part:
                raise ConnectionClosed("the target closed the connection")
            parts += part
        return bytes(parts)


def api_key(api: str) -> int:
    """The key of an API by its Kafka name ("Produce" → 0)."""
    return int(ApiKey[_constant(api)])


def _constant(api: str) -> str:
    out = ""
    for at, letter in enumerate(api):
        before_lower = at + 1 < len(api) and api[at + 1].islower()
        if at and letter.isupper() and (before_lower or api[at - 1].islower()):
            out += "_"
        out += letter.upper()
    return out


def request(api: str, **fields: Any) -> Struct:
    """A request's body; fields that the version in use lacks are not written."""
    return request_definition(api_key(api)).new(**fields)


def part(api: str, struct_name: str, **fields: Any) -> Struct:
    """A nested struct of a request: part("Produce", "TopicProduceData", name="t")."""
    return request_definition(api_key(api)).struct(struct_name, **fields)
