"""Transactions over the death of their coordinator, and of the broker that holds their records."""

from __future__ import annotations

from conformance.case import case, expect, expect_that
from conformance.cases.offsets.offsets import committed
from conformance.cases.transactions.offsets import commit_in_transaction
from conformance.cases.transactions.test_admin import described
from conformance.clients.members import NOT_YET, TRANSACTION, coordinator
from conformance.clients.transactions import (
    READ_COMMITTED,
    Producer,
    batches_of,
    committed_values,
    wait_until_ended,
)
from conformance.target.examination import Examined
from conformance.target.restarts import restarting
from conformance.wire import Topic, Wire, eventually, request
from reference_impl.wire import TRANSACTIONAL_BIT, ControlRecordType, ErrorCode, control_type

MANY = 20


def reconnected(producer: Producer) -> None:
    """Connect the producer again to its coordinator."""
    wire, name = producer.wire, producer.transactional_id
    producer.connection = wire.connect(address=coordinator(wire, name, TRANSACTION))


@case(
    "TXN-12",
    "EndTxn",
    versions=(0, 4),
    spec="class TransactionStateManager, loadTransactionsForTxnTopicPartition",
    priority="P1",
    requires=["restart"],
)
def test_a_coordinator_that_loads_asks_for_patience(
    wire: Wire, version: int, examined: Examined
) -> None:
    """After kill -9 the coordinator gets an open transaction back from its log: while it loads it
    says so (14, 15 or 16), never that it knows nothing of the transaction; then it commits it."""
    producer, topic = Producer.ready(wire), wire.create_topic()
    producer.add_and_send(topic, b"before")
    describe = wire.version("DescribeTransactions")
    with restarting(wire, topic):
        examined.kill_and_restart()
        wire.forget_connections()
        reconnected(producer)
        found = eventually(
            lambda: described(producer, describe),
            lambda answer: answer.error_code not in NOT_YET,
            "the coordinator has loaded",
        )
        expect((found.error_code, found.transaction_state), (0, "Ongoing"), "first other answer")
    reconnected(producer)
    expect(producer.try_to_end(True, version).error_code, ErrorCode.NONE, "EndTxn error")
    wait_until_ended(wire, topic)
    expect(committed_values(wire, topic), [b"before"], "committed records")


@case(
    "TXN-55",
    "EndTxn",
    spec="KIP-98, Transaction Coordinator Failure",
    priority="P1",
    requires=["restart"],
)
def test_what_is_decided_is_not_undone_by_a_kill(
    wire: Wire, version: int, examined: Examined
) -> None:
    """Where the coordinator is killed as soon as it has answered EndTxn, the next one completes the
    commit: the opposite end is refused, no record is lost, and no partition gets an ABORT marker
    (it may get the COMMIT marker twice)."""
    # That every partition gets its marker is not demanded on one broker: there Apache Kafka 4.3.1
    # may lose markers at the restart (README, defects found in Apache Kafka).
    producer, topic = Producer.ready(wire), wire.create_topic(MANY)
    producer.add(topic, *range(MANY))
    for partition in range(MANY):
        producer.send(topic, b"r", partition=partition)
    fields = {
        "transactional_id": producer.transactional_id,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
    }
    body = request("EndTxn", committed=True, **fields)
    answer = producer.connection.call("EndTxn", version, body)
    expect(answer.error_code, ErrorCode.NONE, "EndTxn error")
    with restarting(wire, topic):
        examined.kill_and_restart()
    reconnected(producer)
    # Of three nodes of Apache Kafka 4.3.1 that all came back it took up to half a minute.
    eventually(
        lambda: described(producer, wire.version("DescribeTransactions")).transaction_state,
        lambda state: state == "CompleteCommit",
        "the commit is complete",
        90,
    )
    opposite = producer.try_to_end(False, wire.version("EndTxn", 0, 4))
    expect_that(opposite.error_code != 0, "EndTxn(abort) afterwards", "an error", 0)
    for partition in range(MANY):
        batches = wire.batches(topic, partition=partition)
        markers = [control_type(r) for b in batches if b.is_control for r in b.records]
        others = [kind for kind in markers if kind != ControlRecordType.COMMIT]
        expect(others, [], f"markers of partition {partition} other than COMMIT")
        expect(wire.values(topic, partition=partition), [b"r"], f"records of {partition}")


@case("TXN-56", "Fetch", versions=(4, 18), spec="KIP-98, Guarantees", priority="P1")
def test_a_transaction_is_seen_in_all_partitions_or_in_none(wire: Wire, version: int) -> None:
    """Once a read_committed reader has seen a record of a transaction in one partition, the records
    in the others become visible too, without any further request; those of an aborted one never do.
    """
    topic = wire.create_topic(3)
    for number, commit in enumerate((True, False, True)):
        producer = Producer.ready(wire)
        producer.add(topic, 0, 1, 2)
        for partition in range(3):
            producer.send(topic, b"%d" % number, partition=partition)
        producer.end(commit)
    for partition in (2, 0, 1):
        seen = eventually(
            lambda partition=partition: committed_values(wire, topic, partition, version=version),  # type: ignore[misc]
            lambda seen: b"2" in seen,
            f"the last transaction is seen in partition {partition}",
        )
        expect(seen, [b"0", b"2"], f"committed records of partition {partition}")


@case(
    "TXN-59",
    "TxnOffsetCommit",
    versions=(0, 4),
    spec="KIP-447; KIP-98, Guarantees",
    priority="P0",
    requires=["restart"],
)
def test_consume_transform_produce_is_exactly_once(
    wire: Wire, version: int, examined: Examined
) -> None:
    """A loop that reads records, writes their transforms and commits its offsets in one
    transaction, and whose processor or broker dies between any two steps, gives each transform
    exactly once, in order."""
    source, sink, group = wire.create_topic(), wire.create_topic(), wire.new_name("group")
    inputs = [b"%d" % number for number in range(12)]
    writer = Producer.ready(wire)
    writer.add_and_send(source, *inputs)
    writer.commit()
    wait_until_ended(wire, source)
    name = wire.new_name("transactional")
    # Each processor dies after so many steps of its second transaction.
    for dies_after, broker_dies in ((1, False), (2, True), (3, False), (4, False), (99, False)):
        processor = Producer.ready(wire, name)
        _process(processor, source, sink, group, version, dies_after)
        if broker_dies:
            before = committed(wire, group, source).offset
            with restarting(wire, source, sink):
                examined.kill_and_restart()
            if len(wire.brokers()) > 1:  # OFFS-17 says why; a reader of -1 begins again
                _wait_for_position(wire, group, source, before)
    wait_until_ended(wire, sink)
    expect(committed_values(wire, sink), [b"<%s>" % value for value in inputs], "output")


def _process(
    processor: Producer, source: Topic, sink: Topic, group: str, version: int, dies_after: int
) -> None:
    """Process transactions of two records each: the first one completely, the next one up to a step
    and then die; with steps to spare, all of them."""
    wire, steps_left = processor.wire, dies_after + len(STEPS)
    while True:
        position = max(committed(wire, group, source).offset, 0)
        values = _next_values(wire, source, position, 2)
        if not values:
            return
        end = values[-1][0] + 1
        for step in STEPS[:steps_left]:
            if step == "add":
                processor.add(sink, 0)
            elif step == "send":
                processor.send(sink, *[b"<%s>" % value for _, value in values])
            elif step == "offsets":
                commit_in_transaction(processor, group, source, end, commit_version=version)
            else:
                processor.commit()
        steps_left -= len(STEPS)
        if steps_left < 0:
            return
        _wait_for_position(wire, group, source, end)


STEPS = ("add", "send", "offsets", "commit")


def _wait_for_position(wire: Wire, group: str, topic: Topic, offset: int) -> None:
    eventually(
        lambda: committed(wire, group, topic).offset,
        lambda found: found == offset,
        "the offset of the transaction is committed",
    )


def _next_values(wire: Wire, topic: Topic, offset: int, count: int) -> list[tuple[int, bytes]]:
    """Return the next committed records from an offset on (none of this topic are aborted)."""
    answer = wire.fetch(topic, offset, isolation_level=READ_COMMITTED)
    expect(answer.error_code, ErrorCode.NONE, "Fetch error")
    found = [
        (at, record.value or b"")
        for batch in batches_of(answer)
        if not batch.is_control and batch.attributes & TRANSACTIONAL_BIT
        for at, record in batch.offsets()
        if at >= offset
    ]
    return found[:count]
