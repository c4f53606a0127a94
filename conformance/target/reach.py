"""Find out why an address cannot be tested, and say so in one sentence that names the cause.

Before the first case each bootstrap address gets two requests, ApiVersions and Metadata, within one
deadline, which slowly arriving bytes do not extend. Other responses are analysed further (HTTP,
TLS, SASL), since a user must fix each of those in a different place.
"""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any

from chaos.world import Address, joined
from conformance.connection import api_key, request
from reference_impl.access import access_of, enter
from reference_impl.wire import (
    FRAME_BYTES_MAX,
    Malformed,
    Struct,
    decode_response,
    encode_request,
    request_definition,
)

REACH_TIMEOUT_S = 10.0
"""The seconds for each step: to resolve a name, to connect, to get an answer."""
PROTOCOL_TIMEOUT_S = 2.0
"""The seconds for each attempt to find out which other protocol a server speaks that sent no
answer."""
BROKERS_MAX = 200
_CORRELATION_ID = 0x746F7563
_TLS = (
    "{} speaks TLS, and got plain text; describe the cluster in a touchstone.toml, or give a"
    " PLAINTEXT listener"
)
_HTTP = "{} speaks HTTP, not the Kafka protocol; give a broker's address"
_TLS_RECORDS = (b"\x15\x03", b"\x16\x03")  # an alert, a handshake (RFC 8446, record layer)


class Unreachable(Exception):
    """The address cannot be tested; the message is a sentence for the user."""


class _Unfinished(Exception):
    """A response that was never complete."""

    def __init__(self, api: str, received: int = 0, expected: int | None = None) -> None:
        super().__init__()
        self.api, self.received = api, received
        self.bytes = f"{received} of {expected} bytes" if expected else f"{received} bytes"


class _Closed(_Unfinished):
    """The target closed the connection instead of answering."""


class _Late(_Unfinished):
    """The deadline passed before the response was complete."""


def reachable(addresses: Sequence[Address], timeout_s: float = REACH_TIMEOUT_S) -> list[Address]:
    """Return the addresses at which a Kafka answers. Raise Unreachable if there is none, or if a
    broker that one of them advertises accepts no connection.

    Every broker in their Metadata is needed, since cases connect to the leaders of partitions and
    to the coordinators of groups.
    """
    found: list[Address] = []
    causes: list[str] = []
    advertised: dict[int, Address] = {}
    for address in addresses:
        try:
            brokers = check(address, timeout_s)
        except Unreachable as cause:
            causes.append(str(cause))
            continue
        found.append(address)
        advertised |= {b.node_id: (b.host, b.port) for b in brokers}
    if not found:
        raise Unreachable("; ".join(causes))
    others = {node: at for node, at in advertised.items() if at not in found}
    _check_advertised(others, alone=len(advertised) == 1, timeout_s=timeout_s)
    return found


def _check_advertised(brokers: dict[int, Address], *, alone: bool, timeout_s: float) -> None:
    """Raise Unreachable for the first broker that accepts no connection. alone: whether the cluster
    has only one broker, for the message."""
    for node, address in brokers.items():
        try:
            _connect(address, timeout_s).close()
        except Unreachable as cause:
            who = "the broker advertises" if alone else f"broker {node} advertises"
            raise Unreachable(
                f"{who} {joined(address)} to its clients, but {cause}; correct "
                "advertised.listeners, or run where that address can be reached"
            ) from cause


def check(address: Address, timeout_s: float = REACH_TIMEOUT_S) -> list[Struct]:
    """Return the brokers in Metadata if a Kafka answers here. Raise Unreachable otherwise."""
    with _connect(address, timeout_s) as connection:
        try:
            versions = _ask(connection, address, "ApiVersions", 0, timeout_s)
        except _Closed as closed:
            raise Unreachable(_why_closed(address, closed, timeout_s)) from closed
        except _Late as late:
            raise Unreachable(_why_late(address, late, timeout_s)) from late
        if versions.error_code or not versions.api_keys:
            raise Unreachable(
                f"{joined(address)} answers ApiVersions v0 with error {versions.error_code} and "
                f"{len(versions.api_keys)} APIs: it advertises nothing that could be examined"
            )
        advertised = _advertised(address, versions.api_keys)
        if api_key("Metadata") not in advertised:
            raise Unreachable(
                f"{joined(address)} does not advertise Metadata: is it a controller's listener? "
                "give a broker's address"
            )
        return _brokers(connection, address, advertised, timeout_s)


def _advertised(address: Address, rows: Sequence[Struct]) -> dict[int, Struct]:
    """Return API key -> its range of versions. Raise Unreachable if the ranges cannot be used."""
    found: dict[int, Struct] = {}
    for row in rows:
        if row.api_key in found:
            raise Unreachable(f"{joined(address)} advertises API {row.api_key} more than once")
        if not 0 <= row.min_version <= row.max_version:
            raise Unreachable(
                f"{joined(address)} advertises the impossible versions {row.min_version} to"
                f" {row.max_version} of API {row.api_key}; correct what it answers to ApiVersions"
            )
        found[row.api_key] = row
    return found


def _brokers(
    connection: socket.socket, address: Address, advertised: dict[int, Struct], timeout_s: float
) -> list[Struct]:
    served = advertised[api_key("Metadata")]
    version, newest = max(served.min_version, 1), request_definition(3).valid_versions[-1]
    if served.max_version < 1 or version > newest:
        raise Unreachable(
            f"{joined(address)} advertises Metadata v{served.min_version} to"
            f" v{served.max_version}; the examination needs one of v1 to v{newest}"
        )
    try:
        answer = _ask(connection, address, "Metadata", version, timeout_s, topics=[])
        return _checked(address, answer.brokers)
    except (_Unfinished, Unreachable) as error:
        if api_key("SaslHandshake") in advertised and (offered := _sasl(address, timeout_s)):
            raise Unreachable(
                f"{joined(address)} wants SASL ({', '.join(offered)}) before it answers; "
                "describe the cluster in a touchstone.toml, or give a listener without it"
            ) from error
        if isinstance(error, Unreachable):
            raise
        if isinstance(error, _Late):
            raise Unreachable(_why_late(address, error, timeout_s)) from error
        raise Unreachable(
            f"{joined(address)} answers ApiVersions, but closes the connection on Metadata; "
            "look into its log"
        ) from error


def _checked(address: Address, brokers: list[Struct]) -> list[Struct]:
    """Return the brokers of a Metadata answer. Raise Unreachable if there are none, more than can
    be examined, or one whose address is impossible."""
    where = joined(address)
    if not brokers:
        raise Unreachable(f"{where} answers Metadata without any broker; does its cluster run?")
    if len(brokers) > BROKERS_MAX:
        raise Unreachable(
            f"{where} answers Metadata with {len(brokers)} brokers; at most {BROKERS_MAX} can be"
            " examined"
        )
    for broker in brokers:
        if not broker.host or not 0 < broker.port < 1 << 16:
            raise Unreachable(
                f"{where} advertises the impossible address {broker.host!r}, port {broker.port} of"
                f" broker {broker.node_id}; correct advertised.listeners"
            )
    return brokers


def _sasl(address: Address, timeout_s: float) -> list[str]:
    """Return the SASL mechanisms that a listener offers, or [] if it does not answer
    SaslHandshake."""
    try:
        with _connect(address, timeout_s) as connection:
            answer = _ask(connection, address, "SaslHandshake", 1, timeout_s, mechanism="none")
            return list(answer.mechanisms)
    except (_Unfinished, Unreachable):
        return []


def _connect(address: Address, timeout_s: float) -> socket.socket:
    """Return an open connection, inside TLS and logged in if the address says so. Raise Unreachable
    if the name is unknown, the connection is refused, nothing answers, or TLS or the login
    fails."""
    problem: OSError | None = None
    for family, kind, protocol, _, at in _resolved(address, timeout_s):
        connection = socket.socket(family, kind, protocol)
        connection.settimeout(timeout_s)
        try:
            connection.connect(at)
            return enter(connection, access_of(address), address[0], timeout_s)
        except OSError as error:
            connection.close()
            problem = error
    where = joined(address)
    if isinstance(problem, ConnectionRefusedError):
        raise Unreachable(
            f"nothing listens at {where}: connection refused; start it there, or "
            "correct the address"
        ) from problem
    if isinstance(problem, TimeoutError):
        raise Unreachable(
            f"{where} accepts no connection within {timeout_s:g} s; look at the "
            "address and at firewalls"
        ) from problem
    raise Unreachable(
        f"{where} cannot be reached: {problem}; check the address, the network and, if the address"
        " asks for TLS or a login, those settings"
    ) from problem


def _resolved(address: Address, timeout_s: float) -> Iterable[Any]:
    """Return what getaddrinfo returns for an address. Wait for it no longer than timeout_s, which
    getaddrinfo itself does not support. Raise Unreachable if the name does not resolve in time."""
    found: list[Any] = []
    problems: list[OSError] = []

    def resolve() -> None:
        try:
            found.extend(socket.getaddrinfo(*address, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            problems.append(OSError(str(error)))

    resolving = threading.Thread(target=resolve, daemon=True)
    resolving.start()
    resolving.join(timeout_s)
    if not found:
        cause = problems[0] if problems else f"no answer of a name server within {timeout_s:g} s"
        raise Unreachable(f"the host name {address[0]!r} does not resolve ({cause}); correct it")
    return found


def _ask(
    connection: socket.socket,
    address: Address,
    api: str,
    version: int,
    timeout_s: float,
    **fields: Any,
) -> Struct:
    """Send a request and return the decoded response. Raise _Closed if the connection ends, _Late
    if it is not answered in time, and Unreachable if the bytes are no answer to it."""
    deadline = time.monotonic() + timeout_s
    asked = encode_request(
        api_key(api), version, _CORRELATION_ID, "touchstone", request(api, **fields)
    )
    try:
        connection.settimeout(timeout_s)
        connection.sendall(asked)
        received = _answer(connection, address, api, deadline)
        correlation_id, answer = decode_response(received, api_key(api), version)
    except ConnectionError as error:
        raise _Closed(api) from error
    except TimeoutError as error:
        raise _Late(api) from error
    except Malformed as error:
        raise Unreachable(
            f"{joined(address)} answers {api} v{version} with bytes that are no Kafka answer "
            f"({error}); is it a Kafka?"
        ) from error
    if correlation_id != _CORRELATION_ID:
        raise Unreachable(
            f"{joined(address)} answers {api} v{version} with a correlation id that was not sent; "
            "is it a Kafka?"
        )
    return answer


def _answer(connection: socket.socket, address: Address, api: str, deadline: float) -> bytes:
    """Return the next frame without its size. The deadline applies to the whole frame. Raise _Late
    if that passes, _Closed if the connection ends before, and Unreachable for bytes that are no
    size."""
    received, expected = b"", None
    while expected is None or len(received) < expected:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise _Late(api, len(received), expected)
        connection.settimeout(remaining)
        try:
            part = connection.recv(1 << 16)
        except TimeoutError as error:
            raise _Late(api, len(received), expected) from error
        if not part:
            raise _Closed(api, len(received), expected)
        received += part
        if expected is None and len(received) >= 4:
            expected = 4 + _size(address, received)
    return received[4:expected]


def _size(address: Address, received: bytes) -> int:
    """Return the size in front of a response. Raise Unreachable if these bytes cannot be a size."""
    where = joined(address)
    if received.startswith(b"HTTP"):
        raise Unreachable(_HTTP.format(where))
    if received.startswith(_TLS_RECORDS):
        raise Unreachable(_TLS.format(where))
    (size,) = struct.unpack_from(">i", received)
    if not 4 <= size <= FRAME_BYTES_MAX:
        raise Unreachable(
            f"{where} answers with bytes that are no Kafka answer "
            f"(they begin with {received[:8]!r}); is it a Kafka?"
        )
    return int(size)


def _why_late(address: Address, late: _Late, timeout_s: float) -> str:
    where = joined(address)
    if late.received:
        return (
            f"{where} sent only {late.bytes} of its answer to {late.api} within {timeout_s:g} s; "
            "it is too slow to be examined"
        )
    return _other_protocol(address, timeout_s) or (
        f"{where} accepts connections, but does not answer {late.api} within {timeout_s:g} s; "
        "is it a Kafka, and does it run?"
    )


def _why_closed(address: Address, closed: _Closed, timeout_s: float) -> str:
    where = joined(address)
    if closed.received:
        return (
            f"{where} closed the connection after {closed.bytes} of its answer to {closed.api}; "
            "look into its log"
        )
    return _other_protocol(address, timeout_s) or (
        f"{where} closed the connection instead of answering {closed.api} v0; is it a Kafka with "
        "a PLAINTEXT listener?"
    )


def _other_protocol(address: Address, timeout_s: float) -> str | None:
    """Return a sentence that names the protocol spoken there instead, or None. Such a server may
    wait for more bytes, or just close."""
    timeout_s = min(timeout_s, PROTOCOL_TIMEOUT_S)
    for speaks, sentence in ((_speaks_tls, _TLS), (_speaks_http, _HTTP)):
        try:
            with _connect(address, timeout_s) as connection:
                if speaks(connection):
                    return sentence.format(joined(address))
        except (OSError, Unreachable):
            continue
    return None


def _speaks_tls(connection: socket.socket) -> bool:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with context.wrap_socket(connection):
            return True
    except ssl.SSLError as error:
        # An alert, such as one that asks for a client's certificate, is TLS as well.
        return "ALERT" in (error.reason or "")


def _speaks_http(connection: socket.socket) -> bool:
    connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
    return connection.recv(4) == b"HTTP"
