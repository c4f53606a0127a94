"""Encode and decode messages that are records of a log: coordinator records and metadata records.

Source: Java classes MessageUtil (toVersionPrefixedBytes), CoordinatorRecordSerde (the key starts
with its record type, the value with its version) and AbstractApiMessageSerde (metadata records:
frame version 1, api key and version as unsigned varints).
"""

from __future__ import annotations

import struct
from functools import lru_cache

from reference_impl.wire.codec.fields import Struct
from reference_impl.wire.codec.primitives import read_uvarint, uvarint
from reference_impl.wire.codec.schema import Definition
from reference_impl.wire.malformed import Malformed
from reference_impl.wire.messages import LATEST, definition, table

Bytes = bytes | bytearray | memoryview
METADATA_FRAME_VERSION = 1
GROUP, TRANSACTION, SHARE = "group-coordinator", "transaction-coordinator", "share-coordinator"
"""The coordinators that own the records; they use the same api keys, each in a topic of its own."""
_INT16 = struct.Struct(">h")


def encode_versioned(of: Definition, message: Struct, version: int) -> bytes:
    """Return an int16 version followed by the message, as in coordinator values and in
    ConsumerProtocolSubscription."""
    return _INT16.pack(version) + of.encode(message, version)


def decode_versioned(of: Definition, data: Bytes) -> tuple[int, Struct]:
    """Return (version, message) of bytes in the form that `encode_versioned` writes. Raise
    Malformed for other bytes."""
    version = _int16(data, of.name)
    return version, of.decode(memoryview(data)[2:], version)


def encode_key(of: Definition, key: Struct, version: int = 0) -> bytes:
    """Return an int16 record type followed by the key. In the definitions up to 3.9 the keys have
    no api key; there, `version` is the record type."""
    record_type = version if of.api_key is None else of.api_key
    return _INT16.pack(record_type) + of.encode(key, version)


def decode_record(
    key: Bytes, value: Bytes | None, module: str = GROUP
) -> tuple[Struct, Struct | None]:
    """Return (key, value) of one coordinator record; the value is None for a tombstone. Raise
    Malformed for an unknown record type, or bytes that are not of that type."""
    record_type = _int16(key, f"{module} record key")
    names = coordinator_types(module).get(record_type)
    if names is None:
        raise Malformed(f"record type {record_type} is unknown", message=f"{module} record key")
    key_struct = definition(names[0]).decode(memoryview(key)[2:], 0)
    if value is None:
        return key_struct, None
    return key_struct, decode_versioned(definition(names[1]), value)[1]


def encode_record(
    key: Struct, value: Struct | None, version: int = 0
) -> tuple[bytes, bytes | None]:
    """Return (key, value) of one coordinator record as bytes, the value in this version. The value
    None, of a tombstone, stays None."""
    key_bytes = encode_key(definition(type(key).__name__), key)
    if value is None:
        return key_bytes, None
    return key_bytes, encode_versioned(definition(type(value).__name__), value, version)


@lru_cache(None)
def coordinator_types(module: str, kafka_version: str = LATEST) -> dict[int, tuple[str, str]]:
    """Return record type -> (name of the key, name of the value) for one coordinator."""
    keys: dict[int, str] = {}
    values: dict[int, str] = {}
    for name, row in table(kafka_version).items():
        if row.get("module") == module and "api_key" in row:
            (keys if row["type"] == "coordinator-key" else values)[row["api_key"]] = name
    return {number: (name, values[number]) for number, name in keys.items()}


def encode_metadata_record(record: Struct, version: int | None = None) -> bytes:
    """Encode one record of the metadata log; by default in its newest version. Raise Malformed if
    it is not a record of that log."""
    of = definition(type(record).__name__)
    if of.api_key is None or of.type != "metadata":
        raise Malformed(f"{of.name} is not a metadata record")
    chosen = of.valid_versions[-1] if version is None else version
    head = uvarint(METADATA_FRAME_VERSION) + uvarint(of.api_key) + uvarint(chosen)
    return head + of.encode(record, chosen)


def decode_metadata_record(data: Bytes) -> tuple[int, Struct]:
    """Decode one record of the metadata log; return (version, record). Raise Malformed for an
    incomplete record, or an unknown frame version or type."""
    view = memoryview(data)
    try:
        frame, position = read_uvarint(view, 0)
        api_key, position = read_uvarint(view, position)
        version, position = read_uvarint(view, position)
    except IndexError:
        raise Malformed("the bytes end too early", message="metadata record") from None
    if frame != METADATA_FRAME_VERSION:
        raise Malformed(f"frame version {frame} is not 1", "frame_version", "metadata record")
    name = _metadata_types().get(api_key)
    if name is None:
        raise Malformed(f"record type {api_key} is unknown", "api_key", "metadata record")
    return version, definition(name).decode(view[position:], version)


@lru_cache(None)
def _metadata_types() -> dict[int, str]:
    # Tiered storage numbers the records of its own topic (KIP-405) from 0 as well.
    return {
        row["api_key"]: name
        for name, row in table().items()
        if row["type"] == "metadata" and not name.startswith("Remote")
    }


def _int16(data: Bytes, what: str) -> int:
    if len(data) < 2:
        raise Malformed("the bytes end before the version or record type", message=what)
    number: int = _INT16.unpack_from(data)[0]
    return number
