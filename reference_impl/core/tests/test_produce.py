"""Produce: what is appended, what is refused, and what a retry gets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reference_impl.core.configs.keys import LONG_MAX
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.requests.automatic_topics import ensure_groups_topic
from reference_impl.core.rules import Rules
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, Compression, ErrorCode, Record, RecordBatch, patched


@pytest.fixture
def world() -> World:
    world = World()
    world.create_topic("t")
    return world


def idempotent(sequence: int, epoch: int = 0) -> dict[str, Any]:
    return {"producer_id": 7, "producer_epoch": epoch, "base_sequence": sequence}


def test_offsets_are_dense_over_batches(world: World) -> None:
    assert world.produce("t", "a", "b").base_offset == 0
    assert world.produce("t", "c").base_offset == 2
    assert world.read_all("t") == ["a", "b", "c"]


def test_a_retried_batch_is_answered_with_its_first_offset_and_not_appended(world: World) -> None:
    world.produce("t", "a", **idempotent(0))
    first = world.produce("t", "b", **idempotent(1))
    again = world.produce("t", "b", **idempotent(1))
    assert (again.error_code, again.base_offset) == (0, first.base_offset)
    assert world.read_all("t") == ["a", "b"]


def test_a_gap_in_the_sequence_is_refused(world: World) -> None:
    world.produce("t", "a", **idempotent(0))
    row = world.produce("t", "c", **idempotent(2))
    assert row.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert row.base_offset == -1
    assert world.read_all("t") == ["a"]


def test_an_older_epoch_is_fenced(world: World) -> None:
    world.produce("t", "a", **idempotent(0, epoch=1))
    row = world.produce("t", "b", **idempotent(0, epoch=0))
    assert row.error_code == ErrorCode.INVALID_PRODUCER_EPOCH


def test_the_leader_writes_its_epoch_and_offset_whatever_the_client_wrote(world: World) -> None:
    world.produce("t", "a", partition_leader_epoch=77)
    batch, _ = RecordBatch.decode(world.fetch("t").records)
    assert batch.partition_leader_epoch == 0


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"crc": 1}, ErrorCode.CORRUPT_MESSAGE),
        ({"base_offset": 5}, ErrorCode.INVALID_RECORD),
        ({"last_offset_delta": 3}, ErrorCode.INVALID_RECORD),
        ({"records_count": 0}, ErrorCode.INVALID_RECORD),
        ({"records_count": 3, "last_offset_delta": 2}, ErrorCode.INVALID_RECORD),
        ({"attributes": 0x20}, ErrorCode.INVALID_RECORD),
        ({"attributes": 6}, ErrorCode.UNKNOWN_SERVER_ERROR),
        ({"attributes": 1}, ErrorCode.UNKNOWN_SERVER_ERROR),
        ({"attributes": 0x10}, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ({"producer_id": 9, "producer_epoch": 0}, ErrorCode.INVALID_RECORD),
        ({"magic": 1}, ErrorCode.INVALID_RECORD),
        ({"batch_length": 10}, ErrorCode.CORRUPT_MESSAGE),
        ({"batch_length": 20}, ErrorCode.CORRUPT_MESSAGE),
        ({"batch_length": 5000}, ErrorCode.INVALID_RECORD),
    ],
    ids=str,
)
def test_a_broken_batch_is_refused_and_nothing_appended(
    world: World, change: dict[str, int], code: ErrorCode
) -> None:
    row = world.produce("t", raw=patched(world.batch("a", "b"), **change))
    assert ErrorCode(row.error_code) is code
    assert world.read_all("t") == []


def test_records_which_are_no_batch_are_refused(world: World) -> None:
    assert world.produce("t", raw=b"").error_code == ErrorCode.INVALID_RECORD
    two = world.batch("a") + world.batch("b")
    assert world.produce("t", raw=two).error_code == ErrorCode.INVALID_RECORD
    assert world.read_all("t") == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"batch_length": 10}, ErrorCode.CORRUPT_MESSAGE),
        ({"batch_length": 0x7FFF_FFFF}, ErrorCode.UNKNOWN_SERVER_ERROR),
        ({"magic": 3}, ErrorCode.CORRUPT_MESSAGE),
        ({"attributes": 0x10}, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    ],
    ids=str,
)
def test_what_no_request_may_hold_keeps_its_other_partitions_out_too(
    world: World, change: dict[str, int], code: ErrorCode
) -> None:
    world.create_topic("two", 2)
    good = world.batch("a")
    body = world.produce_body("two", good)
    bad = world.produce_body("two", patched(good, **change), partition=1)
    body.topic_data[0].partition_data += bad.topic_data[0].partition_data
    rows = world.ask(ApiKey.PRODUCE, 9, body).responses[0].partition_responses
    assert [ErrorCode(row.error_code) for row in rows] == [code, code]
    assert world.read_all("two") == []


@pytest.mark.parametrize("codec", list(Compression))
def test_every_codec_is_stored_as_it_was_sent(world: World, codec: Compression) -> None:
    sent = world.batch("a", "b", attributes=codec)
    assert world.produce("t", raw=sent).error_code == 0
    stored = world.fetch("t").records
    assert stored[21:] == sent[21:]  # everything that the CRC covers
    assert world.read_all("t") == ["a", "b"]


def test_a_topic_with_a_codec_of_its_own_recompresses() -> None:
    world = World()
    world.create_topic("z", compression_type="zstd")
    assert world.produce("z", "a", attributes=Compression.GZIP).error_code == 0
    batch, _ = RecordBatch.decode(world.fetch("z").records)
    assert batch.compression is Compression.ZSTD
    assert world.read_all("z") == ["a"]


def test_misnumbered_compressed_records_are_refused(world: World) -> None:
    records = [Record(b"a", offset_delta=0), Record(b"b", offset_delta=5)]
    raw = RecordBatch(records, attributes=Compression.GZIP, last_offset_delta=1).encode()
    assert world.produce("t", raw=raw).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.read_all("t") == []


def test_log_append_time_replaces_the_timestamps() -> None:
    world = World()
    world.create_topic("t", message_timestamp_type="LogAppendTime")
    row = world.produce("t", "a", base_timestamp=1)
    assert row.log_append_time_ms == world.now_ms
    batch, _ = RecordBatch.decode(world.fetch("t").records)  # the CRC is right, too
    assert (batch.is_log_append_time, batch.max_timestamp) == (True, world.now_ms)


def test_a_timestamp_beyond_64_bits_is_refused() -> None:
    """However far ahead the topic allows (found by fuzz: touchstone fuzz --seed 4)."""
    world = World()
    world.create_topic("t", message_timestamp_after_max_ms=str(LONG_MAX))
    records = [Record(b"a", timestamp_delta=2)]
    raw = RecordBatch(records, base_timestamp=LONG_MAX - 1, max_timestamp=LONG_MAX).encode()
    assert world.produce("t", raw=raw).error_code == ErrorCode.INVALID_TIMESTAMP
    assert world.produce("t", "b").base_offset == 0


def test_timestamps_too_far_ahead_are_refused_by_record(world: World) -> None:
    hour_ms = 3_600_000
    records = [Record(b"a"), Record(b"b", timestamp_delta=2 * hour_ms)]
    raw = RecordBatch(records, base_timestamp=world.now_ms).encode()
    row = world.produce("t", raw=raw)
    assert row.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in row.record_errors] == [1]


def test_a_compacted_topic_wants_keys() -> None:
    world = World()
    world.create_topic("c", cleanup_policy="compact")
    row = world.produce("c", "a", "b")
    assert row.error_code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in row.record_errors] == [0, 1]


def test_a_batch_over_the_limit_is_too_large() -> None:
    world = World()
    world.create_topic("t", max_message_bytes="100")
    assert world.produce("t", "x" * 100).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert world.produce("t", "x").error_code == 0


@pytest.mark.parametrize("acks", [2, -2])
def test_other_acks_are_refused(world: World, acks: int) -> None:
    assert world.produce("t", "a", acks=acks).error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert world.read_all("t") == []


class AloneInSync(Rules):
    """Rules under which only the leader of three replicas is in sync."""

    def check_enough_replicas(self, partition: Partition, acks: int) -> None:
        partition.state = replace(partition.state, replicas=(1, 2, 3))
        super().check_enough_replicas(partition, acks)


def test_acks_all_needs_enough_replicas_in_sync() -> None:
    world = World(rules=AloneInSync)
    world.create_topic("t", min_insync_replicas="2")
    assert world.produce("t", "a", acks=-1).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.produce("t", "b", acks=1).base_offset == 0
    assert world.read_all("t") == [], "nothing is committed while the ISR is too small (KIP-966)"


def test_all_replicas_are_enough_if_there_are_fewer_than_the_limit() -> None:
    world = World()
    world.create_topic("t", min_insync_replicas="2")
    assert world.produce("t", "a", acks=-1).error_code == 0
    assert world.read_all("t") == ["a"]


class NobodyFollows(Rules):
    """The in-sync replicas never get what was appended."""

    def may_acknowledge(self, partition: Partition, acks: int, last_offset: int) -> bool:
        return acks != -1


def test_acks_all_waits_for_the_replicas_no_longer_than_its_timeout() -> None:
    world = World(rules=NobodyFollows)
    world.create_topic("t")
    number = world.send(ApiKey.PRODUCE, 9, world.produce_body("t", world.batch("a")))
    world.wait(999)
    assert world.answer_to(number) is None
    world.wait(1)
    answer = world.answer_to(number)
    assert answer is not None
    row = answer.responses[0].partition_responses[0]
    assert (row.error_code, row.base_offset) == (ErrorCode.REQUEST_TIMED_OUT, 0)
    assert world.read_all("t") == ["a"]  # nobody said that it is not there


def test_internal_topics_are_not_for_clients(world: World) -> None:
    ensure_groups_topic(world.node.broker)
    row = world.produce("__consumer_offsets", "a")
    assert row.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_an_unknown_topic_is_not_created(world: World) -> None:
    row = world.produce("nowhere", "a")
    assert row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert "nowhere" not in world.node.broker.image.topics
