"""Encode and decode the frame around a message on a connection: its size and its header.

Source: Kafka protocol guide, Protocol Common Structure (size, then header, then body);
RequestHeader.json, ResponseHeader.json; KIP-482 (flexible headers); KIP-511 (the response header of
ApiVersions stays at version 0, since a client may not know the broker's versions yet).
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any, NamedTuple

from reference_impl.wire.codec.fields import Struct, parse_versions
from reference_impl.wire.codec.primitives import read_uvarint
from reference_impl.wire.malformed import Malformed, TooManyElements
from reference_impl.wire.messages import (
    KAFKA_VERSIONS,
    request_definition,
    response_definition,
    table,
)

FRAME_BYTES_MAX = 100 * 1024 * 1024  # socket.request.max.bytes, default
OTHER_PROTOCOLS = {b"\x15\x03": "TLS", b"\x16\x03": "TLS", b"HTTP": "HTTP"}
"""The first bytes of a frame -> the protocol that it belongs to (RFC 8446, record layer: an
alert, a handshake)."""
API_VERSIONS = 18
CONTROLLED_SHUTDOWN = 7

_SIZE = struct.Struct(">i")
_API = struct.Struct(">hh")  # api key, api version
_REQUEST_START = struct.Struct(">hhih")  # and correlation id, client id length
_CORRELATION_ID = struct.Struct(">i")


class FrameReader:
    """Cuts the bytes of a connection into frames; each frame owns its bytes, so it may be patched.

    The buffer grows only with bytes that arrive: a claimed size allocates nothing.
    """

    def __init__(self, max_size: int = FRAME_BYTES_MAX) -> None:
        self.max_size = max_size
        self._partial = bytearray()
        """The received part of a frame that is not complete."""

    @property
    def has_more(self) -> bool:
        """Return whether the reader holds bytes of an incomplete frame."""
        return bool(self._partial)

    @property
    def pending_bytes(self) -> int:
        """The number of bytes of an incomplete frame that the reader holds."""
        return len(self._partial)

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytearray]:
        """Return the frames, without their sizes, that these bytes complete. Raise Malformed at an
        impossible size; if frames come before it, return them first, and let the next call raise,
        even one with no bytes."""
        if not self._partial and len(data) >= 4 and self._size_at(data) == len(data) - 4:
            frame = bytearray(data)
            del frame[:4]  # bytearray drops from the front without copying
            return [frame]  # one whole frame, as of nearly every client
        view = memoryview(data)
        frames: list[bytearray] = []
        if self._partial:
            taken = self._finish_partial(view, frames)
            view = view[taken:]
        while len(view) >= 4:
            if frames and not self._may_be(view):
                break
            end = 4 + self._size_at(view)
            if end > len(view):
                break
            frames.append(bytearray(view[4:end]))
            view = view[end:]
        self._partial += view
        if len(self._partial) >= 4 and not frames:
            self._size_at(self._partial)
        return frames

    def _finish_partial(self, view: memoryview, frames: list[bytearray]) -> int:
        """Append bytes to the incomplete frame; add it to `frames` if it is complete. Return the
        number of bytes used."""
        taken = 0
        if len(self._partial) < 4:
            taken = min(4 - len(self._partial), len(view))
            self._partial += view[:taken]
            if len(self._partial) < 4:
                return taken
        missing = 4 + self._size_at(self._partial) - len(self._partial)
        step = min(missing, len(view) - taken)
        self._partial += view[taken : taken + step]
        if step == missing:
            frame, self._partial = self._partial, bytearray()
            del frame[:4]
            frames.append(frame)
        return taken + step

    def _may_be(self, buffer: memoryview) -> bool:
        size: int = _SIZE.unpack_from(buffer)[0]
        return 0 <= size <= self.max_size

    def _size_at(self, buffer: bytes | bytearray | memoryview) -> int:
        size: int = _SIZE.unpack_from(buffer)[0]
        if not 0 <= size <= self.max_size:
            for start, protocol in OTHER_PROTOCOLS.items():
                if bytes(buffer[: len(start)]) == start:
                    raise Malformed(f"these bytes are {protocol}, not Kafka's protocol", "frame")
            raise Malformed(f"size {size} is not between 0 and {self.max_size}", "size", "frame")
        return size


class RequestHeader(NamedTuple):
    """The header of a request; its tagged fields are skipped, since Kafka defines none."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


@lru_cache(None)
def _flexible_versions(kind: str, api_key: int) -> range:
    """Return the flexible versions of an API, from the newest table that knows the API: they never
    change, but APIs are removed. Raise Malformed if no table knows the API."""
    for kafka_version in KAFKA_VERSIONS:
        for row in table(kafka_version).values():
            if row.get("api_key") == api_key and row["type"] == kind:
                return parse_versions(row["flexible"])
    raise Malformed(f"api key {api_key} is unknown", "request_api_key", "RequestHeader")


@lru_cache(4096)
def request_header_version(api_key: int, version: int) -> int:
    """Return the version of RequestHeader for this request (ApiMessageType.requestHeaderVersion).
    Raise Malformed for an unknown api key."""
    if api_key == CONTROLLED_SHUTDOWN and version == 0:
        return 0  # from before client ids: no client_id at all
    return 2 if version in _flexible_versions("request", api_key) else 1


@lru_cache(4096)
def response_header_version(api_key: int, version: int) -> int:
    """Return the version of ResponseHeader for this response (ApiMessageType). Raise Malformed for
    an unknown api key."""
    if api_key == API_VERSIONS:
        return 0
    return 1 if version in _flexible_versions("response", api_key) else 0


def decode_request_header(
    frame: bytes | bytearray | memoryview, tags_max: int | None = None
) -> tuple[RequestHeader, int]:
    """Return the header of a request and the position of its body. The API version may be
    unsupported: a broker answers ApiVersions even then (KIP-511). Raise Malformed if the bytes are
    no header or the api key is unknown, TooManyElements if there are more than tags_max tagged
    fields."""
    try:
        return _decode_request_header(memoryview(frame), tags_max)
    except (struct.error, IndexError):
        raise Malformed("the bytes end too early", message="RequestHeader") from None
    except UnicodeDecodeError as error:
        raise Malformed(f"not UTF-8: {error.reason}", "client_id", "RequestHeader") from None
    except Malformed as error:
        raise error.of("RequestHeader") from None


def _decode_request_header(view: memoryview, tags_max: int | None) -> tuple[RequestHeader, int]:
    api_key, api_version = _API.unpack_from(view)
    header_version = request_header_version(api_key, api_version)
    if header_version == 0:
        return RequestHeader(api_key, api_version, _CORRELATION_ID.unpack_from(view, 4)[0], None), 8
    _, _, correlation_id, length = _REQUEST_START.unpack_from(view)
    position = _REQUEST_START.size
    client_id: str | None = None
    if length >= 0:
        end = position + length
        if end > len(view):
            raise Malformed(f"length {length} runs past the end of {len(view)} bytes", "client_id")
        client_id = str(view[position:end], "utf-8")
        position = end
    elif length != -1:
        raise Malformed(f"negative length {length}", "client_id")
    if header_version == 2:
        position = _skip_tags(view, position, tags_max) if view[position] else position + 1
    return RequestHeader(api_key, api_version, correlation_id, client_id), position


def _skip_tags(view: memoryview, position: int, tags_max: int | None = None) -> int:
    """Return the position after the tagged fields of a header (KIP-482). Their tags must ascend.
    Raise Malformed if they do not or if one runs past the end, TooManyElements if they are more
    than `tags_max`."""
    if view[position] == 0:
        return position + 1
    count, position = read_uvarint(view, position)
    if tags_max is not None and count > tags_max:
        raise TooManyElements
    previous = -1
    for _ in range(count):
        tag, position = read_uvarint(view, position)
        if tag <= previous:
            raise Malformed(
                f"tag {tag} comes after tag {previous}: tags must ascend", "tagged_fields"
            )
        previous = tag
        size, position = read_uvarint(view, position)
        position += size
        if position > len(view):
            raise Malformed(f"tag {tag}: size {size} runs past the end", "tagged_fields")
    return position


def encode_request(
    api_key: int,
    api_version: int,
    correlation_id: int,
    client_id: str | None,
    body: Struct,
    kafka_version: str | None = None,
) -> bytes:
    """Return a request with its size and header, ready to send. kafka_version: None for the newest
    that has this API version. Raise Malformed if none has it, or a value does not fit."""
    parts = _of_api("request", api_key, api_version, kafka_version).encode_parts(body, api_version)
    header = encode_request_header(api_key, api_version, correlation_id, client_id)
    return b"".join(_with_size(header, parts))


def encode_request_header(
    api_key: int, api_version: int, correlation_id: int, client_id: str | None
) -> bytes:
    """Return the header of a request, in the header version that belongs to the request's version.
    Raise Malformed for an unknown api key."""
    header_version = request_header_version(api_key, api_version)
    if header_version == 0:
        return struct.pack(">hhi", api_key, api_version, correlation_id)
    raw = None if client_id is None else client_id.encode()
    length = -1 if raw is None else len(raw)
    start = _REQUEST_START.pack(api_key, api_version, correlation_id, length)
    return start + (raw or b"") + (b"\0" if header_version == 2 else b"")


def decode_request(
    frame: bytes | bytearray | memoryview, kafka_version: str | None = None
) -> tuple[RequestHeader, Struct]:
    """Return (header, body) of a request without its size; bytes after the body are ignored, as
    brokers do (WIRE-21). kafka_version: None for the newest that has this API version. Raise
    Malformed if the bytes are no request."""
    view = memoryview(frame)
    header, start = decode_request_header(view)
    definition = _of_api("request", header.api_key, header.api_version, kafka_version)
    body, _ = definition.decode_prefix(view[start:], header.api_version)
    return header, body


def encode_response(
    api_key: int,
    api_version: int,
    correlation_id: int,
    body: Struct,
    kafka_version: str | None = None,
) -> bytes:
    """Return a response with its size and header, ready to send. kafka_version: None for the newest
    that has this API version. Raise Malformed if none has it, or a value does not fit."""
    return b"".join(
        encode_response_parts(api_key, api_version, correlation_id, body, kafka_version)
    )


def encode_response_parts(
    api_key: int,
    api_version: int,
    correlation_id: int,
    body: Struct,
    kafka_version: str | None = None,
    elements_max: int | None = None,
) -> list[Any]:
    """Return a response as parts, for a sender whose `records` are elsewhere. A field of type
    records may then hold any object that has a length (such as a slice of a file). This object
    becomes a part of its own, and the sender must write that many bytes in its place.
    kafka_version: None for the newest that has this API version. Raise Malformed if no table has
    this version or a value does not fit, TooManyElements if the arrays of the body have more than
    elements_max elements."""
    of = _of_api("response", api_key, api_version, kafka_version)
    parts = of.encode_parts(body, api_version, elements_max)
    tags = b"\0" if response_header_version(api_key, api_version) else b""
    return _with_size(_CORRELATION_ID.pack(correlation_id) + tags, parts)


def decode_response_header(
    frame: bytes | bytearray | memoryview, api_key: int, api_version: int
) -> tuple[int, int]:
    """Return (correlation id, position of the body) of a response. Raise Malformed if the header is
    not complete or well-formed, or the api key is unknown."""
    view = memoryview(frame)
    try:
        correlation_id: int = _CORRELATION_ID.unpack_from(view)[0]
        position = 4
        if response_header_version(api_key, api_version):
            position = _skip_tags(view, position)
    except (struct.error, IndexError):
        raise Malformed("the bytes end too early", message="ResponseHeader") from None
    return correlation_id, position


def decode_response(
    frame: bytes | bytearray | memoryview,
    api_key: int,
    api_version: int,
    kafka_version: str | None = None,
) -> tuple[int, Struct]:
    """Return (correlation id, body) of a response without its size. kafka_version: None for the
    newest that has this API version. Raise Malformed if the bytes are not exactly that."""
    view = memoryview(frame)
    correlation_id, start = decode_response_header(view, api_key, api_version)
    definition = _of_api("response", api_key, api_version, kafka_version)
    return correlation_id, definition.decode(view[start:], api_version)


@lru_cache(4096)
def _of_api(kind: str, api_key: int, api_version: int, kafka_version: str | None) -> Any:
    """Return the message definition of this API, from the given Kafka version or else the newest
    that has this API version. Raise Malformed if none has it."""
    find = request_definition if kind == "request" else response_definition
    if kafka_version is not None:
        return find(api_key, kafka_version)
    last: Malformed | None = None
    for candidate in KAFKA_VERSIONS:
        try:
            definition = find(api_key, candidate)
        except Malformed as error:
            last = last or error
            continue
        if api_version in definition.valid_versions:
            return definition
        last = last or Malformed(f"version {api_version} is not served", message=definition.name)
    raise last or Malformed(f"api key {api_key} is unknown")


def _with_size(header: bytes, parts: list[Any]) -> list[Any]:
    """Return the parts of a whole frame: size and header first."""
    return [_SIZE.pack(len(header) + sum(map(len, parts))) + header, *parts]
