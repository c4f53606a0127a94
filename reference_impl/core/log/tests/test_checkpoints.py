"""The text files: their bytes as Kafka writes them, and what is refused."""

import uuid

import pytest

from reference_impl.core.log.directories.checkpoints import (
    BadCheckpoint,
    decode_lines,
    read_clean_shutdown,
    read_offsets,
    read_topic_id,
    write_clean_shutdown,
    write_offsets,
    write_topic_id,
)
from reference_impl.core.storage import MemoryStorage


@pytest.fixture
def storage() -> MemoryStorage:
    storage = MemoryStorage()
    storage.make_directory("data/orders-0")
    return storage


def test_an_offset_checkpoint_is_version_count_and_lines(storage: MemoryStorage) -> None:
    offsets = {("orders", 0): 17, ("a-b.c", 12): 0}
    write_offsets(storage, "data/x", offsets)
    assert storage.read_file("data/x") == b"0\n2\norders 0 17\na-b.c 12 0\n"
    assert read_offsets(storage, "data/x") == offsets


def test_a_missing_checkpoint_says_nothing(storage: MemoryStorage) -> None:
    assert read_offsets(storage, "data/none") == {}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"1\n0\n",
        b"0\n",
        b"0\nx\n",
        "0\n²\n".encode(),
        b"0\n%s\n" % (b"9" * 5000),
        "0\n1\norders 0 ²\n".encode(),
        b"0\n1\norders 2147483648 17\n",
        b"0\n1\norders 0 9223372036854775808\n",
        b"0\n1\norders 0 %s\n" % (b"9" * 5000),
        b"0\n2\norders 0 17\n",
        b"0\n1\norders 17\n",
        b"0\n1\norders zero 17\n",
        b"\xff\xfe",
    ],
)
def test_a_bad_checkpoint_is_refused_with_its_path(content: bytes) -> None:
    with pytest.raises(BadCheckpoint, match="data/x"):
        decode_lines("data/x", content, 3)


def test_partition_metadata_holds_the_topic_id_as_kafka_prints_it(storage: MemoryStorage) -> None:
    topic_id = uuid.UUID("9f0c2a6e-7c1b-4d3e-a5f4-0123456789ab")
    write_topic_id(storage, "data/orders-0", topic_id)
    assert storage.read_file("data/orders-0/partition.metadata") == (
        b"version: 0\ntopic_id: nwwqbnwbTT6l9AEjRWeJqw"
    )
    assert read_topic_id(storage, "data/orders-0") == topic_id
    ended = b"version: 0\ntopic_id: nwwqbnwbTT6l9AEjRWeJqw\n"
    storage.write_atomically("data/orders-0/partition.metadata", ended)
    assert read_topic_id(storage, "data/orders-0") == topic_id


def test_an_empty_file_of_offsets_has_none(storage: MemoryStorage) -> None:
    storage.write_atomically("data/log-start-offset-checkpoint", b"")
    assert read_offsets(storage, "data/log-start-offset-checkpoint") == {}


@pytest.mark.parametrize("length", range(43))
def test_a_torn_partition_metadata_is_as_good_as_none(storage: MemoryStorage, length: int) -> None:
    write_topic_id(storage, "data/orders-0", uuid.uuid4())
    storage.crash(kept=lambda path, synced, size: length)
    assert len(storage.read_file("data/orders-0/partition.metadata")) == length
    assert read_topic_id(storage, "data/orders-0") is None


@pytest.mark.parametrize("start", [0, 10, 42])
def test_a_partition_metadata_of_zeros_is_as_good_as_none(
    storage: MemoryStorage, start: int
) -> None:
    """The simulator found a node that did not start again (torn-writes, seed 902)."""
    write_topic_id(storage, "data/orders-0", uuid.uuid4())
    path = "data/orders-0/partition.metadata"
    data = storage.read_file(path)
    storage.write_atomically(path, data[:start] + bytes(len(data) - start))
    assert read_topic_id(storage, "data/orders-0") is None


@pytest.mark.parametrize(
    "content", [b"version: 1\nx\n", b"version: 0\ntopic_id: short\n", b"\xff\n\n"]
)
def test_a_bad_partition_metadata_is_refused(storage: MemoryStorage, content: bytes) -> None:
    storage.write_atomically("data/orders-0/partition.metadata", content)
    with pytest.raises(BadCheckpoint, match=r"partition\.metadata"):
        read_topic_id(storage, "data/orders-0")


def test_the_clean_shutdown_file_is_kafkas_json(storage: MemoryStorage) -> None:
    write_clean_shutdown(storage, "data", 5)
    assert storage.read_file("data/.kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":5}'


@pytest.mark.parametrize(
    "content", [b"", b"[" * 100_000, b'{"version":0,"brokerEpoch":9223372036854775808}']
)
def test_a_bad_file_of_a_clean_shutdown_names_no_epoch(
    storage: MemoryStorage, content: bytes
) -> None:
    storage.write_atomically("data/.kafka_cleanshutdown", content)
    assert read_clean_shutdown(storage, "data") == -1
