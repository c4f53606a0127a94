"""Transactional ids: who owns one, in which epoch, and who is fenced (KIP-98, KIP-360, KIP-588)."""

from __future__ import annotations

import pytest

from conformance.case import Unsupported, case, expect, expect_that
from conformance.clients.members import TRANSACTION, beside, coordinator, found_coordinator
from conformance.clients.transactions import Producer, committed_values, wait_until_ended
from conformance.target.settings import TRANSACTION_TIMEOUT_MS, limit
from conformance.wire import Wire
from reference_impl.wire import ErrorCode

SPEC = "KIP-98, InitProducerId"


def fenced(version: int, since: int) -> ErrorCode:
    """Return PRODUCER_FENCED for versions that know it (KIP-588), else INVALID_PRODUCER_EPOCH."""
    known = version >= since
    return ErrorCode.PRODUCER_FENCED if known else ErrorCode.INVALID_PRODUCER_EPOCH


@case("TXN-01", "FindCoordinator", versions=(1, 6), spec="KIP-98; KIP-699")
def test_a_transactional_id_has_a_coordinator(wire: Wire, version: int) -> None:
    """FindCoordinator with key type 1 names a broker that Metadata lists, and always the same."""
    wire.version("EndTxn")
    name = wire.new_name("transactional")
    address = coordinator(wire, name, TRANSACTION)
    found = found_coordinator(wire.bootstrap, version, name, TRANSACTION)
    expect((found.error_code, found.host, found.port), (0, *address), "(error, host, port)")
    known = {b.node_id: (b.host, b.port) for b in wire.call("Metadata", topics=[]).brokers}
    expect(known.get(found.node_id), address, f"address of node {found.node_id} in Metadata")


@case("TXN-02", "InitProducerId", spec=SPEC)
def test_a_new_transactional_id_begins_at_epoch_zero(wire: Wire, version: int) -> None:
    """A transactional id used for the first time gets a producer id and epoch 0; two ids get
    different producer ids."""
    first, second = Producer.of(wire), Producer.of(wire)
    answers = [first.init(version), second.init(version)]
    expect([a.producer_epoch for a in answers], [0, 0], "epochs")
    ids = [a.producer_id for a in answers]
    expect_that(min(ids) >= 0 and ids[0] != ids[1], "producer ids", "two, >= 0", ids)


@case("TXN-03", "InitProducerId", spec=SPEC)
def test_the_next_owner_gets_the_next_epoch(wire: Wire, version: int) -> None:
    """A second InitProducerId of a transactional id returns the same producer id and the next
    epoch; a producer that still has the old epoch cannot begin a transaction."""
    old = Producer.of(wire)
    old.init(version)
    new = Producer.of(wire, old.transactional_id)
    new.init(version)
    expect(new.producer_id, old.producer_id, "producer id")
    expect_that(new.epoch > old.epoch, "epoch", f"> {old.epoch}", new.epoch)
    topic = wire.create_topic()
    code = fenced(old.explicit("AddPartitionsToTxn"), 2)
    expect(old.try_to_add(topic, 0), {0: code}, "AddPartitionsToTxn errors of the old epoch")
    expect(new.try_to_add(topic, 0), {0: 0}, "AddPartitionsToTxn errors of the new epoch")


@case("TXN-04", "InitProducerId", spec="class TransactionCoordinator, handleInitProducerId")
def test_an_empty_transactional_id_is_refused(wire: Wire, version: int) -> None:
    """An empty transactional id gets INVALID_REQUEST (42)."""
    answer = Producer.of(wire).try_to_init(version, transactional_id="")
    expect(answer.error_code, ErrorCode.INVALID_REQUEST, "error")


@pytest.mark.parametrize("timeout_ms", [0, -1, 2**31 - 1], ids="timeout={}".format)
@case("TXN-05", "InitProducerId", spec="KIP-98; transaction.max.timeout.ms")
def test_an_impossible_timeout_is_refused(wire: Wire, version: int, timeout_ms: int) -> None:
    """A transaction timeout that is not positive, or longer than the broker allows, gets
    INVALID_TRANSACTION_TIMEOUT (50)."""
    longest = limit(wire, TRANSACTION_TIMEOUT_MS, 900_000)
    if 0 < timeout_ms <= longest:
        raise Unsupported(f"{TRANSACTION_TIMEOUT_MS} is {longest} here: no time-out is longer")
    answer = Producer.of(wire).try_to_init(version, transaction_timeout_ms=timeout_ms)
    expect(answer.error_code, ErrorCode.INVALID_TRANSACTION_TIMEOUT, "error")


@case("TXN-06", "InitProducerId", versions=(3, 5), spec="KIP-360", priority="P1")
def test_a_producer_may_raise_its_own_epoch(wire: Wire, version: int) -> None:
    """InitProducerId with the current producer id and epoch gives the next epoch of the same id."""
    producer = Producer.ready(wire)
    answer = producer.try_to_init(
        version, producer_id=producer.producer_id, producer_epoch=producer.epoch
    )
    expect(
        (answer.error_code, answer.producer_id, answer.producer_epoch),
        (0, producer.producer_id, producer.epoch + 1),
        "(error, id, epoch)",
    )


@case("TXN-07", "InitProducerId", versions=(3, 5), spec="KIP-360; KIP-588", priority="P1")
def test_a_zombie_may_not_raise_its_epoch(wire: Wire, version: int) -> None:
    """InitProducerId with an epoch that is long past, or with another producer id, gets
    PRODUCER_FENCED (90), before version 4 INVALID_PRODUCER_EPOCH (47)."""
    producer = Producer.ready(wire)
    for _ in range(3):
        producer.init()
    stale = producer.try_to_init(version, producer_id=producer.producer_id, producer_epoch=0)
    foreign = producer.try_to_init(
        version, producer_id=producer.producer_id + 1000, producer_epoch=producer.epoch
    )
    code = fenced(version, 4)
    expect([stale.error_code, foreign.error_code], [code, code], "errors")


@case(
    "TXN-08",
    "InitProducerId",
    spec="class TransactionCoordinator, prepareInitProducerIdTransit",
    priority="P1",
)
def test_the_next_owner_aborts_what_is_open(wire: Wire, version: int) -> None:
    """InitProducerId while a transaction is open aborts it; then the next epoch is given."""
    old, topic = Producer.ready(wire), wire.create_topic()
    old.add_and_send(topic, b"open")
    new = Producer.of(wire, old.transactional_id)
    new.init(version)
    expect_that(new.epoch > old.epoch, "epoch", f"> {old.epoch}", new.epoch)
    wait_until_ended(wire, topic)
    expect(committed_values(wire, topic), [], "committed records")


@case(
    "TXN-15",
    "AddPartitionsToTxn",
    versions=(0, 3),
    spec="class TransactionCoordinator, handleAddPartitionsToTransaction",
)
def test_a_foreign_producer_id_adds_nothing(wire: Wire, version: int) -> None:
    """AddPartitionsToTxn with a transactional id that does not exist, or another producer id than
    its own, gets INVALID_PRODUCER_ID_MAPPING (49)."""
    producer, topic = Producer.ready(wire), wire.create_topic()
    never = beside(wire, producer.transactional_id, TRANSACTION)
    unknown = producer.try_to_add(topic, 0, version=version, transactional_id=never)
    foreign = producer.try_to_add(topic, 0, version=version, producer_id=producer.producer_id + 999)
    code = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    expect([unknown, foreign], [{0: code}, {0: code}], "errors")


@case("TXN-16", "AddPartitionsToTxn", versions=(0, 3), spec="KIP-588")
def test_a_wrong_epoch_adds_nothing(wire: Wire, version: int) -> None:
    """AddPartitionsToTxn with another epoch than the current one gets PRODUCER_FENCED (90), before
    version 2 INVALID_PRODUCER_EPOCH (47)."""
    producer, topic = Producer.ready(wire), wire.create_topic()
    producer.init()
    errors = [
        producer.try_to_add(topic, 0, version=version, producer_epoch=producer.epoch + step)
        for step in (-1, 1)
    ]
    expect(errors, [{0: fenced(version, 2)}] * 2, "errors of older and newer epoch")


@case("TXN-28", "EndTxn", versions=(0, 4), spec="KIP-588")
def test_an_old_epoch_ends_nothing(wire: Wire, version: int) -> None:
    """EndTxn with an older epoch gets PRODUCER_FENCED (90), before version 2
    INVALID_PRODUCER_EPOCH (47), and the transaction of the new epoch stays open."""
    producer, topic = Producer.ready(wire), wire.create_topic()
    producer.init()
    producer.add_and_send(topic, b"new")
    for commit in (True, False):
        answer = producer.try_to_end(commit, version, producer_epoch=producer.epoch - 1)
        expect(answer.error_code, fenced(version, 2), f"error, commit={commit}")
    expect(committed_values(wire, topic), [], "committed records while it is open")
    producer.commit()
    wait_until_ended(wire, topic)
    expect(committed_values(wire, topic), [b"new"], "committed records afterwards")


@case("TXN-31", "Produce", versions=(3, 13), spec="KIP-98, Zombie Fencing")
def test_a_zombie_may_not_write(wire: Wire, version: int) -> None:
    """Once the transactional id has a new owner that wrote to the partition, a batch of the old
    epoch gets INVALID_PRODUCER_EPOCH (47), and nothing of it is appended."""
    old, topic = Producer.ready(wire), wire.create_topic()
    old.add_and_send(topic, b"open")
    new = Producer.ready(wire, old.transactional_id)
    new.add_and_send(topic, b"new")
    end = wire.end_offset(topic)
    expect(
        old.try_to_send(topic, b"zombie", version=version),
        ErrorCode.INVALID_PRODUCER_EPOCH,
        "error",
    )
    expect(wire.end_offset(topic), end, "end offset afterwards")
    new.commit()
    wait_until_ended(wire, topic)
    expect(committed_values(wire, topic), [b"new"], "committed records")
