"""The codec itself: golden bytes, defaults, nulls, tags, errors with their path."""

from __future__ import annotations

import uuid
from random import Random

import pytest

from reference_impl.robustness.fuzz import chance
from reference_impl.wire import Malformed, definition
from reference_impl.wire.codec.pieces import pieces
from reference_impl.wire.codec.primitives import read_uvarint, uvarint
from reference_impl.wire.messages import KAFKA_VERSIONS, names

PRODUCE = definition("ProduceRequest")
FETCH_RESPONSE = definition("FetchResponse")


def produce(records: bytes | None = b"\1\2\3"):  # type: ignore[no-untyped-def]
    partition = PRODUCE.struct("PartitionProduceData", index=5, records=records)
    topic = PRODUCE.struct("TopicProduceData", name="t", partition_data=[partition])
    return PRODUCE.new(transactional_id=None, acks=-1, timeout_ms=1000, topic_data=[topic])


def test_produce_before_flexible_versions_is_these_bytes() -> None:
    # transactional id null | acks -1 | 1000 ms | 1 topic "t" | 1 partition: 5, 3 bytes
    expected = "ffff ffff 000003e8 00000001 0001 74 00000001 00000005 00000003 010203"
    assert PRODUCE.encode(produce(), 3) == bytes.fromhex(expected)


def test_produce_in_a_flexible_version_is_these_bytes() -> None:
    # Compact lengths are length + 1; each struct ends in its (empty) tagged fields.
    expected = "00 ffff 000003e8 02 02 74 02 00000005 04 010203 00 00 00"
    assert PRODUCE.encode(produce(), 9) == bytes.fromhex(expected)


def test_a_version_which_names_topics_by_id_leaves_the_name_out() -> None:
    message = produce()
    message.topic_data[0].topic_id = uuid.UUID(int=1)
    encoded = PRODUCE.encode(message, 13)
    assert encoded.hex().startswith("00ffff000003e802" + "0" * 31 + "1" + "02")
    decoded = PRODUCE.decode(encoded, 13)
    assert (decoded.topic_data[0].name, decoded.topic_data[0].topic_id.int) == ("", 1)


def test_metadata_response_is_these_bytes() -> None:
    of = definition("MetadataResponse")
    broker = of.struct("MetadataResponseBroker", node_id=1, host="h", port=9092, rack=None)
    partition = of.struct(
        "MetadataResponsePartition",
        partition_index=0,
        leader_id=1,
        leader_epoch=2,
        replica_nodes=[1],
        isr_nodes=[1],
    )
    topic = of.struct("MetadataResponseTopic", name="t", partitions=[partition])
    message = of.new(brokers=[broker], cluster_id="c", controller_id=1, topics=[topic])
    expected = (
        "00000000"  # throttle_time_ms
        " 02 00000001 02 68 00002384 00 00"  # brokers: id, host, port, rack null, tags
        " 02 63 00000001"  # cluster_id, controller_id
        " 02 0000 02 74 00"  # topics: error, name, internal
        " 02 0000 00000000 00000001 00000002 02 00000001 02 00000001 01 00"  # partitions
        " 80000000 00 80000000 00"  # authorized operations of topic and cluster, tags
    )
    assert of.encode(message, 9) == bytes.fromhex(expected)


@pytest.mark.parametrize("kafka_version", KAFKA_VERSIONS)
def test_every_version_of_every_message_comes_back_as_it_went(kafka_version: str) -> None:
    random = Random(f"round trip {kafka_version}")
    versions = 0
    for name in names(kafka_version):
        of = definition(name, kafka_version)
        for version in of.valid_versions:
            message = chance.message(of, version, random)
            encoded = of.encode(message, version)
            assert of.decode(encoded, version) == message
            assert of.decode_prefix(encoded + b"surplus", version) == (message, len(encoded))
            assert b"".join(piece.data for piece in pieces(of, message, version)) == encoded
            versions += 1
    assert versions > 700


@pytest.mark.parametrize("kafka_version", KAFKA_VERSIONS)
def test_every_message_can_be_written_from_its_defaults(kafka_version: str) -> None:
    for name in names(kafka_version):
        of = definition(name, kafka_version)
        for version in of.valid_versions:
            assert of.decode(of.encode(of.new(), version), version) == of.new()


def test_fields_which_a_version_lacks_have_their_default_after_reading() -> None:
    fetch = definition("FetchRequest")
    decoded = fetch.decode(fetch.encode(fetch.new(replica_id=5, session_epoch=9), 4), 4)
    assert (decoded.replica_id, decoded.session_epoch, decoded.cluster_id) == (5, -1, None)
    assert decoded.max_bytes == 0x7FFFFFFF


def test_default_structs_are_not_shared() -> None:
    first, second = (FETCH_RESPONSE.struct("PartitionData") for _ in range(2))
    first.current_leader.leader_id = 7
    first.aborted_transactions = None
    assert second.current_leader.leader_id == -1


def test_a_tagged_field_is_written_only_when_it_differs_from_its_default() -> None:
    data = FETCH_RESPONSE.struct("PartitionData")
    topic = FETCH_RESPONSE.struct("FetchableTopicResponse", partitions=[data])
    message = FETCH_RESPONSE.new(responses=[topic])
    plain = FETCH_RESPONSE.encode(message, 13)
    data.current_leader.leader_id = 3
    assert len(FETCH_RESPONSE.encode(message, 13)) == len(plain) + 2 + 9
    assert FETCH_RESPONSE.decode(FETCH_RESPONSE.encode(message, 13), 13) == message


def test_unknown_tags_are_kept_and_written_again() -> None:
    message = produce()
    message.topic_data[0].unknown_tags = {100: b"ab", 101: b""}
    encoded = PRODUCE.encode(message, 9)
    assert PRODUCE.decode(encoded, 9).topic_data[0].unknown_tags == {100: b"ab", 101: b""}
    assert PRODUCE.encode(PRODUCE.decode(encoded, 9), 9) == encoded


def test_records_are_a_view_into_the_frame_and_bytes_are_not() -> None:
    frame = bytearray(PRODUCE.encode(produce(), 9))
    records = PRODUCE.decode(frame, 9).topic_data[0].partition_data[0].records
    records[0] = 0xEE
    assert bytes.fromhex("ee0203") in bytes(frame)
    sync = definition("SyncGroupResponse")
    assert type(sync.decode(sync.encode(sync.new(assignment=b"a"), 5), 5).assignment) is bytes


@pytest.mark.parametrize(
    ("version", "hexadecimal", "problem"),
    [
        (9, "00 ffff 0000", "ProduceRequest v9, timeout_ms: the bytes end too early"),
        (9, "05 61", "transactional_id: length 4 runs past the end of 2 bytes"),
        (9, "02 ff", "transactional_id: not UTF-8: invalid start byte at byte 0"),
        (3, "fffe", "transactional_id: string has the negative length -2"),
        (3, "ffff ffff 00000000 7fffffff", "topic_data: array of 2147483647 elements cannot fit"),
        (3, "ffff ffff 00000000 ffffffff", "topic_data: array is null"),
        (3, "ffff ffff 00000000 fffffffe", "topic_data: array has the negative length -2"),
        (
            9,
            "00 ffff 00000000 02 02 74 02 00000005 04 01",
            r"topic_data\[0\].partition_data\[0\].records: length 3 runs past the end",
        ),
        (
            9,
            "00 ffff 00000000 02 02 74 03 00000005 00 00 00000006 7f 00 00",
            r"topic_data\[0\].partition_data\[1\].records: length 126 runs past the end",
        ),
        (9, "00 ffff 00000000 01 02 05 00 04 00", "tagged_fields: tag 4 comes after tag 5"),
        (9, "00 ffff 00000000 01 02 05 00 05 00", "tagged_fields: tag 5 comes after tag 5"),
        (9, "00 ffff 00000000 01 01 05 02 00", "tagged_fields: tag 5: size 2 runs past the end"),
        (9, "ff ff ff ff ff 0f", "transactional_id: unsigned varint is longer than 5 bytes"),
        (9, "00 ffff 00000000 01 00 00", "1 bytes are left over after the last field"),
        (2, "00", "version 2 is not one of 3 to 13"),
    ],
)
def test_malformed_bytes_name_the_field_and_what_is_wrong(
    version: int, hexadecimal: str, problem: str
) -> None:
    with pytest.raises(Malformed, match=problem) as caught:
        PRODUCE.decode(bytes.fromhex(hexadecimal), version)
    assert str(caught.value).startswith("ProduceRequest")


def test_a_tagged_field_must_fill_its_size() -> None:
    # FetchRequest v12, tag 0 (cluster_id): size 3, but the string takes 2 bytes.
    fetch = definition("FetchRequest")
    encoded = fetch.encode(fetch.new(cluster_id="c"), 12)
    assert encoded.endswith(bytes.fromhex("01 00 02 02 63"))
    broken = encoded[:-5] + bytes.fromhex("01 00 03 02 63 00")
    with pytest.raises(Malformed, match="tag 0 has size 3 but holds 2 bytes"):
        fetch.decode(broken, 12)
    cut = encoded[:-5] + bytes.fromhex("02 00 01 02 63 00")
    with pytest.raises(Malformed, match="cluster_id: length 1 runs past the end"):
        fetch.decode(cut, 12)


def test_values_which_a_field_cannot_hold_are_refused_with_their_path() -> None:
    message = produce()
    message.topic_data[0].partition_data[0].index = 1 << 31
    with pytest.raises(
        Malformed, match=r"topic_data\[0\]\.partition_data\[0\]\.index: cannot write"
    ):
        PRODUCE.encode(message, 9)
    message = produce()
    message.topic_data[0].name = None
    with pytest.raises(Malformed, match=r"topic_data\[0\]\.name: string is null"):
        PRODUCE.encode(message, 9)
    message = produce()
    message.topic_data[0].name = "x" * 0x8000
    with pytest.raises(Malformed, match="over the limit of 32767"):
        PRODUCE.encode(message, 9)
    message = produce()
    message.topic_data = None
    with pytest.raises(Malformed, match="topic_data: array is null"):
        PRODUCE.encode(message, 9)


def test_an_error_message_that_is_too_long_is_cut_between_characters() -> None:
    """A message may repeat a name of the request, and must not break the answer."""
    of = definition("CreateTopicsResponse")
    for version in (2, 7):
        topic = of.struct("CreatableTopicResult", error_message="é" * 40_000)
        answer = of.decode(of.encode(of.new(topics=[topic]), version), version)
        assert answer.topics[0].error_message == "é" * 16_383


def test_every_error_message_of_the_protocol_is_cut() -> None:
    """The codec shortens fields called error_message: no response has an error message of another
    name."""
    for name in names():
        of = definition(name)
        fields = [field for struct in (of.root, *of._structs.values()) for field in struct.fields]
        texts = [field.name for field in fields if field.type == "string"]
        if name.endswith("Response"):
            assert all(n.endswith("error_message") for n in texts if "message" in n), name


def test_a_number_out_of_range_is_found_among_its_neighbours() -> None:
    of = definition("ProduceResponse")
    partition = of.struct("PartitionProduceResponse", base_offset=5, log_append_time_ms=1 << 63)
    topic = of.struct("TopicProduceResponse", partition_responses=[partition])
    with pytest.raises(
        Malformed, match=r"\[0\]\.log_append_time_ms: cannot write 9223372036854775808"
    ):
        of.encode(of.new(responses=[topic]), 8)


def test_unknown_fields_and_structs_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match="ProduceRequest has no field 'ack'; it has"):
        PRODUCE.new(ack=1)
    with pytest.raises(TypeError, match="ProduceRequest has no struct 'Topic'; it has"):
        PRODUCE.struct("Topic")
    with pytest.raises(TypeError, match="expected a ProduceRequest, got a FetchRequest"):
        PRODUCE.encode(definition("FetchRequest").new(), 9)


def test_pieces_are_labelled_with_their_path_and_kind() -> None:
    labels = [(piece.path, piece.kind) for piece in pieces(PRODUCE, produce(), 9)]
    assert labels == [
        ("transactional_id", "length"),
        ("acks", "int16"),
        ("timeout_ms", "int32"),
        ("topic_data", "count"),
        ("topic_data[0].name", "length"),
        ("topic_data[0].name", "data"),
        ("topic_data[0].partition_data", "count"),
        ("topic_data[0].partition_data[0].index", "int32"),
        ("topic_data[0].partition_data[0].records", "length"),
        ("topic_data[0].partition_data[0].records", "data"),
        ("topic_data[0].partition_data[0].tagged_fields", "tag_count"),
        ("topic_data[0].tagged_fields", "tag_count"),
        ("tagged_fields", "tag_count"),
    ]


@pytest.mark.parametrize("number", [0, 1, 127, 128, 16383, 16384, (1 << 32) - 1])
def test_unsigned_varints_come_back(number: int) -> None:
    raw = uvarint(number)
    assert read_uvarint(memoryview(raw), 0) == (number, len(raw))


def test_messages_print_what_they_hold() -> None:
    assert repr(produce().topic_data[0].partition_data[0]) == (
        r"PartitionProduceData(index=5, records=b'\x01\x02\x03')"
    )
    assert "unknown_tags={3: b''}" in repr(PRODUCE.new(unknown_tags={3: b""}))
