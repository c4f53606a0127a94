"""Frames and headers, against bytes written down by hand from the protocol guide."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.wire import (
    ApiKey,
    FrameReader,
    Malformed,
    RequestHeader,
    decode_request,
    decode_request_header,
    decode_response,
    definition,
    encode_request,
    encode_response,
    encode_response_parts,
    request_header_version,
    response_header_version,
)
from reference_impl.wire.messages import KAFKA_VERSIONS, api_keys, request_definition
from reference_impl.wire.tests.memory import peak_memory

# size 20 | api key 3, version 4, correlation 7 | client id "ab" | 1 topic "t" | auto-create yes
METADATA_4 = bytes.fromhex("00000014 0003 0004 00000007 0002 6162 00000001 0001 74 01")
# size 16 | api key 18, version 3, correlation -1 | client id null | header tags: none
# | "x" "1" as compact strings | tags: none
API_VERSIONS_3 = bytes.fromhex("00000010 0012 0003 ffffffff ffff 00 0278 0231 00")


def metadata_request() -> bytes:
    of = definition("MetadataRequest")
    topics = [of.struct("MetadataRequestTopic", name="t")]
    return encode_request(3, 4, 7, "ab", of.new(topics=topics, allow_auto_topic_creation=True))


def test_a_request_with_header_version_1_is_these_bytes() -> None:
    assert metadata_request() == METADATA_4
    header, body = decode_request(METADATA_4[4:])
    assert header == RequestHeader(3, 4, 7, "ab")
    assert [topic.name for topic in body.topics] == ["t"]
    assert body.allow_auto_topic_creation is True


def test_a_request_with_header_version_2_is_these_bytes() -> None:
    of = definition("ApiVersionsRequest")
    body = of.new(client_software_name="x", client_software_version="1")
    assert encode_request(18, 3, -1, None, body) == API_VERSIONS_3
    assert decode_request(API_VERSIONS_3[4:]) == (RequestHeader(18, 3, -1, None), body)


def test_a_version_which_kafka_4_removed_is_spoken_from_the_older_table() -> None:
    body = definition("ProduceRequest", "3.9.1").new(acks=1, timeout_ms=5)
    frame = encode_request(ApiKey.PRODUCE, 2, 1, "me", body)
    assert frame[-10:] == bytes.fromhex("0001 00000005 00000000")
    assert decode_request(frame[4:]) == (RequestHeader(0, 2, 1, "me"), body)
    with pytest.raises(Malformed, match="version 2 is not one of 3 to 13"):
        decode_request(frame[4:], "4.3.1")


def test_unknown_tags_in_a_header_are_skipped() -> None:
    # Tag 100 with 2 bytes, tag 101 with none (KIP-482).
    frame = API_VERSIONS_3[4:].replace(
        bytes.fromhex("ffff00"), bytes.fromhex("ffff 02 64 02 abcd 65 00")
    )
    header, body = decode_request(frame)
    assert header == RequestHeader(18, 3, -1, None)
    assert body.client_software_name == "x"


@pytest.mark.parametrize("tags", ["02 65 00 64 00", "02 64 00 64 00", "01 64 7f", "01", "ff" * 6])
def test_tags_which_do_not_ascend_or_do_not_fit_are_malformed(tags: str) -> None:
    frame = bytes.fromhex("0012 0003 ffffffff ffff" + tags)
    with pytest.raises(Malformed, match="RequestHeader"):
        decode_request_header(frame)


def test_bytes_after_a_request_are_tolerated_but_not_after_a_response() -> None:
    header, _ = decode_request(METADATA_4[4:] + b"surplus")
    assert header.correlation_id == 7
    response = definition("HeartbeatResponse").new(error_code=27)
    frame = encode_response(ApiKey.HEARTBEAT, 4, 7, response)[4:]
    assert decode_response(frame, ApiKey.HEARTBEAT, 4) == (7, response)
    with pytest.raises(Malformed, match="1 bytes are left over"):
        decode_response(frame + b"\0", ApiKey.HEARTBEAT, 4)


def test_the_header_of_an_api_versions_response_stays_at_version_0() -> None:
    # KIP-511: the client may not know yet that the broker speaks flexible headers.
    body = definition("ApiVersionsResponse").new(error_code=35)
    frame = encode_response(ApiKey.API_VERSIONS, 3, 1, body)
    assert frame[4:] == bytes.fromhex("00000001 0023 01 00000000 00")
    assert response_header_version(ApiKey.API_VERSIONS, 3) == 0
    assert response_header_version(ApiKey.METADATA, 9) == 1
    assert response_header_version(ApiKey.METADATA, 8) == 0


def test_header_versions_follow_the_flexible_versions() -> None:
    assert request_header_version(ApiKey.CONTROLLED_SHUTDOWN, 0) == 0
    for kafka_version in KAFKA_VERSIONS:
        for key in api_keys(kafka_version):
            of = request_definition(key, kafka_version)
            for version in of.valid_versions:
                if (key, version) != (7, 0):
                    flexible = version in of.flexible_versions
                    assert request_header_version(key, version) == (2 if flexible else 1)


def test_a_version_which_nobody_serves_still_has_a_header() -> None:
    # A broker answers ApiVersions v99 with UNSUPPORTED_VERSION, so it must read this far.
    header, _ = decode_request_header(bytes.fromhex("0012 0063 00000001 ffff 00"))
    assert header.api_version == 99
    with pytest.raises(Malformed, match="version 99"):
        decode_request(bytes.fromhex("0003 0063 00000001 ffff 00"))


@pytest.mark.parametrize(
    ("frame", "problem"),
    [
        ("", "end too early"),
        ("0003", "end too early"),
        ("0003 0004 00000007", "end too early"),
        ("03e7 0000 00000007 ffff", "api key 999 is unknown"),
        ("0003 0004 00000007 7fff 61", "length 32767 runs past the end"),
        ("0003 0004 00000007 fffe", "negative length -2"),
        ("0003 0004 00000007 0001 ff", "not UTF-8"),
    ],
)
def test_a_header_which_is_none_says_why(frame: str, problem: str) -> None:
    with pytest.raises(Malformed, match=problem):
        decode_request_header(bytes.fromhex(frame))


@given(st.lists(st.binary(max_size=40), max_size=6), st.data())
def test_frames_come_whole_however_the_bytes_are_cut(
    frames: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
    reader, found, position = FrameReader(), [], 0
    while position < len(stream):
        step = data.draw(st.integers(1, len(stream) - position))
        found += reader.feed(stream[position : position + step])
        position += step
    assert found == frames


def test_each_frame_owns_its_bytes() -> None:
    stream = bytearray(struct.pack(">i2s", 2, b"ab") * 2)
    first, second = FrameReader().feed(stream)
    first[0] = 0
    assert bytes(second) == b"ab"
    assert stream[4:6] == b"ab"


@pytest.mark.parametrize("size", [-1, -(1 << 31), 101])
def test_a_size_which_is_negative_or_too_large_is_refused_at_once(size: int) -> None:
    with pytest.raises(Malformed, match="is not between 0 and 100"):
        FrameReader(max_size=100).feed(struct.pack(">i", size))


@pytest.mark.parametrize(
    ("start", "protocol"),
    [(b"\x15\x03\x03\x00", "TLS"), (b"\x16\x03\x01\x02", "TLS"), (b"HTTP", "HTTP")],
)
def test_the_bytes_of_another_protocol_are_named(start: bytes, protocol: str) -> None:
    with pytest.raises(Malformed, match=f"these bytes are {protocol}, not Kafka's protocol"):
        FrameReader().feed(start)


def test_a_size_split_over_two_reads_is_refused_as_soon_as_it_is_known() -> None:
    reader = FrameReader(max_size=100)
    assert reader.feed(b"\x7f\xff") == []
    with pytest.raises(Malformed):
        reader.feed(b"\xff\xff")


def test_a_large_answer_takes_little_more_memory_than_its_bytes() -> None:
    """The parts of an answer of 42 MB took 2.5 GB."""
    of = definition("DeleteAclsResponse")
    row = of.struct("DeleteAclsMatchingAcl", resource_name="t", principal="User:a", host="*")
    result = of.struct("DeleteAclsFilterResult", matching_acls=[row] * 200)
    body = of.new(filter_results=[result] * 100)
    with peak_memory() as peak:
        size = len(encode_response(31, 3, 1, body))
    assert peak() < 4 * size


def test_parts_that_are_no_bytes_are_not_joined_in_a_large_answer() -> None:
    of = definition("FetchResponse")
    slices = [range(index) for index in range(1, 3_001)]
    partitions = [of.struct("PartitionData", partition_index=1, records=each) for each in slices]
    topic = of.struct("FetchableTopicResponse", topic="t", partitions=partitions)
    parts = encode_response_parts(1, 12, 1, of.new(responses=[topic]))
    assert [part for part in parts if type(part) is range] == slices
    assert int.from_bytes(parts[0][:4], "big") == sum(map(len, parts)) - 4
