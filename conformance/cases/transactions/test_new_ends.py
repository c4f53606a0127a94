"""EndTxn and InitProducerId asked again, and the clock of a transaction (KIP-360, KIP-890)."""

from __future__ import annotations

from conformance.case import case, expect
from conformance.clients.transactions import Producer, committed_values, wait_until_ended
from conformance.target.settings import limit
from conformance.wire import Wire, eventually
from reference_impl.wire import ErrorCode

PART_2 = "KIP-890, part 2; class TransactionCoordinator, endTransaction"
INVALID = ErrorCode.INVALID_TXN_STATE


@case("TXN-24", "EndTxn", versions=(5, 5), spec=PART_2)
def test_what_was_not_begun_is_aborted_but_not_committed(wire: Wire, version: int) -> None:
    """EndTxn v5 before anything was written: a commit gets INVALID_TXN_STATE (48), an abort returns
    the next epoch; the same holds after the end of a transaction."""
    producer, topic = Producer.ready(wire), wire.create_topic()
    for _ in range(2):
        expect(producer.try_to_end(True, version).error_code, INVALID, "error of a commit")
        answer = producer.try_to_end(False, version)
        expect(
            (answer.error_code, answer.producer_id, answer.producer_epoch),
            (0, producer.producer_id, producer.epoch + 1),
            "(error, id, epoch) of an abort",
        )
        producer.epoch = answer.producer_epoch
        producer.sequences.clear()
        producer.send(topic, b"a", version=wire.version("Produce", 12))
        producer.end(True, version)
    # Until the markers are written, the new epoch gets CONCURRENT_TRANSACTIONS and comes again: on
    # Apache Kafka 4.3.1 it did so while the leader of the partition stood still.
    wait_until_ended(wire, topic)
    expect(committed_values(wire, topic), [b"a", b"a"], "committed records")


@case("TXN-27", "EndTxn", versions=(5, 5), spec=PART_2, priority="P1")
def test_a_retry_of_the_other_end_is_refused(wire: Wire, version: int) -> None:
    """After EndTxn v5, a request for the opposite end with the epoch of that transaction gets
    INVALID_TXN_STATE (48), and the records stay committed or aborted, as they were."""
    produce = wire.version("Produce", 12)
    for commit in (True, False):
        producer, topic = Producer.ready(wire), wire.create_topic()
        producer.send(topic, b"a", version=produce)
        expect(producer.try_to_end(commit, version).error_code, 0, "error of the end")
        wait_until_ended(wire, topic)
        opposite = producer.try_to_end(not commit, version)
        expect(opposite.error_code, INVALID, "error of the opposite")
        expect(committed_values(wire, topic), [b"a"] if commit else [], "committed records")


@case(
    "TXN-06",
    "InitProducerId",
    versions=(3, 5),
    spec="KIP-360; class TransactionMetadata",
    priority="P1",
)
def test_a_lost_answer_to_the_next_epoch_is_given_again(wire: Wire, version: int) -> None:
    """InitProducerId with an id and epoch, sent again because its answer was lost, gives the same
    epoch again; the one after that is one higher."""
    producer = Producer.ready(wire)
    own = {"producer_id": producer.producer_id, "producer_epoch": producer.epoch}
    for _ in range(3):
        answer = producer.try_to_init(version, **own)
        expect(
            (answer.error_code, answer.producer_id, answer.producer_epoch),
            (0, producer.producer_id, producer.epoch + 1),
            "(error, id, epoch)",
        )
    own["producer_epoch"] = producer.epoch + 1
    answer = producer.try_to_init(version, **own)
    expect((answer.error_code, answer.producer_epoch), (0, producer.epoch + 2), "(error, epoch)")


@case("TXN-60", "InitProducerId", spec="KIP-98; transaction.max.timeout.ms", priority="P1")
def test_the_last_time_out_counts_and_may_be_the_longest(wire: Wire, version: int) -> None:
    """A transactional id has the time-out of its last InitProducerId, which may be as long as
    transaction.max.timeout.ms; a millisecond more gets INVALID_TRANSACTION_TIMEOUT (50)."""
    longest = limit(wire, "transaction.max.timeout.ms", 900_000)
    producer = Producer.ready(wire, timeout_ms=54_321)
    producer.init(version, timeout_ms=longest)
    described = producer.connection.call(
        "DescribeTransactions",
        wire.version("DescribeTransactions"),
        transactional_ids=[producer.transactional_id],
    )
    told = described.transaction_states[0].transaction_timeout_ms
    expect(told, longest, "time-out as described")
    if longest < 2**31 - 1:
        answer = producer.try_to_init(version, transaction_timeout_ms=longest + 1)
        expect(answer.error_code, ErrorCode.INVALID_TRANSACTION_TIMEOUT, "error of one more")


@case(
    "TXN-61",
    "AddPartitionsToTxn",
    versions=(0, 3),
    spec="KIP-98, transaction.timeout.ms; class TransactionStateManager, timedOutTransactions",
    priority="P1",
)
def test_the_time_of_a_transaction_runs_from_its_begin(wire: Wire, version: int) -> None:
    """A transaction to which partitions are added all the time is aborted all the same once it is
    open for longer than its timeout: the next one gets PRODUCER_FENCED (90), before v2
    INVALID_PRODUCER_EPOCH (47)."""
    producer = Producer.ready(wire, timeout_ms=2000)
    topic = wire.create_topic(partitions=120, on_one_broker=True)
    partitions = iter(range(topic.partitions))

    def one_more() -> int:
        index = next(partitions, topic.partitions - 1)
        return producer.try_to_add(topic, index, version=version)[index]

    # Apache Kafka looks for such transactions every 10 s, and there are partitions for 30 s.
    code = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    eventually(one_more, lambda error: error == code, f"a partition more gets {code.name}", 25)
