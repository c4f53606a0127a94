"""A state of a transaction counts once the follower of `__transaction_state` has it."""

from __future__ import annotations

from collections.abc import Container

from reference_impl.core.rules import Rules
from reference_impl.core.tests.replicated import Replicated
from reference_impl.core.tests.transactional import Producer, open_transaction, transactional_world
from reference_impl.core.transactions.transaction import Transaction
from reference_impl.robustness.transactional_client import CLASSIC, PER_TRANSACTION, read_committed
from reference_impl.wire import TRANSACTIONAL_BIT, ApiKey, ErrorCode, Struct, request_definition

LATER = ErrorCode.CONCURRENT_TRANSACTIONS


def opened(
    rules: type[Rules] = Rules, versions: dict[str, int] = CLASSIC
) -> tuple[Producer, Replicated]:
    """Return a producer with an open transaction, and the log of its coordinator."""
    world = transactional_world(rules=rules)
    producer = Producer(world, versions=versions)
    assert producer.init().error_code == ErrorCode.NONE
    open_transaction(producer, "a")
    index = world.node.broker.transactions.of("tx").index
    return producer, Replicated(world, "__transaction_state", index)


def send_end(producer: Producer, *, commit: bool = True, client: int = 7) -> int:
    version = producer.versions["end"]
    body = request_definition(ApiKey.END_TXN).new(
        transactional_id="tx",
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        committed=commit,
    )
    return producer.world.send(ApiKey.END_TXN, version, body, client)


def code_of(answer: Struct | None) -> int | None:
    return None if answer is None else int(answer.error_code)


def test_no_reader_sees_a_decision_that_the_follower_lacks() -> None:
    producer, log = opened()
    number = send_end(producer)
    assert producer.world.answer_to(number) is None
    assert read_committed(producer.world) == []
    log.catch_up()
    assert code_of(producer.world.answer_to(number)) == ErrorCode.NONE
    assert read_committed(producer.world) == ["a"]


def test_whoever_meets_a_pending_state_comes_again() -> None:
    producer, log = opened()
    send_end(producer)
    assert code_of(producer.world.answer_to(send_end(producer, commit=False, client=8))) == LATER
    assert producer.init().error_code == LATER
    assert producer.add("t", 1) == LATER
    log.catch_up()
    assert producer.init().error_code == LATER, "that it is complete is pending, too"
    log.catch_up()
    log.change(isr=[1])
    assert producer.init().error_code == ErrorCode.NONE


class ForgetsWhatIsPending(Rules):
    """A coordinator that decides on a state which was overtaken."""

    def check_not_pending(
        self, transactional_id: str, transaction: Transaction | None, pending: Container[str]
    ) -> None:
        return


def test_a_forgetful_coordinator_would_decide_twice() -> None:
    producer, _ = opened(ForgetsWhatIsPending)
    send_end(producer)
    second = send_end(producer, commit=False, client=8)
    assert producer.world.answer_to(second) is None, "it has written the opposite decision"


def test_a_client_that_leaves_takes_no_decision_back() -> None:
    producer, log = opened()
    send_end(producer)
    producer.world.disconnect(7)
    assert read_committed(producer.world) == []
    log.catch_up()
    assert read_committed(producer.world) == ["a"]
    log.catch_up()
    assert not producer.world.node.broker.transactions.of("tx").pending


def test_a_slow_follower_ends_the_wait_but_not_the_pending_state() -> None:
    producer, log = opened()
    number = send_end(producer)
    producer.world.wait(59_999)
    assert producer.world.answer_to(number) is None
    producer.world.wait(1)
    assert code_of(producer.world.answer_to(number)) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert code_of(producer.world.answer_to(send_end(producer, client=8))) == LATER
    log.catch_up()
    assert read_committed(producer.world) == ["a"]


def test_a_lost_leadership_leaves_the_decision_to_the_next_coordinator() -> None:
    producer, log = opened()
    number = send_end(producer)
    log.lose_leadership()
    assert code_of(producer.world.answer_to(number)) == ErrorCode.NOT_COORDINATOR
    assert producer.world.node.broker.transactions.known(log.index) is None
    assert read_committed(producer.world) == []


def test_a_transaction_is_not_complete_before_its_markers_are_replicated() -> None:
    producer, log = opened()
    data = Replicated(producer.world, "t", 0)
    number = send_end(producer)
    log.change(isr=[1])
    assert code_of(producer.world.answer_to(number)) == ErrorCode.NONE
    described = producer.world.call(
        ApiKey.DESCRIBE_TRANSACTIONS, 0, 9, transactional_ids=["tx"]
    ).transaction_states[0]
    assert described.transaction_state == "PrepareCommit"
    data.catch_up()
    assert read_committed(producer.world) == ["a"]


def with_markers_to_write(versions: dict[str, int]) -> tuple[Producer, int]:
    """Return a producer whose commit has been answered but whose markers are not replicated, and
    the epoch of that transaction."""
    producer, log = opened(versions=versions)
    Replicated(producer.world, "t", 0)
    epoch = producer.epoch
    log.change(isr=[1])
    assert producer.end(commit=True).error_code == ErrorCode.NONE
    return producer, epoch


def test_the_next_epoch_comes_again_while_the_markers_are_written() -> None:
    producer, epoch = with_markers_to_write(PER_TRANSACTION)
    assert producer.epoch == epoch + 1
    for asked in (epoch - 1, epoch, epoch + 1, epoch + 2):
        for commit in (True, False):
            assert producer.end(commit=commit, producer_epoch=asked).error_code == LATER
    assert producer.end(commit=True, producer_id=producer.producer_id + 1).error_code == LATER
    assert producer.init().error_code == LATER
    foreign = {"producer_id": producer.producer_id + 1, "producer_epoch": 0}
    assert producer.init(**foreign).error_code == LATER
    assert producer.add("t", 1) == LATER
    producer.epoch = epoch
    assert producer.add("t", 1) == LATER


def test_before_epochs_per_transaction_the_producer_is_checked_first() -> None:
    producer, epoch = with_markers_to_write(CLASSIC)
    for commit in (True, False):
        assert producer.end(commit=commit).error_code == LATER
    fenced = producer.end(commit=True, producer_epoch=epoch + 1).error_code
    assert fenced == ErrorCode.PRODUCER_FENCED


def test_a_batch_is_appended_once_its_partition_takes_part() -> None:
    producer, log = opened(versions=PER_TRANSACTION)
    log.change(isr=[1])
    assert producer.end(commit=True).error_code == ErrorCode.NONE
    log.change(isr=[1, 2])
    records = producer.world.batch(
        "b",
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=0,
        attributes=TRANSACTIONAL_BIT,
    )
    body = producer.world.produce_body("t", records, transactional_id="tx")
    number = producer.world.send(ApiKey.PRODUCE, 12, body)
    partition = producer.world.node.broker.led_partition("t", None, 0)
    before = partition.log.log_end_offset
    assert producer.world.answer_to(number) is None
    log.catch_up()
    answer = producer.world.answer_to(number)
    assert answer is not None
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
    assert partition.log.log_end_offset == before + 1


def test_the_coordinator_of_others_hears_of_a_marker_once_it_is_replicated() -> None:
    producer, _ = opened()
    data = Replicated(producer.world, "t", 0)
    of = request_definition(ApiKey.WRITE_TXN_MARKERS)
    marker = of.struct(
        "WritableTxnMarker",
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        transaction_result=True,
        coordinator_epoch=9,
        topics=[of.struct("WritableTxnMarkerTopic", name="t", partition_indexes=[0])],
    )
    number = producer.world.send(ApiKey.WRITE_TXN_MARKERS, 1, of.new(markers=[marker]), 7)
    assert producer.world.answer_to(number) is None
    data.catch_up()
    answer = producer.world.answer_to(number)
    assert answer is not None
    assert answer.markers[0].topics[0].partitions[0].error_code == ErrorCode.NONE


def second_transaction(patience_ms: int, ends_after_ms: int) -> tuple[int, int]:
    """Return the error of the first batch of a transaction whose producer's last one is not
    complete for a while, and the time in ms until that answer."""
    world = transactional_world({"add.partitions.to.txn.retry.backoff.max.ms": str(patience_ms)})
    producer = Producer(world, versions=PER_TRANSACTION)
    assert producer.init().error_code == ErrorCode.NONE
    assert producer.send("a").error_code == ErrorCode.NONE
    log = Replicated(world, "__transaction_state", world.node.broker.transactions.of("tx").index)
    ended = send_end(producer)
    log.catch_up()
    answer = world.answer_to(ended)
    assert answer is not None and answer.error_code == ErrorCode.NONE
    writer = {"producer_id": answer.producer_id, "producer_epoch": answer.producer_epoch}
    batch = world.batch("b", **writer, base_sequence=0, attributes=TRANSACTIONAL_BIT)
    body = world.produce_body("t", batch, transactional_id="tx")
    number = world.send(ApiKey.PRODUCE, PER_TRANSACTION["produce"], body, 7)
    waited_ms = 0
    while (answer := world.answer_to(number)) is None and waited_ms < 1_000:
        world.wait(10)
        waited_ms += 10
        if waited_ms == ends_after_ms:
            log.catch_up()
            log.change(isr=[1])
    assert answer is not None
    return int(answer.responses[0].partition_responses[0].error_code), waited_ms


def test_a_batch_waits_for_the_end_of_its_producers_last_transaction() -> None:
    code, waited_ms = second_transaction(patience_ms=100, ends_after_ms=50)
    assert (code, 50 <= waited_ms <= 70) == (ErrorCode.NONE, True)


def test_a_batch_does_not_wait_for_ever_for_the_transaction_before_it() -> None:
    assert second_transaction(patience_ms=100, ends_after_ms=10_000) == (LATER, 100)
    assert second_transaction(patience_ms=0, ends_after_ms=10_000) == (LATER, 0)
