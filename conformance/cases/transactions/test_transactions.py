"""Transactions: begun, committed, aborted, and what readers see (KIP-98, KIP-890)."""

from __future__ import annotations

import pytest

from conformance.case import case, expect, expect_that
from conformance.clients.transactions import (
    READ_COMMITTED,
    Producer,
    batches_of,
    committed_values,
    decoded,
    wait_until_ended,
)
from conformance.target.settings import require_verification
from conformance.wire import Topic, Wire, eventually
from reference_impl.wire import TRANSACTIONAL_BIT, ControlRecordType, ErrorCode, control_type

BEFORE_KIP_890 = (0, 4)
MARKERS = "KIP-98, Control Messages; EndTxnMarker.json"
READER = "KIP-98, Read Committed; FetchResponse.json"


def open_transaction(wire: Wire, *values: bytes) -> tuple[Producer, Topic]:
    """Create a topic with these records in an open transaction."""
    producer, topic = Producer.ready(wire), wire.create_topic()
    producer.add_and_send(topic, *values)
    return producer, topic


@case("TXN-13", "EndTxn", versions=BEFORE_KIP_890, spec="KIP-98, Guarantees")
def test_a_commit_makes_the_records_visible(wire: Wire, version: int) -> None:
    """Records of a transaction over two partitions are delivered to a read_committed reader after
    EndTxn(commit), and not before."""
    producer, topic = Producer.ready(wire), wire.create_topic(2)
    producer.add(topic, 0, 1)
    for partition in (0, 1):
        producer.send(topic, b"a", b"b", partition=partition)
        expect(committed_values(wire, topic, partition), [], "committed records before")
    producer.commit(version)
    for partition in (0, 1):
        wait_until_ended(wire, topic, partition)
        expect(committed_values(wire, topic, partition), [b"a", b"b"], "committed records")


@case("TXN-13", "AddPartitionsToTxn", versions=(0, 3), spec="KIP-98, AddPartitionsToTxnRequest")
def test_partitions_are_added_more_than_once(wire: Wire, version: int) -> None:
    """Partitions may be added to an open transaction one after another, and again; a commit
    covers all of them."""
    producer, topic = Producer.ready(wire), wire.create_topic(2)
    for partition in (0, 1, 0):
        producer.add(topic, partition, version=version)
        producer.send(topic, b"r", partition=partition)
    producer.commit()
    for partition, values in ((0, [b"r", b"r"]), (1, [b"r"])):
        wait_until_ended(wire, topic, partition)
        expect(committed_values(wire, topic, partition), values, "committed records")


@case("TXN-14", "EndTxn", versions=BEFORE_KIP_890, spec="KIP-98, Guarantees")
def test_an_abort_hides_the_records(wire: Wire, version: int) -> None:
    """Records of an aborted transaction are returned to read_uncommitted readers but not to
    read_committed ones; those of the producer's next transaction, which commits, are returned to
    read_committed readers."""
    producer, topic = open_transaction(wire, b"a", b"b")
    producer.abort(version)
    wait_until_ended(wire, topic)
    expect(committed_values(wire, topic), [], "committed records")
    expect(wire.values(topic), [b"a", b"b"], "all records")
    producer.add_and_send(topic, b"c")
    producer.commit(version)
    wait_until_ended(wire, topic)
    expect(committed_values(wire, topic), [b"c"], "committed records of the next transaction")


@case(
    "TXN-17",
    "AddPartitionsToTxn",
    versions=(0, 3),
    spec="class KafkaApis, handleAddPartitionsToTxnRequest",
    priority="P1",
)
def test_one_unknown_partition_keeps_all_out(wire: Wire, version: int) -> None:
    """If one partition does not exist, it gets UNKNOWN_TOPIC_OR_PARTITION (3), the others
    OPERATION_NOT_ATTEMPTED (55), and none is added."""
    require_verification(wire)
    producer, topic = Producer.ready(wire), wire.create_topic()
    errors = producer.try_to_add(topic, 0, 9, version=version)
    expect(
        errors,
        {0: ErrorCode.OPERATION_NOT_ATTEMPTED, 9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
        "errors",
    )
    expect_that(producer.try_to_send(topic, b"a") != 0, "Produce to the other one", "an error", 0)


@case("TXN-20", "Produce", versions=(3, 11), spec="KIP-890, part 1")
def test_a_partition_must_be_added_first(wire: Wire, version: int) -> None:
    """A transactional batch to a partition that is not in the transaction gets
    INVALID_TXN_STATE (48), from version 11 TRANSACTION_ABORTABLE (120), and is not appended."""
    require_verification(wire)
    producer, topic = Producer.ready(wire), wire.create_topic()
    code = ErrorCode.TRANSACTION_ABORTABLE if version >= 11 else ErrorCode.INVALID_TXN_STATE
    expect(producer.try_to_send(topic, b"a", version=version), code, "error")
    expect(wire.end_offset(topic), 0, "end offset")


@case("TXN-21", "Produce", versions=(12, 13), spec="KIP-890, part 2")
def test_a_partition_is_added_by_writing_to_it(wire: Wire, version: int) -> None:
    """From version 12 a transactional batch adds its partition to the transaction."""
    newest = wire.version("EndTxn", 5)
    producer, topic = Producer.ready(wire), wire.create_topic(2)
    for partition in (0, 1):
        producer.send(topic, b"a", partition=partition, version=version)
    expect(committed_values(wire, topic), [], "committed records before")
    producer.commit(newest)
    for partition in (0, 1):
        wait_until_ended(wire, topic, partition)
        expect(committed_values(wire, topic, partition), [b"a"], "committed records")


@case(
    "TXN-22",
    "Produce",
    versions=(12, 13),
    spec="KIP-890; ProducerAppendInfo.checkSequence",
    priority="P1",
)
def test_a_transaction_begins_at_sequence_zero(wire: Wire, version: int) -> None:
    """From version 12 the first batch of a producer in a partition must have sequence 0: otherwise
    OUT_OF_ORDER_SEQUENCE_NUMBER (45)."""
    producer, topic = Producer.ready(wire), wire.create_topic()
    error = producer.try_to_send(topic, b"a", version=version, sequence=5)
    expect(error, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, "error")
    expect(wire.end_offset(topic), 0, "end offset")


@case(
    "TXN-23", "Produce", versions=(3, 13), spec="ProducerAppendInfo.appendDataBatch", priority="P1"
)
def test_nothing_plain_inside_a_transaction(wire: Wire, version: int) -> None:
    """While a producer's transaction is open in a partition, a batch of it that is not
    transactional gets INVALID_TXN_STATE (48) and is not appended."""
    producer, topic = open_transaction(wire, b"a")
    error = producer.try_to_send(topic, b"plain", version=version, transactional=False)
    expect(error, ErrorCode.INVALID_TXN_STATE, "error")
    expect(wire.end_offset(topic), 1, "end offset")


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
@case("TXN-24", "EndTxn", versions=BEFORE_KIP_890, spec="TransactionCoordinator.endTransaction")
def test_a_transaction_not_begun_is_not_ended(wire: Wire, version: int, commit: bool) -> None:
    """EndTxn before any partition was added gets INVALID_TXN_STATE (48)."""
    answer = Producer.ready(wire).try_to_end(commit, version)
    expect(answer.error_code, ErrorCode.INVALID_TXN_STATE, "error")


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
@case("TXN-25", "EndTxn", versions=(5, 5), spec="KIP-890, part 2")
def test_the_end_of_a_transaction_gives_the_next_epoch(
    wire: Wire, version: int, commit: bool
) -> None:
    """EndTxn v5 answers with the producer id and the epoch to use next, which is one higher; a
    batch of the old one gets INVALID_PRODUCER_EPOCH (47)."""
    produce = wire.version("Produce", 12)
    producer, topic = Producer.ready(wire), wire.create_topic()
    producer.send(topic, b"a", version=produce)
    answer = producer.try_to_end(commit, version)
    expect(
        (answer.error_code, answer.producer_id, answer.producer_epoch),
        (0, producer.producer_id, producer.epoch + 1),
        "(error, id, epoch)",
    )
    wait_until_ended(wire, topic)
    expect(committed_values(wire, topic), [b"a"] if commit else [], "committed records")
    late = producer.try_to_send(topic, b"late", version=produce)
    expect(late, ErrorCode.INVALID_PRODUCER_EPOCH, "Produce error of the old epoch")


@case("TXN-26", "EndTxn", versions=(5, 5), spec="KIP-890, part 2")
def test_a_lost_answer_to_the_end_is_given_again(wire: Wire, version: int) -> None:
    """EndTxn v5 sent again, with the same epoch, gets the same answer and changes nothing."""
    producer, topic = Producer.ready(wire), wire.create_topic()
    producer.send(topic, b"a", version=wire.version("Produce", 12))
    first = producer.try_to_end(True, version)
    again = producer.try_to_end(True, version)
    expect(
        (again.error_code, again.producer_id, again.producer_epoch),
        (0, first.producer_id, first.producer_epoch),
        "(error, id, epoch)",
    )
    wait_until_ended(wire, topic)
    expect(wire.end_offset(topic), 2, "end offset: record and one marker")


@case(
    "TXN-27",
    "EndTxn",
    versions=BEFORE_KIP_890,
    spec="TransactionCoordinator.endTransaction",
    priority="P1",
)
def test_what_has_ended_does_not_end_otherwise(wire: Wire, version: int) -> None:
    """A commit after an abort, or an abort after a commit, gets INVALID_TXN_STATE (48); the same
    again is accepted."""
    for commit in (True, False):
        producer, topic = open_transaction(wire, b"a")
        producer.end(commit, version)
        expect(producer.try_to_end(commit, version).error_code, 0, "error of the same again")
        error = producer.try_to_end(not commit, version).error_code
        expect(error, ErrorCode.INVALID_TXN_STATE, "error of the opposite")
        wait_until_ended(wire, topic)
        expect(committed_values(wire, topic), [b"a"] if commit else [], "committed records")


@case(
    "TXN-30",
    "EndTxn",
    versions=BEFORE_KIP_890,
    spec="KIP-98; KIP-588; transaction.abort.timed.out.transaction.cleanup.interval.ms",
)
def test_a_transaction_that_lasts_too_long_is_aborted(wire: Wire, version: int) -> None:
    """The coordinator aborts a transaction that is open longer than its timeout, and raises the
    epoch: the producer's EndTxn gets PRODUCER_FENCED (90; before v2 47), its Produce
    INVALID_PRODUCER_EPOCH (47), and its records are not delivered."""
    producer, topic = Producer.ready(wire, timeout_ms=500), wire.create_topic()
    producer.add_and_send(topic, b"late")
    # Apache Kafka looks for such transactions every 10 s (the configuration in spec).
    eventually(lambda: wire.end_offset(topic), lambda end: end == 2, "the abort marker", 45)
    code = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    expect(producer.try_to_end(True, version).error_code, code, "EndTxn error")
    expect(producer.try_to_send(topic, b"more"), ErrorCode.INVALID_PRODUCER_EPOCH, "Produce error")
    expect(committed_values(wire, topic), [], "committed records")


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
@case("TXN-32", "EndTxn", spec=MARKERS)
def test_a_marker_ends_each_partition(wire: Wire, version: int, commit: bool) -> None:
    """The end of a transaction is one control batch in each of its partitions: transactional, of
    the producer, one record with key type COMMIT (1) or ABORT (0), and with an offset of its
    own."""
    producer, topic = open_transaction(wire, b"a", b"b")
    producer.end(commit, version)
    wait_until_ended(wire, topic)
    batches = wire.batches(topic)
    expect(
        [(b.base_offset, b.is_control) for b in batches],
        [(0, False), (2, True)],
        "(base offset, is control) of the batches",
    )
    marker = batches[1]
    kind = ControlRecordType.COMMIT if commit else ControlRecordType.ABORT
    expect([control_type(record) for record in marker.records], [kind], "control records")
    expect(bool(marker.attributes & TRANSACTIONAL_BIT), True, "marker is transactional")
    expect(marker.producer_id, producer.producer_id, "producer id of the marker")
    expect(wire.end_offset(topic), 3, "end offset")


@case("TXN-33", "Fetch", versions=(4, 18), spec=READER)
def test_the_last_stable_offset_stops_at_an_open_transaction(wire: Wire, version: int) -> None:
    """While a transaction is open the last stable offset is the offset of its first record, and a
    read_committed fetch returns nothing from there on; the high watermark is higher."""
    topic = wire.create_topic()
    before, after = Producer.ready(wire), Producer.ready(wire)
    before.add_and_send(topic, b"done")
    before.commit()
    wait_until_ended(wire, topic)
    after.add_and_send(topic, b"open")
    found = wire.fetch(topic, 0, version, isolation_level=READ_COMMITTED)
    expect((found.last_stable_offset, found.high_watermark), (2, 3), "(stable offset, watermark)")
    stable = decoded(wire.bytes_from(topic, 0, version, isolation_level=READ_COMMITTED))
    ends = [b.base_offset + int(b.last_offset_delta or 0) for b in stable]
    expect(ends, [0, 1], "last offsets of the batches")
    uncommitted = wire.fetch(topic, 2, version, isolation_level=0)
    expect_that(
        len(bytes(uncommitted.records or b"")) > 0,
        "read_uncommitted from there on",
        "the record",
        uncommitted.records,
    )


@case("TXN-34", "Fetch", versions=(4, 18), spec=READER)
def test_aborted_transactions_are_named(wire: Wire, version: int) -> None:
    """A read_committed fetch names producer id and first offset of each aborted transaction in
    what it returns; a read_uncommitted one names none."""
    topic = wire.create_topic()
    producers = [Producer.ready(wire) for _ in range(3)]
    for producer, commit in zip(producers, (False, True, False), strict=True):
        producer.add_and_send(topic, b"r")
        producer.end(commit)
        wait_until_ended(wire, topic)
    found = wire.fetch(topic, 0, version, isolation_level=READ_COMMITTED)
    named = sorted((a.first_offset, a.producer_id) for a in found.aborted_transactions)
    expect(
        named,
        [(0, producers[0].producer_id), (4, producers[2].producer_id)],
        "(first offset, producer id)",
    )
    later = wire.fetch(topic, 2, version, isolation_level=READ_COMMITTED)
    expect([a.first_offset for a in later.aborted_transactions], [4], "named from offset 2 on")
    plain = wire.fetch(topic, 0, version, isolation_level=0)
    expect(list(plain.aborted_transactions or []), [], "named to read_uncommitted")


@case("TXN-35", "Fetch", versions=(4, 18), spec=READER, priority="P1")
def test_interleaved_transactions_are_told_apart(wire: Wire, version: int) -> None:
    """If two producers' transactions are interleaved and one is aborted, a reader that uses the
    list of aborted transactions delivers exactly the committed records."""
    topic = wire.create_topic()
    kept, dropped = Producer.ready(wire), Producer.ready(wire)
    for n in range(3):
        kept.add_and_send(topic, b"kept %d" % n)
        dropped.add_and_send(topic, b"dropped %d" % n)
    dropped.abort()
    kept.commit()
    wait_until_ended(wire, topic)
    expect(
        committed_values(wire, topic, version=version),
        [b"kept %d" % n for n in range(3)],
        "committed records",
    )


@case("TXN-36", "Fetch", versions=(4, 18), spec=READER, priority="P1")
def test_the_oldest_open_transaction_holds_back_the_others(wire: Wire, version: int) -> None:
    """A transaction that is still open keeps the last stable offset at its first record, also when
    a later one has been committed."""
    topic = wire.create_topic()
    oldest, later = Producer.ready(wire), Producer.ready(wire)
    oldest.add_and_send(topic, b"oldest")
    later.add_and_send(topic, b"later")
    later.commit()
    eventually(lambda: wire.end_offset(topic), lambda end: end == 3, "the later one's marker")
    found = wire.fetch(topic, 0, version, isolation_level=READ_COMMITTED)
    expect((found.last_stable_offset, batches_of(found)), (0, []), "(stable offset, batches)")
    oldest.commit()
    wait_until_ended(wire, topic)
    expect(committed_values(wire, topic), [b"oldest", b"later"], "committed records in the end")
