"""Produce, field Acks: what the producer waits for, and what it is told."""

from __future__ import annotations

from uuid import uuid4

import pytest

from conformance.case import case, expect, expect_that
from conformance.wire import Topic, Wire, batch, eventually, request
from reference_impl.wire import ErrorCode

TOPIC_IDS_SINCE = 13
"""The version of Produce that names topics by id (KIP-516)."""


@case("PROD-01", "Produce", versions=(3, 13), spec="ProduceResponse.json, field BaseOffset")
def test_acks_1_returns_the_base_offset(wire: Wire, version: int) -> None:
    """The first batch of an empty partition gets base offset 0, the next one follows the last
    record; the log start offset (v5+) is 0."""
    topic = wire.create_topic()
    first = wire.produce(topic, batch(b"a", b"b", b"c").encode(), version, acks=1)
    second = wire.produce(topic, batch(b"d").encode(), version, acks=1)
    expect((first.error_code, first.base_offset), (ErrorCode.NONE, 0), "first (error, base)")
    expect((second.error_code, second.base_offset), (ErrorCode.NONE, 3), "second (error, base)")
    if version >= 5:
        expect(first.log_start_offset, 0, "log start offset")
    expect(wire.values(topic), [b"a", b"b", b"c", b"d"], "records")


@case("PROD-02", "Produce", versions=(3, 13), spec="producer config acks; class DelayedProduce")
def test_acks_all_makes_records_readable_at_once(wire: Wire, version: int) -> None:
    """After an acks=all answer on a single replica the records lie below the high watermark."""
    topic = wire.create_topic()
    answer = wire.produce(topic, batch(b"a", b"b").encode(), version, acks=-1)
    expect(answer.error_code, ErrorCode.NONE, "error")
    fetched = wire.fetch(topic, 0)
    expect(fetched.high_watermark, 2, "high watermark right after the answer")
    expect(wire.values(topic), [b"a", b"b"], "records")


@case("PROD-03", "Produce", versions=(3, 13), spec="class KafkaApis, sendResponseCallback")
def test_acks_0_is_not_answered(wire: Wire, version: int) -> None:
    """A produce with acks=0 gets no answer: the next answer on the connection is the next
    request's; the records are written."""
    topic = wire.create_topic()
    connection = wire.leader(topic)
    body = wire.produce_request(topic, batch(b"a").encode(), acks=0)
    connection.send("Produce", version, body)
    sent = connection.send("ApiVersions", 0, request("ApiVersions"))
    answered, _ = connection.receive("ApiVersions", 0)
    expect(answered, sent, "correlation id of the first answer")
    eventually(lambda: wire.values(topic), lambda found: found == [b"a"], "record is written")


@case("PROD-04", "Produce", versions=(3, 12), spec="class KafkaApis, handleProduceRequest")
def test_an_error_under_acks_0_closes_the_connection(wire: Wire, version: int) -> None:
    """With acks=0 there is no answer to carry an error: the connection ends instead."""
    connection = wire.connect()
    nowhere = Topic(wire.new_name("missing"), wire.create_topic().id, 1)
    connection.send("Produce", version, wire.produce_request(nowhere, batch(b"a").encode(), acks=0))
    expect_that(
        connection.is_closed_by_peer(),
        "produce to an unknown topic with acks=0",
        "connection closed",
        "an answer, or an open connection",
    )


@pytest.mark.parametrize("acks", [2, -2, 32767], ids="acks={}".format)
@case("PROD-05", "Produce", versions=(3, 13), spec="ProduceRequest.json, field Acks")
def test_acks_other_than_minus1_0_1_are_refused(wire: Wire, version: int, acks: int) -> None:
    """The answer carries INVALID_REQUIRED_ACKS (21), and nothing is appended; a topic that does not
    exist gets UNKNOWN_TOPIC_OR_PARTITION (3), from v13 on UNKNOWN_TOPIC_ID (100)."""
    topic = wire.create_topic()
    nowhere = Topic(wire.new_name("missing"), uuid4(), 1)
    body = wire.produce_request(nowhere, batch(b"a").encode(), acks=acks)
    error = wire.leader(topic).call("Produce", version, body).responses[0]
    by_id = version >= TOPIC_IDS_SINCE
    unknown = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    expect(error.partition_responses[0].error_code, unknown, "error of no topic")
    answer = wire.produce(topic, batch(b"a").encode(), version, acks=acks)
    expect(answer.error_code, ErrorCode.INVALID_REQUIRED_ACKS, "error")
    expect(wire.values(topic), [], "records of the partition")


@case(
    "PROD-27",
    "Produce",
    versions=(3, 13),
    spec="ProduceResponse.json, field BaseOffset; class ProduceResponse, PartitionResponse",
    priority="P1",
)
def test_a_refusal_has_no_base_offset(wire: Wire, version: int) -> None:
    """Beside an error base offset and append time are -1: there is no record that has them. The
    log start offset (v5+) is -1, or the partition's."""
    topic = wire.create_topic()
    no_batch, wrong_acks = (
        wire.produce(topic, b"", version),
        wire.produce(topic, batch(b"a").encode(), version, acks=2),
    )
    for answer in (no_batch, wrong_acks):
        expect_that(answer.error_code != ErrorCode.NONE, "error", "an error", answer.error_code)
        expect(
            (answer.base_offset, answer.log_append_time_ms),
            (-1, -1),
            f"(base offset, append time) beside error {answer.error_code}",
        )
        if version >= 5:
            expect(answer.log_start_offset, {-1, 0}, "log start offset")


@case("PROD-10", "Produce", versions=(3, 13), spec="class Partition, effectiveMinIsr")
def test_min_insync_replicas_asks_for_no_more_than_all_replicas(wire: Wire, version: int) -> None:
    """min.insync.replicas beyond the replication factor means all replicas, and acks=all is
    accepted; or it can never be met: NOT_ENOUGH_REPLICAS (19), and nothing is appended."""
    # Apache Kafka 4.3.1 caps the limit, older versions refuse.
    topic = wire.create_topic(config={"min.insync.replicas": "100"})
    answer = wire.produce(topic, batch(b"a").encode(), version, acks=-1)
    expect(answer.error_code, {ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS}, "error")
    appended = [b"a"] if answer.error_code == ErrorCode.NONE else []
    expect(wire.values(topic), appended, "records")


@case(
    "PROD-13",
    "Produce",
    versions=(3, 13),
    spec="class Partition, appendRecordsToLeader",
    priority="P1",
)
def test_too_few_in_sync_replicas_do_not_matter_to_acks_1(wire: Wire, version: int) -> None:
    """min.insync.replicas applies to acks=all only: acks=1 is accepted however few replicas are in
    sync."""
    topic = wire.create_topic(config={"min.insync.replicas": "100"})
    answer = wire.produce(topic, batch(b"a").encode(), version, acks=1)
    expect((answer.error_code, answer.base_offset), (ErrorCode.NONE, 0), "(error, base offset)")
