"""Coordinator and metadata records, as Kafka frames them in its logs."""

from __future__ import annotations

import uuid

import pytest

from reference_impl.wire import (
    Malformed,
    decode_metadata_record,
    decode_record,
    decode_versioned,
    definition,
    encode_metadata_record,
    encode_record,
    encode_versioned,
)
from reference_impl.wire.log_records import GROUP, TRANSACTION, coordinator_types, encode_key


def test_an_offset_commit_is_these_bytes() -> None:
    key = definition("OffsetCommitKey").new(group="g", topic="t", partition=3)
    value = definition("OffsetCommitValue").new(
        offset=7, leader_epoch=-1, metadata="m", commit_timestamp=9
    )
    key_bytes, value_bytes = encode_record(key, value, 3)
    # Record type 1; then the key. Version 3; offset, leader epoch, metadata, commit timestamp.
    assert key_bytes == bytes.fromhex("0001 0001 67 0001 74 00000003")
    assert value_bytes == bytes.fromhex("0003 0000000000000007 ffffffff 0001 6d 0000000000000009")
    assert decode_record(key_bytes, value_bytes) == (key, value)
    assert decode_record(key_bytes, None) == (key, None)


def test_the_record_type_of_a_key_before_4_0_is_its_version() -> None:
    of = definition("OffsetCommitKey", "3.9.1")
    key = of.new(group="g", topic="t", partition=3)
    assert encode_key(of, key, 1) == bytes.fromhex("0001 0001 67 0001 74 00000003")


def test_the_coordinators_have_their_own_record_types() -> None:
    assert coordinator_types(GROUP)[2] == ("GroupMetadataKey", "GroupMetadataValue")
    assert coordinator_types(TRANSACTION) == {0: ("TransactionLogKey", "TransactionLogValue")}
    key = definition("TransactionLogKey").new(transactional_id="x")
    value = definition("TransactionLogValue").new(producer_id=5, transaction_partitions=None)
    for version in definition("TransactionLogValue").valid_versions:
        assert decode_record(*_both(encode_record(key, value, version)), TRANSACTION)[0] == key


def _both(record: tuple[bytes, bytes | None]) -> tuple[bytes, bytes]:
    key, value = record
    assert value is not None
    return key, value


@pytest.mark.parametrize("number", sorted(coordinator_types(GROUP)))
def test_every_record_of_the_group_coordinator_comes_back(number: int) -> None:
    key_name, value_name = coordinator_types(GROUP)[number]
    key, value = definition(key_name).new(), definition(value_name).new()
    for version in definition(value_name).valid_versions:
        assert decode_record(*_both(encode_record(key, value, version))) == (key, value)


def test_a_metadata_record_is_these_bytes() -> None:
    record = definition("TopicRecord").new(name="t", topic_id=uuid.UUID(int=1))
    # Frame version 1, type 2, version 0; compact name, id, no tags.
    expected = bytes.fromhex("01 02 00 02 74" + "00" * 15 + "01 00")
    assert encode_metadata_record(record) == expected
    assert decode_metadata_record(expected) == (0, record)


def test_a_subscription_carries_its_version() -> None:
    of = definition("ConsumerProtocolSubscription")
    subscription = of.new(topics=["t"], user_data=None)
    raw = encode_versioned(of, subscription, 0)
    assert raw == bytes.fromhex("0000 00000001 0001 74 ffffffff")
    assert decode_versioned(of, raw) == (0, subscription)


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        (b"", b"", "the bytes end before the version or record type"),
        (b"\x7f\xff", None, "record type 32767 is unknown"),
        (bytes.fromhex("0001 0001 67 0001 74 0000"), None, "OffsetCommitKey v0, partition"),
        (bytes.fromhex("0002 0001 67"), b"\x00", "GroupMetadataValue: the bytes end before"),
        (bytes.fromhex("0002 0001 67"), b"\x00\x63", "GroupMetadataValue: version 99 is not one"),
    ],
)
def test_a_record_which_is_none_says_why(key: bytes, value: bytes | None, problem: str) -> None:
    with pytest.raises(Malformed, match=problem):
        decode_record(key, value)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ("", "the bytes end too early"),
        ("02 02 00", "frame_version: frame version 2 is not 1"),
        ("01 7f 00", "api_key: record type 127 is unknown"),
        ("01 02 00 05", "TopicRecord v0, name"),
    ],
)
def test_a_metadata_record_which_is_none_says_why(raw: str, problem: str) -> None:
    with pytest.raises(Malformed, match=problem):
        decode_metadata_record(bytes.fromhex(raw))


@pytest.mark.parametrize("name", ["RegisterBrokerRecord", "UnregisterBrokerRecord", "TopicRecord"])
def test_tiered_storage_records_are_not_mistaken_for_metadata_records(name: str) -> None:
    """Both number their types from 0, in topics of their own."""
    record = definition(name).new()
    assert decode_metadata_record(encode_metadata_record(record))[1] == record


def test_only_metadata_records_go_into_the_metadata_log() -> None:
    with pytest.raises(Malformed, match="OffsetCommitKey is not a metadata record"):
        encode_metadata_record(definition("OffsetCommitKey").new())
