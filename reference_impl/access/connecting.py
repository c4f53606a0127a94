"""Open a connection that is ready for requests: TCP, then TLS, then SASL, within one deadline."""

from __future__ import annotations

import socket
import ssl
import time

from reference_impl.access.login import login
from reference_impl.access.places import access_of
from reference_impl.access.settings import Access
from reference_impl.wire import FrameReader, Malformed

_READ_BYTES = 1 << 16
LAST_PORT = 65_535


class AccessError(OSError):
    """TLS could not be established; the message is one sentence."""


def connect(address: tuple[str, int], timeout_s: float) -> socket.socket:
    """Return a connection to the address, opened with the Access that it carries. Raise OSError if
    that fails or takes longer than timeout_s; LoginRefused and AccessError are subclasses of it."""
    deadline = time.monotonic() + timeout_s
    host, port = address[0], address[1]
    check_port(port)
    try:
        connection = socket.create_connection((host, port), timeout=timeout_s)
    except UnicodeError as error:
        raise OSError(not_a_host(host, error)) from error
    access = access_of(address)
    try:
        return enter(connection, access, host, max(deadline - time.monotonic(), 0.001))
    except BaseException:
        connection.close()
        raise


def check_port(port: int) -> None:
    """Raise OSError for a number that is no TCP port: some calls of the system would use its last
    16 bits instead. A broker may name any int32 as its port."""
    if not 0 < port <= LAST_PORT:
        raise OSError(f"{port} is no TCP port: it must be 1 to {LAST_PORT}")


def not_a_host(host: str, error: ValueError) -> str:
    """Return a sentence that says why a name cannot be the name of a host."""
    return f"{host!r} cannot be the name of a host ({error})"


def enter(connection: socket.socket, access: Access, host: str, timeout_s: float) -> socket.socket:
    """Return the connection after TLS and SASL, if the Access demands them. Raise OSError if one of
    them fails or takes too long."""
    deadline = time.monotonic() + timeout_s
    connection.settimeout(timeout_s)
    if access.uses_tls:
        connection = _in_tls(connection, access, host)
    if access.uses_sasl:
        log_in(connection, access, deadline)
    return connection


def _in_tls(connection: socket.socket, access: Access, host: str) -> socket.socket:
    try:
        return access.context.wrap_socket(connection, server_hostname=host)
    except ssl.SSLCertVerificationError as error:
        raise AccessError(
            f"the certificate of {host} is not trusted ({error.verify_message}); give the"
            " certificates that signed it as ssl.ca.location"
        ) from error
    except ssl.SSLError as error:
        raise AccessError(
            f"the TLS handshake with {host} failed ({words(error)}); give a listener that speaks"
            " TLS, and a TLS version, a cipher and, if it asks for one, a certificate that it"
            " accepts"
        ) from error


def words(error: ssl.SSLError, otherwise: str = "no handshake") -> str:
    """Return the reason of an error of TLS in words, such as `wrong version number`. otherwise: the
    words if it has none."""
    return (error.reason or otherwise).lower().replace("_", " ")


def log_in(connection: socket.socket, access: Access, deadline: float) -> int:
    """Log in, and return after how many milliseconds the session expires (0: never). Raise OSError
    if the server refuses or does not answer in time."""
    exchange, reader = login(access), FrameReader()
    request = next(exchange)
    while True:
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        connection.sendall(request)
        try:
            request = exchange.send(_frame(connection, reader, deadline))
        except StopIteration as done:
            return int(done.value)


def _frame(connection: socket.socket, reader: FrameReader, deadline: float) -> bytearray:
    while True:
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        data = connection.recv(_READ_BYTES)
        if not data:
            raise ConnectionResetError("the connection was closed during the login")
        try:
            frames = reader.feed(data)
        except Malformed as error:
            raise ConnectionResetError(f"no response of a Kafka broker came: {error}") from error
        if frames:
            return frames[0]
