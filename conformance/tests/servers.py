"""Servers at which no examination is possible, each for another reason."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from conformance.target.certificates import for_loopback
from conformance.tests.fake import FakeKafka, piece, response
from reference_impl.wire import Struct, encode_response

Serve = Callable[[socket.socket], None]


@contextmanager
def serving(serve: Serve) -> Iterator[str]:
    """Give every connection to a function, and provide host:port."""
    listening = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                threading.Thread(target=one, args=(connection,), daemon=True).start()

    def one(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            serve(connection)

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield "{}:{}".format(*listening.getsockname())
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def silent(connection: socket.socket) -> None:
    """Read, and answer nothing."""
    while connection.recv(65_536):
        pass


def garbage(connection: socket.socket) -> None:
    """Answer bytes that are no frame."""
    connection.recv(65_536)
    connection.sendall(b"\xff\xfe\xfd not a frame")


def wrong_body(connection: socket.socket) -> None:
    """Answer a frame with the right correlation id and a body that is none."""
    correlation_id = connection.recv(65_536)[8:12]
    body = correlation_id + b"\0\0\x7f\xff\xff\xff"
    connection.sendall(struct.pack(">i", len(body)) + body)


def http(connection: socket.socket) -> None:
    """Wait for a line, as HTTP servers do, and refuse anything else."""
    received = b""
    while b"\n" not in received:
        part = connection.recv(65_536)
        if not part:
            return
        received += part
    connection.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")


def eager_http(connection: socket.socket) -> None:
    """Refuse at once."""
    connection.recv(65_536)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")


def tls(directory: Path) -> Serve:
    """Speak TLS alone."""
    made = for_loopback()
    key, chain = directory / "key.pem", directory / "chain.pem"
    key.write_text(made.key)
    chain.write_text(made.chain)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)

    def serve(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secured:
            silent(secured)

    return serve


def tls_without_alerts(directory: Path) -> Serve:
    """Close on what is no handshake, without a word, as Java does."""
    secured = tls(directory)

    def serve(connection: socket.socket) -> None:
        if connection.recv(1, socket.MSG_PEEK) == b"\x16":
            secured(connection)

    return serve


def closing_in_the_middle(connection: socket.socket) -> None:
    """Send half of an answer."""
    connection.recv(65_536)
    connection.sendall(struct.pack(">i", 100) + bytes(40))


def trickling(connection: socket.socket) -> None:
    """Send one byte a quarter of a second: each read succeeds, and the answer never ends."""
    connection.recv(65_536)
    for byte in struct.pack(">i", 1000) + bytes(1000):
        connection.sendall(bytes([byte]))
        time.sleep(0.25)


class WantsSasl(FakeKafka):
    """A listener with SASL: ApiVersions and SaslHandshake, then nothing before the login."""

    def __init__(self) -> None:
        super().__init__(
            {
                "Metadata": lambda *_: None,
                "SaslHandshake": lambda *_: response(
                    "SaslHandshake", error_code=33, mechanisms=["PLAIN", "SCRAM-SHA-512"]
                ),
            }
        )


class Elsewhere(FakeKafka):
    """Advertises another address than the one it listens at."""

    def __init__(self, host: str, port: int) -> None:
        self.elsewhere = (host, port)
        super().__init__({"Metadata": self.metadata})

    def metadata(self, _version: int, _request: Struct) -> Struct:
        host, port = self.elsewhere
        broker = piece("Metadata", "MetadataResponseBroker", node_id=1, host=host, port=port)
        return response("Metadata", brokers=[broker])


class Advertises(FakeKafka):
    """Lists these ranges of versions, and these brokers."""

    def __init__(
        self,
        ranges: Sequence[tuple[int, int, int]] = ((3, 0, 13), (18, 0, 4)),
        brokers: Sequence[tuple[str, int]] = (),
    ) -> None:
        self.ranges, self.brokers = ranges, brokers
        super().__init__({"Metadata": self.metadata})

    def api_versions(self, _version: int, _request: Struct) -> Struct:
        rows = [
            piece("ApiVersions", "ApiVersion", api_key=key, min_version=low, max_version=high)
            for key, low, high in self.ranges
        ]
        return response("ApiVersions", api_keys=rows)

    def metadata(self, _version: int, _request: Struct) -> Struct:
        rows = [
            piece("Metadata", "MetadataResponseBroker", node_id=n, host=host, port=port)
            for n, (host, port) in enumerate(self.brokers)
        ]
        return response("Metadata", brokers=rows)


class GoesBad(FakeKafka):
    """A Kafka that turns into one of the servers above, on connections old and new."""

    def __init__(self) -> None:
        self.turned: Serve | None = None
        self.answers_only: frozenset[int] | None = None
        """API keys; other requests are read and left unanswered."""
        super().__init__({"Metadata": self.metadata, "Heartbeat": lambda *_: response("Heartbeat")})

    def metadata(self, _version: int, _request: Struct) -> Struct:
        host, port = self.address
        broker = piece("Metadata", "MetadataResponseBroker", node_id=1, host=host, port=port)
        return response("Metadata", brokers=[broker])

    def _serve(self, connection: socket.socket) -> None:
        if self.turned is None:
            super()._serve(connection)
        else:
            with suppress(OSError), connection:
                self.turned(connection)

    def encoded(self, key: int, version: int, correlation_id: int, answer: Struct) -> bytes:
        if self.turned is not None:
            raise ConnectionAbortedError  # of the connections that were open before
        if self.answers_only is not None and key not in self.answers_only:
            return b""
        return encode_response(key, version, correlation_id, answer)
