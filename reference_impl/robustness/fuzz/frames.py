"""Draw requests that are valid, or have exactly one piece broken.

The pieces of a request carry their field paths (`wire/codec/pieces.py`), so exactly one is dropped,
doubled, resized, or cut; everything around it stays valid.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from reference_impl.robustness.fuzz import chance
from reference_impl.robustness.fuzz.broker import Door
from reference_impl.robustness.fuzz.values import Values
from reference_impl.wire import (
    ApiKey,
    Malformed,
    Struct,
    definition,
    encode_request_header,
    request_definition,
)
from reference_impl.wire.codec.pieces import Piece, pieces
from reference_impl.wire.codec.primitives import uvarint
from reference_impl.wire.codec.schema import Definition

PRINCIPAL = definition("DefaultPrincipalData")
FORWARDED = 0.8
"""The share of Envelope requests that contain another request."""
CLIENT_IDS = ("fuzz", "fuzz-client", "", None, "x" * 300)
LENGTHS = (-1, -2, -(2**31), 0, 1, 2, 127, 128, 1000, 0x7FFF, 0x8000, 10**6, 2**31 - 1)


@dataclass(frozen=True)
class Frame:
    """The bytes of a request without its size, the listener for which it is meant, and the API key,
    version and correlation id with which it was built, even if the bytes were broken afterwards."""

    door: Door
    data: bytes
    api_key: int
    version: int
    correlation_id: int

    @property
    def framed(self) -> bytes:
        """Return the bytes with their size in front."""
        return struct.pack(">i", len(self.data)) + self.data


class Frames:
    """Draws requests of the APIs that the broker advertises on one listener."""

    def __init__(self, random: Random, values: Values, door: Door) -> None:
        self.random = random
        self.door, self.served = door, door.served
        self._values = values
        self._correlation_id = 0

    def any_api(self) -> int:
        """Choose one of the advertised APIs."""
        return self.random.choice(sorted(self.served))

    def version_of(self, api_key: int) -> int:
        """Choose a version of an API; the first and the last are chosen more often."""
        versions = self.served[api_key]
        return self.random.choice((versions[0], versions[-1], self.random.choice(versions)))

    def whole(self, api_key: int) -> Frame:
        """Return a valid request of an API, in a random version and with random values."""
        version = self.version_of(api_key)
        of, body = self._body(api_key, version)
        return self._frame(api_key, version, of.encode(body, version))

    def broken(self, api_key: int) -> Frame:
        """Return a request with one piece broken; by chance it may still be valid."""
        version = self.version_of(api_key)
        of, body = self._body(api_key, version)
        flexible = version in of.flexible_versions
        parts = pieces(of, body, version)
        data = self.random.choice(BREAKERS)(self.random, parts, flexible)
        return self._frame(api_key, version, data)

    def _body(self, api_key: int, version: int) -> tuple[Definition, Struct]:
        """Return a body with random fields. If a random text is too long to be written, draw all
        fields again."""
        of = request_definition(api_key)
        while True:
            body = chance.message(of, version, self.random, self._values.choose)
            if api_key == ApiKey.ENVELOPE and self.random.random() < FORWARDED:
                self._fill(body)
            try:
                of.encode(body, version)
            except Malformed:
                continue
            return of, body

    def _fill(self, envelope: Struct) -> None:
        """Put a request and a principal into an envelope, as a broker does that forwards it."""
        inside = self.random.choice(sorted(self.served.keys() - {ApiKey.ENVELOPE}))
        draw = self.random.choice((self.whole, self.whole, self.broken))
        envelope.request_data = draw(inside).data
        envelope.request_principal = b"\0\0" + PRINCIPAL.encode(
            PRINCIPAL.new(type="User", name="fuzz"), 0
        )
        envelope.client_host_address = bytes(self.random.choice((4, 16)))

    def _frame(self, api_key: int, version: int, body: bytes) -> Frame:
        self._correlation_id += 1
        client_id = self.random.choice(CLIENT_IDS)
        header = encode_request_header(api_key, version, self._correlation_id, client_id)
        return Frame(self.door, header + body, api_key, version, self._correlation_id)


def _joined(pieces: list[Piece]) -> bytes:
    return b"".join(piece.data for piece in pieces)


def _dropped(random: Random, pieces: list[Piece], _flexible: bool) -> bytes:
    """Return the bytes without one piece."""
    at = random.randrange(len(pieces) or 1)
    return _joined(pieces[:at] + pieces[at + 1 :])


def _doubled(random: Random, pieces: list[Piece], _flexible: bool) -> bytes:
    """Return the bytes with one piece, or a series of pieces, repeated."""
    at = random.randrange(len(pieces) or 1)
    run = pieces[at : at + random.randint(1, 5)]
    return _joined(pieces[:at] + run * random.choice((2, 2, 50)) + pieces[at + len(run) :])


def _resized(random: Random, pieces: list[Piece], flexible: bool) -> bytes:
    """Return the bytes with one length or count changed so that it contradicts the content. If
    there is none, add tagged fields, or random bytes at the end of a message without tags."""
    sized = [at for at, piece in enumerate(pieces) if piece.kind in ("length", "count")]
    if not sized:
        return _with_tags(random, pieces, flexible)
    at = random.choice(sized)
    old, length = pieces[at].data, random.choice(LENGTHS)
    if flexible:
        new = uvarint(length + 1 & 0xFFFFFFFF)
    else:
        top = 1 << 8 * len(old)
        new = (length % top).to_bytes(len(old), "big")
    return _joined(pieces[:at]) + new + _joined(pieces[at + 1 :])


def _cut(random: Random, pieces: list[Piece], _flexible: bool) -> bytes:
    """Return the bytes up to a random position."""
    data = _joined(pieces)
    return data[: random.randrange(len(data) or 1)]


def _replaced(random: Random, pieces: list[Piece], _flexible: bool) -> bytes:
    """Return the bytes with one piece replaced by as many bytes that are random, 0xff or 0."""
    if not pieces:
        return random.randbytes(random.randrange(20))
    at = random.randrange(len(pieces))
    new = random.choice((random.randbytes, lambda n: b"\xff" * n, bytes))(len(pieces[at].data))
    return _joined(pieces[:at]) + new + _joined(pieces[at + 1 :])


def _flipped(random: Random, pieces: list[Piece], _flexible: bool) -> bytes:
    """Return the bytes with a few bits flipped."""
    data = bytearray(_joined(pieces))
    for _ in range(random.randint(1, 4) if data else 0):
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(data)


def _swapped(random: Random, pieces: list[Piece], _flexible: bool) -> bytes:
    """Return the bytes with two neighbouring pieces swapped."""
    at = random.randrange(max(1, len(pieces) - 1))
    return _joined(pieces[:at] + pieces[at + 1 : at + 2] + pieces[at : at + 1] + pieces[at + 2 :])


def _with_tags(random: Random, pieces: list[Piece], flexible: bool) -> bytes:
    """Return the bytes with added tagged fields: too many, in a wrong order, larger than the frame,
    or just unknown. Instead add random bytes at the end of a message without tags."""
    counts = [at for at, piece in enumerate(pieces) if piece.kind == "tag_count"]
    if not counts or not flexible:
        return _joined(pieces) + random.randbytes(random.randrange(1, 40))
    at = random.choice(counts)
    tags = [(random.randrange(1 << 20), random.randbytes(random.randrange(9))) for _ in range(3)]
    tags.sort(reverse=random.random() < 0.5)
    claimed = random.choice((len(tags), len(tags), 2, 2**31 - 1))
    inserted = uvarint(claimed) + b"".join(
        uvarint(tag) + uvarint(random.choice((len(raw), len(raw), 10**6))) + raw
        for tag, raw in tags
    )
    return _joined(pieces[:at]) + inserted + _joined(pieces[at + 1 :])


BREAKERS: tuple[Callable[[Random, list[Piece], bool], bytes], ...] = (
    _dropped,
    _doubled,
    _resized,
    _resized,
    _cut,
    _replaced,
    _flipped,
    _swapped,
    _with_tags,
)


def garbage(random: Random, max_frame_bytes: int) -> bytes:
    """Return bytes that are not a request: a wrong size or header, another protocol, or random
    bytes."""
    short = random.randbytes(random.randrange(1, 64))
    return random.choice(
        (
            struct.pack(">i", random.choice((-1, -(2**31), 0, max_frame_bytes + 1, 2**31 - 1))),
            struct.pack(">i", len(short)) + short,
            struct.pack(">ihhih", 10, random.choice((-1, 4, 7, 999)), 0, 1, -1),
            struct.pack(">ihhih", 10, random.randrange(90), random.choice((-1, 99)), 1, -1),
            struct.pack(">ihhih", 10, random.randrange(90), 0, 1, random.choice((-2, 500))),
            b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + random.randbytes(64),
            random.randbytes(random.randrange(4, 3000)),
        )
    )
