"""Produce: unknown partitions, several partitions, pipelining, other people's topics."""

from __future__ import annotations

import uuid

import pytest

from conformance.case import case, expect
from conformance.clients.members import group_connection
from conformance.clients.transactions import Producer
from conformance.wire import Topic, Wire, batch, eventually, part, request
from reference_impl.wire import TRANSACTIONAL_BIT, ErrorCode, Struct, patched


def to_partitions(topic: Topic, contents: dict[int, bytes], acks: int = -1) -> Struct:
    """Return a produce request to several partitions of one topic."""
    data = [
        part("Produce", "PartitionProduceData", index=index, records=records)
        for index, records in contents.items()
    ]
    entry = part(
        "Produce", "TopicProduceData", name=topic.name, topic_id=topic.id, partition_data=data
    )
    return request("Produce", acks=acks, timeout_ms=20_000, topic_data=[entry])


@case("PROD-06", "Produce", versions=(3, 12), spec="class KafkaApis, handleProduceRequest")
def test_an_unknown_topic_is_refused_and_not_created(wire: Wire, version: int) -> None:
    """Produce to an unknown topic gets UNKNOWN_TOPIC_OR_PARTITION (3); it never creates it."""
    nowhere = Topic(wire.new_name("missing"), uuid.UUID(int=0), 1)
    body = wire.produce_request(nowhere, batch(b"a").encode())
    answer = wire.bootstrap.call("Produce", version, body).responses[0].partition_responses[0]
    expect(answer.error_code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "error")
    expect(
        wire.topic_metadata(nowhere.name).error_code,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "Metadata afterwards",
    )


@pytest.mark.parametrize("index", [1, -1, 2**31 - 1], ids="partition={}".format)
@case("PROD-06", "Produce", versions=(3, 13), spec="class KafkaApis, handleProduceRequest")
def test_an_unknown_partition_is_refused(wire: Wire, version: int, index: int) -> None:
    """A partition that the topic does not have, also a negative one, gets
    UNKNOWN_TOPIC_OR_PARTITION (3)."""
    topic = wire.create_topic()
    body = to_partitions(topic, {index: batch(b"a").encode()})
    answer = wire.bootstrap.call("Produce", version, body).responses[0].partition_responses[0]
    expect(answer.error_code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "error")


@case("PROD-08", "Produce", versions=(13, 13), spec="KIP-516, Produce", priority="P1")
def test_an_unknown_topic_id_is_refused(wire: Wire, version: int) -> None:
    """From v13 on topics are named by id; one that does not exist gets UNKNOWN_TOPIC_ID (100)."""
    nowhere = Topic("", uuid.uuid4(), 1)
    body = wire.produce_request(nowhere, batch(b"a").encode())
    answer = wire.bootstrap.call("Produce", version, body).responses[0].partition_responses[0]
    expect(answer.error_code, ErrorCode.UNKNOWN_TOPIC_ID, "error")


@case("PROD-09", "Produce", versions=(3, 13), spec="ProduceResponse.json, PartitionResponses")
def test_partitions_of_one_request_succeed_and_fail_alone(wire: Wire, version: int) -> None:
    """A request with a good and an unknown partition writes the good one and refuses the other."""
    topic = wire.create_topic(partitions=2, on_one_broker=True)
    body = to_partitions(
        topic, {0: batch(b"a").encode(), 7: batch(b"b").encode(), 1: batch(b"c").encode()}
    )
    answer = wire.leader(topic).call("Produce", version, body).responses[0]
    errors = {p.index: p.error_code for p in answer.partition_responses}
    expect(errors, {0: 0, 7: int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), 1: 0}, "errors")
    expect((wire.values(topic), wire.values(topic, partition=1)), ([b"a"], [b"c"]), "records")


@pytest.mark.parametrize(
    "wrong",
    [{"crc": 1}, {"base_offset": 5}, {"magic": 3}, {"batch_length": 10}, {"attributes": 0x10}],
    ids=lambda fields: next(iter(fields)),
)
@case("PROD-09", "Produce", versions=(3, 13), spec="class KafkaApis, handleProduceRequest")
def test_beside_a_batch_that_is_refused_each_answer_is_true(
    wire: Wire, version: int, wrong: dict[str, int]
) -> None:
    """Where one partition's batch cannot be appended, the other one's is appended and answered
    without error, or neither is."""
    # Kafka refuses a request as a whole if a batch begins with what cannot be one, or if it may not
    # write in a transaction; a wrong batch otherwise is its partition's affair.
    topic = wire.create_topic(partitions=2, on_one_broker=True)
    good = batch(b"a").encode()
    body = to_partitions(topic, {0: good, 1: patched(good, **wrong)})
    answer = wire.leader(topic).call("Produce", version, body).responses[0]
    accepted = {p.index: p.error_code == ErrorCode.NONE for p in answer.partition_responses}
    expect(accepted[1], False, "the wrong batch is accepted")
    for index in (0, 1):
        written = wire.values(topic, partition=index)
        expect(written, [b"a"] if accepted[index] else [], f"records of partition {index}")


@case(
    "PROD-18",
    "Produce",
    versions=(3, 13),
    spec="class KafkaApis, handleProduceRequest",
    priority="P1",
)
def test_the_same_partition_twice_is_written_once(wire: Wire, version: int) -> None:
    """A request that names a partition twice is answered once for it; the later entry counts."""
    # Kafka collects the entries in a map by partition. No text promises which one counts.
    topic = wire.create_topic()
    body = to_partitions(topic, {0: batch(b"first").encode()})
    body.topic_data[0].partition_data += (
        to_partitions(topic, {0: batch(b"second").encode()}).topic_data[0].partition_data
    )
    answer = wire.leader(topic).call("Produce", version, body)
    found = [(p.index, p.error_code) for t in answer.responses for p in t.partition_responses]
    expect(found, [(0, 0)], "(partition, error) of the answers")
    expect(wire.values(topic), [b"second"], "records")


@case(
    "PROD-21",
    "Produce",
    versions=(3, 13),
    spec="class SocketServer, one request a channel",
    priority="P1",
)
def test_pipelined_batches_are_appended_in_order(wire: Wire, version: int) -> None:
    """Five produce requests sent at once on one connection get increasing base offsets in the
    order of sending."""
    topic = wire.create_topic()
    connection = wire.connect_to_leader(topic)
    for number in range(5):
        body = wire.produce_request(topic, batch(b"%d" % number, b"x").encode(), acks=1)
        connection.send("Produce", version, body)
    bases = [
        connection.receive("Produce", version)[1].responses[0].partition_responses[0].base_offset
        for _ in range(5)
    ]
    expect(bases, [0, 2, 4, 6, 8], "base offsets")


@case(
    "PROD-23",
    "Produce",
    versions=(3, 13),
    spec="RequestUtils.hasTransactionalRecords",
    priority="P1",
)
def test_a_transactional_id_does_not_matter_to_plain_batches(wire: Wire, version: int) -> None:
    """A request that carries a transactional id and plain batches is an ordinary produce."""
    topic = wire.create_topic()
    answer = wire.produce(topic, batch(b"a").encode(), version, transactional_id=wire.new_name())
    expect((answer.error_code, answer.base_offset), (ErrorCode.NONE, 0), "(error, base offset)")


@case(
    "PROD-22",
    "Produce",
    versions=(3, 13),
    spec="class ReplicaManager, appendRecordsToLeader",
    priority="P1",
)
def test_internal_topics_are_not_for_clients(wire: Wire, version: int) -> None:
    """Produce to the topic of committed offsets gets INVALID_TOPIC_EXCEPTION (17)."""
    group_connection(wire, wire.new_name("group"))  # makes the topic
    offsets = "__consumer_offsets"
    described = eventually(
        lambda: wire.topic_metadata(offsets),
        lambda t: t.error_code == 0 and all(p.error_code == 0 for p in t.partitions),
        f"{offsets} has leaders",
    )
    topic = Topic(offsets, described.topic_id, len(described.partitions))
    answer = wire.produce(topic, batch(b"a").encode(), version)
    expect(answer.error_code, ErrorCode.INVALID_TOPIC_EXCEPTION, "error")


@case(
    "PROD-22",
    "Produce",
    versions=(3, 13),
    spec="class ReplicaManager, appendRecordsToLeader",
    priority="P1",
)
def test_the_topic_of_transactions_is_not_for_clients(wire: Wire, version: int) -> None:
    """Produce to the topic of the transactions' states gets INVALID_TOPIC_EXCEPTION (17)."""
    Producer.ready(wire)  # makes the topic
    described = wire.topic_metadata("__transaction_state")
    topic = Topic(described.name, described.topic_id, len(described.partitions))
    answer = wire.produce(topic, batch(b"a").encode(), version)
    expect(answer.error_code, ErrorCode.INVALID_TOPIC_EXCEPTION, "error")


@case(
    "PROD-24",
    "Produce",
    versions=(3, 13),
    spec="class KafkaApis, handleProduceRequest; KIP-98",
    priority="P1",
)
def test_a_transactional_batch_needs_a_transactional_id(wire: Wire, version: int) -> None:
    """A transactional batch in a request without transactional id gets
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED (53), and nothing is appended."""
    topic = wire.create_topic()
    made = batch(
        b"a", attributes=TRANSACTIONAL_BIT, producer_id=7, producer_epoch=0, base_sequence=0
    )
    answer = wire.produce(topic, made.encode(), version)
    expect(answer.error_code, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "error")
    expect(wire.values(topic), [], "records")


@case(
    "PROD-25",
    "Produce",
    versions=(3, 13),
    spec="class ReplicaManager, handleProduceAppend",
    priority="P2",
)
def test_one_request_holds_the_batches_of_one_transactional_producer(
    wire: Wire, version: int
) -> None:
    """Transactional batches of two producer ids in one request get INVALID_PRODUCER_ID_MAPPING (49)
    for each partition, and none is appended."""
    one, topic = Producer.ready(wire), wire.create_topic(2, on_one_broker=True)
    other = one.another()
    one.add(topic, 0, 1)
    rows = [
        part(
            "Produce",
            "PartitionProduceData",
            index=index,
            records=batch(
                b"a",
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                base_sequence=0,
                attributes=TRANSACTIONAL_BIT,
            ).encode(),
        )
        for index, producer in enumerate((one, other))
    ]
    body = wire.produce_request(topic, None, transactional_id=one.transactional_id)
    body.topic_data[0].partition_data = rows
    answer = wire.leader(topic).call("Produce", version, body)
    errors = {p.index: p.error_code for t in answer.responses for p in t.partition_responses}
    expect(errors, dict.fromkeys((0, 1), ErrorCode.INVALID_PRODUCER_ID_MAPPING), "errors")
    expect([wire.end_offset(topic, index) for index in (0, 1)], [0, 0], "end offsets")
