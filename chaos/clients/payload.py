"""What a record carries: the value, the run it belongs to, and a checksum over both.

A payload that was altered, cut, mixed up or left over from another run is told from ours, and a
checker then speaks of a phantom instead of crashing or, worse, of a value that it mistook.
"""

from __future__ import annotations

import hashlib
import struct
from zlib import crc32

_FORM = struct.Struct(">q8sI")  # value, nonce of the run, CRC-32 of the bytes before
_SIGNED = 16


def nonce_of(run_id: str) -> bytes:
    """Eight bytes that no other run has, but a replay of its directory finds again."""
    return hashlib.sha256(run_id.encode()).digest()[:8]


def encode(value: int, nonce: bytes) -> bytes:
    """The payload of one value."""
    signed = struct.pack(">q8s", value, nonce)
    return signed + struct.pack(">I", crc32(signed))


def decode(payload: bytes | None, nonce: bytes) -> tuple[int | None, str | None]:
    """(value, None), or (None, why these bytes are not what this run has sent)."""
    if payload is None:
        return None, "the record has no value"
    if len(payload) != _FORM.size:
        return None, f"{len(payload)} bytes instead of {_FORM.size}: {payload[:64].hex()}"
    value, found, checksum = _FORM.unpack(payload)
    if crc32(payload[:_SIGNED]) != checksum:
        return None, f"the checksum does not match: {payload.hex()}"
    if found != nonce:
        return None, f"sent by another run ({found.hex()}): {payload.hex()}"
    return int(value), None
