"""Requests that are not requests: the connection ends, the broker goes on."""

from __future__ import annotations

import struct

import pytest

from conformance.case import Unsupported, case, expect, expect_that
from conformance.cases.framing.test_requests import still_serves
from conformance.wire import Connection, ConnectionClosed, Wire, request
from reference_impl.wire import encode_request, request_definition

PRODUCE, FETCH, METADATA = 0, 1, 3


def expect_closed(connection: Connection, what: str) -> None:
    expect_that(
        connection.is_closed_by_peer(),
        what,
        "connection closed without an answer",
        "an answer, or an open connection",
    )


def frame(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def header(api_key: int, version: int, client_id: bytes = b"c") -> bytes:
    """Return a version 1 request header."""
    return struct.pack(">hhih", api_key, version, 1, len(client_id)) + client_id


@case("WIRE-08", "ApiVersions", spec="EdgeCaseRequestTest, invalid api key")
def test_an_unknown_api_key_closes_the_connection(wire: Wire) -> None:
    """A request of an unknown api key (999) is not answered: the connection ends, and other
    connections are served."""
    connection = wire.connect()
    connection.send_bytes(frame(header(999, 0)))
    expect_closed(connection, "api key 999")
    still_serves(wire)


@case("WIRE-09", "Metadata", spec="EdgeCaseRequestTest, invalid api version")
def test_an_unsupported_version_closes_the_connection(wire: Wire) -> None:
    """A version that is not served, of an API other than ApiVersions, ends the connection."""
    connection = wire.connect()
    connection.send_bytes(frame(header(METADATA, 99) + b"\0\0\0\0\0\0"))
    expect_closed(connection, "Metadata v99")
    still_serves(wire)


@case("WIRE-10", "Fetch", spec="KIP-896; KAFKA-18659", priority="P1")
def test_versions_that_kafka_4_removed_close_the_connection(wire: Wire) -> None:
    """A broker that does not serve Fetch below v4 serves Produce from v3 on: Produce v0 to v2, and
    Fetch below its first version, are not answered, and the connection ends. Produce is
    nevertheless advertised from v0 on, since librdkafka takes a higher minimum for a broker too old
    to compress."""
    first, _ = wire.advertised["Fetch"]
    if first < 4:
        raise Unsupported(f"Fetch v{first} is served: this is a Kafka from before 4.0")
    expect(wire.advertised["Produce"][0], 0, "first version of Produce that is advertised")
    removed = [(PRODUCE, version) for version in range(3)]
    removed += [(FETCH, version) for version in range(first)]
    for api_key, version in removed:
        connection = wire.connect()
        connection.send_bytes(frame(header(api_key, version) + b"\0" * 40))
        expect_closed(connection, f"api key {api_key} v{version}, removed")
    still_serves(wire)


@case("WIRE-11", "Metadata", spec="EdgeCaseRequestTest, header only request")
def test_a_header_without_a_body_closes_the_connection(wire: Wire) -> None:
    """A request that ends after its header, for an API whose body is not empty, ends the
    connection."""
    connection = wire.connect()
    connection.send_bytes(frame(header(METADATA, 1)))
    expect_closed(connection, "Metadata v1 without a body")
    still_serves(wire)


@case("WIRE-12", "Metadata", spec="EdgeCaseRequestTest, malformed header")
def test_a_client_id_longer_than_the_frame_closes_the_connection(wire: Wire) -> None:
    """A header whose client id claims more bytes than the frame has ends that connection only."""
    connection = wire.connect()
    connection.send_bytes(frame(struct.pack(">hhih", METADATA, 1, 1, 20_000) + b"short"))
    expect_closed(connection, "client id of 20,000 bytes in a frame of 15")
    still_serves(wire)


@pytest.mark.parametrize("size", [-1, -(2**31)], ids="size={}".format)
@case("WIRE-13", "ApiVersions", spec="class NetworkReceive, InvalidReceiveException")
def test_a_negative_size_closes_the_connection(wire: Wire, size: int) -> None:
    """A frame whose size is negative ends the connection."""
    connection = wire.connect()
    connection.send_bytes(struct.pack(">i", size) + b"anything")
    expect_closed(connection, f"frame size {size}")
    still_serves(wire)


@pytest.mark.parametrize("size", [2**31 - 1, 0x47455420], ids=["largest", "GET"])
@case("WIRE-14", "ApiVersions", spec="broker config socket.request.max.bytes; NetworkReceive")
def test_a_size_beyond_the_limit_closes_the_connection(wire: Wire, size: int) -> None:
    """A frame larger than socket.request.max.bytes (100 MiB) ends the connection before its
    payload is sent."""
    connection = wire.connect()
    connection.send_bytes(struct.pack(">i", size))
    expect_closed(connection, f"frame size {size}")
    still_serves(wire)


@case("WIRE-15", "ApiVersions", spec="class RequestHeader.parse", priority="P1")
def test_an_empty_frame_closes_the_connection(wire: Wire) -> None:
    """A frame of size 0 holds no header: the connection ends."""
    connection = wire.connect()
    connection.send_bytes(frame(b""))
    expect_closed(connection, "frame size 0")
    still_serves(wire)


@case("WIRE-16", "Metadata", spec="generated message readers, arrays", priority="P1")
def test_an_array_longer_than_the_frame_closes_the_connection(wire: Wire, version: int) -> None:
    """An array that claims 2^31-1 elements (varint 2^31 in flexible versions) in a short frame
    ends the connection, and the target goes on serving."""
    connection = wire.connect()
    flexible = version in request_definition(METADATA).flexible_versions
    claimed = b"\x80\x80\x80\x80\x08" if flexible else struct.pack(">i", 2**31 - 1)
    connection.send_bytes(
        frame(header(METADATA, version) + (b"\0" if flexible else b"") + claimed + b"\0\0\0\0")
    )
    expect_closed(connection, "array of 2^31-1 topics")
    still_serves(wire)


@case("WIRE-17", "Metadata", versions=(0, 0), spec="generated message readers", priority="P1")
def test_a_negative_array_length_closes_the_connection(wire: Wire, version: int) -> None:
    """A non-nullable array of length -2 ends the connection."""
    # Apache Kafka 4.3.1 reads every negative length of a *nullable* array (Metadata v1+) as null,
    # so that the catalogue's "other than -1" holds for non-nullable arrays only.
    connection = wire.connect()
    connection.send_bytes(frame(header(METADATA, version) + struct.pack(">i", -2) + b"\0\0\0"))
    expect_closed(connection, "array of length -2")
    still_serves(wire)


@case("WIRE-19", "Metadata", versions=(9, 13), spec="KIP-482, Tagged Fields", priority="P1")
def test_tags_out_of_order_harm_nobody(wire: Wire, version: int) -> None:
    """Unknown tags that do not increase are refused by closing, or ignored; other connections are
    served either way."""
    # KIP-482 wants tags in ascending order; Apache Kafka 4.3.1 does not check and answers.
    connection = wire.connect()
    body = encode_request(METADATA, version, 1, "c", request("Metadata", topics=[]))[4:]
    tags = b"\x02" + b"\x65\x01x" + b"\x64\x01x"  # two tags: 101, then 100
    connection.send_bytes(frame(body[:-1] + tags))
    try:
        answered, answer = connection.receive("Metadata", version)
        expect_that(answered == 1 and answer.topics == [], "answer", "id 1, no topics", answer)
    except ConnectionClosed:
        pass  # the stricter reading of KIP-482
    still_serves(wire)


@case("WIRE-18", "Metadata", versions=(9, 13), spec="KIP-482, Tagged Fields", priority="P1")
def test_unknown_tags_are_ignored(wire: Wire, version: int) -> None:
    """Unknown tagged fields (100, 101) are skipped and the request is answered."""
    connection = wire.connect()
    body = encode_request(METADATA, version, 11, "c", request("Metadata", topics=[]))[4:]
    tags = b"\x02" + b"\x64\x01x" + b"\x65\x01x"
    connection.send_bytes(frame(body[:-1] + tags))
    answered, answer = connection.receive("Metadata", version)
    expect_that(answered == 11 and answer.topics == [], "answer", "id 11, no topics", answer)


@case(
    "WIRE-20",
    "Metadata",
    versions=(9, 13),
    spec="class ByteUtils, readUnsignedVarint",
    priority="P1",
)
def test_a_varint_without_an_end_closes_the_connection(wire: Wire, version: int) -> None:
    """An array length whose unsigned varint goes on after its fifth byte ends the connection."""
    connection = wire.connect()
    endless = b"\x80" * 9 + b"\x01"
    connection.send_bytes(frame(header(METADATA, version) + b"\0" + endless + b"\0\0\0\0"))
    expect_closed(connection, "varint of ten bytes")
    still_serves(wire)


@pytest.mark.parametrize(
    "hello", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01"], ids=["http", "tls"]
)
@case("WIRE-26", "ApiVersions", spec="class NetworkReceive, size limit", priority="P1")
def test_another_protocol_closes_the_connection(wire: Wire, hello: bytes) -> None:
    """The first bytes of HTTP or TLS on a plain listener read as a size beyond the limit: the
    connection ends."""
    connection = wire.connect()
    connection.send_bytes(hello)
    expect_closed(connection, repr(hello[:4]))
    still_serves(wire)
