"""Encode and decode payloads: the value, the run it belongs to, and a checksum over everything.

A payload that was altered, truncated, mixed up or left over from another run is recognised as such.
A checker then reports a phantom record instead of crashing or taking it for another value. The
checksum covers the key and the headers too: a record that lost one is not the one that was sent.

    value        number, nonce of the run, checksum, filling (none, but in dressed records)
    key          of workloads that name keys: text. Of other dressed records: begins with FF, which
                 no text does
    headers      of dressed records; a tombstone, which has no value, has its own in a header
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from zlib import crc32

from chaos.values.protocols import Send

_FORM = struct.Struct(">q8sI")  # value, nonce of the run, checksum of all but itself
_SIGNED = 16
TOMBSTONE_HEADER = "touchstone"
_DRESSED = b"\xff"
_BLOCK = 4096
"""The length of the random bytes after which the filling repeats itself, so that codecs can
compress it."""

Header = tuple[str, bytes | None]
Headers = Sequence[Header]


class Carried(NamedTuple):
    """A record's key, value and headers, as given to a client or returned by it."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()


def nonce_of(run_id: str) -> bytes:
    """Return eight bytes that identify a run, derived from this text alone: the same text gives the
    same bytes."""
    return hashlib.sha256(run_id.encode()).digest()[:8]


def record_for(send: Send, index: int, nonce: bytes) -> Carried:
    """Return the key, value and headers of the record for the value number `index` (from 0) of a
    send. A tombstone has the value None, and its payload in a header."""
    value, is_tombstone = send.values[index], bool(send.tombstones) and send.tombstones[index]
    filling, key, headers = b"", None, list[Header]()
    if send.filling:
        filling, key, headers = _dress(value, send.filling[index])
    if send.keys:
        key = send.keys[index].encode()
    if is_tombstone:
        signed = encode(value, nonce, key=key, headers=headers)
        return Carried(None, key, (*headers, (TOMBSTONE_HEADER, signed)))
    return Carried(encode(value, nonce, filling, key, headers), key, headers)


def value_of(carried: Carried, nonce: bytes) -> tuple[int | None, dict[str, Any]]:
    """Return the value in the payload, or None if the run with this nonce has not sent it, and
    further history columns of the record: `checksum`, always; `key` and `tombstone` where the
    workload named a key; `detail`, the reason, where the value is None."""
    payload, key, headers = carried
    extra: dict[str, Any] = {"checksum": checksum_of(carried)}
    named = key is not None and not key.startswith(_DRESSED)
    if named and payload is None:
        found = [content for name, content in headers if name == TOMBSTONE_HEADER]
        payload = found[0] if found else None
        headers = [header for header in headers if header[0] != TOMBSTONE_HEADER]
    if named:
        assert key is not None
        extra |= {"key": key.decode(errors="replace"), "tombstone": carried.value is None}
    value, problem = decode(payload, nonce, key, headers)
    if problem is not None:
        extra["detail"] = problem
    return value, extra


def checksum_of(carried: Carried) -> int:
    """Return the CRC-32 that the history stores of each record, so that sent and read records can
    be compared."""
    value, key, headers = carried
    lengths = f"{'null' if key is None else len(key)} {'null' if value is None else len(value)}"
    checksum = crc32(value or b"", crc32(key or b"", crc32(lengths.encode())))
    return _over_headers(headers, checksum) if headers else checksum


def checksums_of(records: Sequence[Carried]) -> dict[str, Any]:
    """Return the history column `checksum` of a send: a list with the checksum of each record."""
    return {"checksum": [checksum_of(record) for record in records]}


def plain_headers(headers: Iterable[tuple[str | bytes, Any]] | None) -> list[Header]:
    """Return headers as pairs of text and bytes, or an empty list for None. (Some clients return
    the names as bytes.) The content of a header may be None."""
    return [
        (name if isinstance(name, str) else name.decode(errors="replace"), content)
        for name, content in headers or ()
    ]


def encode(
    value: int, nonce: bytes, filling: bytes = b"", key: bytes | None = None, headers: Headers = ()
) -> bytes:
    """Return the payload that encodes one value: value, nonce, a checksum of all parts, filling."""
    signed = struct.pack(">q8s", value, nonce)
    return signed + struct.pack(">I", _checksum(signed, filling, key, headers)) + filling


def decode(
    payload: bytes | None, nonce: bytes, key: bytes | None = None, headers: Headers = ()
) -> tuple[int | None, str | None]:
    """Return (value, None), or (None, the reason why the run with this nonce has not sent these
    bytes with this key and these headers)."""
    if payload is None:
        return None, "the record has no value"
    shown = payload[:64].hex()
    if len(payload) < _FORM.size:
        return None, f"{len(payload)} bytes instead of {_FORM.size}: {shown}"
    value, found, checksum = _FORM.unpack_from(payload)
    if _checksum(payload[:_SIGNED], payload[_FORM.size :], key, headers) != checksum:
        return None, f"the checksum does not match: {len(payload)} bytes, {shown}"
    if found != nonce:
        return None, f"sent by another run ({found.hex()}): {shown}"
    return int(value), None


def _checksum(signed: bytes, filling: bytes, key: bytes | None, headers: Headers) -> int:
    checksum = crc32(filling, crc32(signed))
    if key is not None:
        checksum = crc32(key, checksum)
    return _over_headers(headers, checksum)


def _over_headers(headers: Headers, checksum: int) -> int:
    for name, content in headers:
        # Lengths too, so that no byte can move from a name to its content.
        told = f"{len(name)} {'null' if content is None else len(content)} {name}"
        checksum = crc32(content or b"", crc32(told.encode(), checksum))
    return checksum


def bears(nonce: bytes, value: bytes | None, headers: Iterable[tuple[str, bytes | None]]) -> bool:
    """Return whether a record's value, or the header of a tombstone, contains this run's nonce."""
    contents = (value, *(content for name, content in headers if name == TOMBSTONE_HEADER))
    return any(content is not None and content[8:_SIGNED] == nonce for content in contents)


def _dress(value: int, size: int) -> tuple[bytes, bytes, list[Header]]:
    """Return the filling of `size` bytes, the key and the headers of a dressed record. All are
    derived from the value: the key has 1 to 50 bytes, and there are 0 to 3 headers, the second of
    them empty and the third null."""
    block = hashlib.shake_128(struct.pack(">q", value)).digest(_BLOCK)
    filling = (block * (size // _BLOCK + 1))[:size]
    headers: list[Header] = [("full", block[:100]), ("empty", b""), ("null", None)]
    return filling, _DRESSED + block[: value % 50], headers[: value % 4]
