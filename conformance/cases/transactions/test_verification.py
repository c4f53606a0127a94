"""AddPartitionsToTxn as brokers ask it of each other: several transactions, and verification only
(KIP-890, part 1)."""

from __future__ import annotations

from conformance.case import case, expect
from conformance.clients.transactions import Producer, wait_until_ended
from conformance.wire import Topic, Wire, eventually, part
from reference_impl.wire import ErrorCode, Struct

BATCHED = (4, 5)
SPEC = "KIP-890, AddPartitionsToTxn; AddPartitionsToTxnRequest.json"


def of(producer: Producer, topic: Topic, *indexes: int, verify_only: bool = False) -> Struct:
    """Return the request about one transaction."""
    entry = part(
        "AddPartitionsToTxn", "AddPartitionsToTxnTopic", name=topic.name, partitions=list(indexes)
    )
    return part(
        "AddPartitionsToTxn",
        "AddPartitionsToTxnTransaction",
        transactional_id=producer.transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        verify_only=verify_only,
        topics=[entry],
    )


def ask(producer: Producer, version: int, *transactions: Struct) -> dict[str, dict[int, int]]:
    """Return the error codes by transactional id and partition, once the coordinator is not
    busy."""

    def once() -> dict[str, dict[int, int]]:
        answer = producer.connection.call(
            "AddPartitionsToTxn", version, transactions=list(transactions)
        )
        expect(answer.error_code, ErrorCode.NONE, "error of the request")
        return {
            each.transactional_id: {
                p.partition_index: p.partition_error_code
                for topic in each.topic_results
                for p in topic.results_by_partition
            }
            for each in answer.results_by_transaction
        }

    return eventually(  # type: ignore[no-any-return]
        once,
        lambda found: all(
            ErrorCode.CONCURRENT_TRANSACTIONS not in codes.values() for codes in found.values()
        ),
        "AddPartitionsToTxn is served",
    )


@case("TXN-19", "AddPartitionsToTxn", versions=BATCHED, spec=SPEC, priority="P1")
def test_transactions_of_one_request_are_judged_alone(wire: Wire, version: int) -> None:
    """From v4 on a request may name several transactions: each is answered by itself, and
    PRODUCER_FENCED (90) of one does not affect the others."""
    good, topic = Producer.ready(wire), wire.create_topic()
    fenced = good.another()
    fenced.epoch += 5
    found = ask(good, version, of(good, topic, 0), of(fenced, topic, 0))
    refused = {0: int(ErrorCode.PRODUCER_FENCED)}
    expect(found, {good.transactional_id: {0: 0}, fenced.transactional_id: refused}, "errors")
    good.send(topic, b"a")
    good.commit()
    wait_until_ended(wire, topic)
    expect(wire.end_offset(topic), 2, "end offset: record and marker")


@case("TXN-19", "AddPartitionsToTxn", versions=BATCHED, spec=SPEC, priority="P1")
def test_verification_adds_nothing(wire: Wire, version: int) -> None:
    """With verify_only a partition that is in the transaction gets NONE, one that is not gets
    TRANSACTION_ABORTABLE (120), also when asked again, and a wrong producer id gets
    INVALID_PRODUCER_ID_MAPPING (49)."""
    producer, topic = Producer.ready(wire), wire.create_topic(2)
    producer.add(topic, 0)
    wanted = {producer.transactional_id: {0: 0, 1: int(ErrorCode.TRANSACTION_ABORTABLE)}}
    for _ in range(2):
        found = ask(producer, version, of(producer, topic, 0, 1, verify_only=True))
        expect(found, wanted, "errors")
    producer.producer_id += 999
    found = ask(producer, version, of(producer, topic, 0, verify_only=True))
    expect(found[producer.transactional_id], {0: ErrorCode.INVALID_PRODUCER_ID_MAPPING}, "errors")


@case("TXN-19", "AddPartitionsToTxn", versions=BATCHED, spec=SPEC, priority="P1")
def test_an_unknown_partition_is_not_verified(wire: Wire, version: int) -> None:
    """With verify_only a partition that does not exist gets UNKNOWN_TOPIC_OR_PARTITION (3), and
    the others of the transaction OPERATION_NOT_ATTEMPTED (55)."""
    producer, topic = Producer.ready(wire), wire.create_topic()
    producer.add(topic, 0)
    found = ask(producer, version, of(producer, topic, 0, 7, verify_only=True))
    expect(
        found[producer.transactional_id],
        {0: ErrorCode.OPERATION_NOT_ATTEMPTED, 7: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
        "errors",
    )
