"""A proxy in front of a broker that spoils the answers of one API, each in the same way."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum

from reference_impl.wire import FrameReader

_SIZE, _REQUEST, _CORRELATION_ID = struct.Struct(">i"), struct.Struct(">hhi"), struct.Struct(">i")


class Spoiling(StrEnum):
    """A way in which the proxy spoils an answer."""

    SIZE = "size"
    """It has the size -5."""
    GARBAGE = "garbage"
    """Its correlation id is right, and random bytes follow."""
    SILENCE = "silence"
    """It never comes."""
    CLOSE = "close"
    """The connection is closed instead."""


class BreakingProxy:
    """Passes everything on between clients and one broker, except the answers of `api_key`, which
    it spoils."""

    def __init__(self) -> None:
        self.api_key: int | None = None
        self.spoiling = Spoiling.SIZE
        self.broker: tuple[str, int] | None = None
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        assert self.broker is not None
        with suppress(OSError), client, socket.create_connection(self.broker) as broker:
            self._open |= {client, broker}
            for each in (client, broker):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            apis: dict[int, int] = {}
            forward = (client, broker, apis)
            threading.Thread(target=self._requests, args=forward, daemon=True).start()
            self._answers(client, broker, apis)

    def _requests(self, client: socket.socket, broker: socket.socket, apis: dict[int, int]) -> None:
        """Pass requests on, and note the API of each correlation id."""
        reader = FrameReader()
        with suppress(OSError):
            while data := client.recv(1 << 16):
                with suppress(Exception):  # the broker judges what is no frame
                    for frame in reader.feed(data):
                        key, _, correlation_id = _REQUEST.unpack_from(frame)
                        apis[correlation_id] = key
                broker.sendall(data)
            broker.shutdown(socket.SHUT_WR)

    def _answers(self, client: socket.socket, broker: socket.socket, apis: dict[int, int]) -> None:
        reader = FrameReader()
        while data := broker.recv(1 << 16):
            for frame in reader.feed(data):
                (correlation_id,) = _CORRELATION_ID.unpack_from(frame)
                if apis.pop(correlation_id, None) != self.api_key:
                    client.sendall(_SIZE.pack(len(frame)) + frame)
                elif self.spoiling is Spoiling.SIZE:
                    client.sendall(_SIZE.pack(-5) + frame)
                elif self.spoiling is Spoiling.GARBAGE:
                    junk = frame[:4] + os.urandom(max(8, len(frame) - 4))
                    client.sendall(_SIZE.pack(len(junk)) + junk)
                elif self.spoiling is Spoiling.CLOSE:
                    return
        client.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close the listener and every connection."""
        for each in (self._listening, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


@contextmanager
def breaking_proxy() -> Iterator[BreakingProxy]:
    """Provide a proxy, whose broker is yet to be named."""
    proxy = BreakingProxy()
    try:
        yield proxy
    finally:
        proxy.close()
