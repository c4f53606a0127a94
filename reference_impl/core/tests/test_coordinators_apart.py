"""A partition and its coordinator on different nodes: each asks the other in Kafka's requests."""

from __future__ import annotations

from typing import Any

from reference_impl.core.rules import Rules
from reference_impl.core.tests.replicated import FOLLOWER, OWN, Replicated
from reference_impl.core.tests.test_shards import come_back, opened, send_end
from reference_impl.core.tests.transactional import Producer, transactional_world
from reference_impl.core.transactions.asking_leaders import ask_leader
from reference_impl.core.transactions.transaction import Marker
from reference_impl.core.waiting.waits import Answer
from reference_impl.robustness.transactional_client import PER_TRANSACTION, read_committed
from reference_impl.wire import TRANSACTIONAL_BIT, ApiKey, ErrorCode


def find(producer: Producer) -> Any:
    answer = producer.world.call(ApiKey.FIND_COORDINATOR, 4, key_type=1, coordinator_keys=["tx"])
    return answer.coordinators[0]


def test_the_coordinator_is_whoever_leads_the_partition_of_the_key() -> None:
    producer, log = opened()
    assert (find(producer).error_code, find(producer).node_id) == (ErrorCode.NONE, OWN)
    log.lose_leadership()
    found = find(producer)
    assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE, "nobody knows its address"
    come_back(log)
    assert (find(producer).error_code, find(producer).node_id) == (ErrorCode.NONE, OWN)


def test_a_marker_is_written_by_the_leader_of_the_partition_and_by_nobody_else() -> None:
    producer, log = opened()
    log.change(isr=[OWN])
    data = Replicated(producer.world, "t", 0)
    data.lose_leadership()
    end_offset = data.partition.log.log_end_offset
    send_end(producer)
    producer.world.wait(5_000)
    assert data.partition.log.log_end_offset == end_offset
    assert [each for each in producer.world.reports if "is not complete yet" in each]
    come_back(data)
    producer.world.wait(10_000)
    assert read_committed(producer.world) == ["a"]


def test_a_leader_is_asked_for_its_partitions_and_each_has_its_own_answer() -> None:
    producer, _ = opened()
    marker = Marker(producer.producer_id, producer.epoch, True, 0, 0)
    keys = [("t", 0), ("t", 1), ("gone", 0)]
    asking = ask_leader(FOLLOWER, keys, marker, 1000)
    asked = next(asking)
    assert isinstance(asked, Answer) and asked.node == FOLLOWER
    answer = producer.world.ask(ApiKey.WRITE_TXN_MARKERS, 1, asked.body, client=9)
    try:
        asking.send(answer)
    except StopIteration as end:
        codes = end.value
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == {keys[0]: ErrorCode.NONE, keys[1]: ErrorCode.NONE, keys[2]: unknown}
    assert read_committed(producer.world) == ["a"]


def test_a_batch_waits_until_the_coordinator_of_its_transaction_can_be_asked() -> None:
    world = transactional_world()
    producer = Producer(world, versions=PER_TRANSACTION)
    assert producer.init().error_code == ErrorCode.NONE
    log = Replicated(world, "__transaction_state", world.node.broker.transactions.of("tx").index)
    log.lose_leadership()
    assert producer.send("a").error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    come_back(log)
    assert producer.send("a").error_code == ErrorCode.NONE


class ForgetsTheGuard(Rules):
    """A leader that appends what was verified before its transaction ended."""

    def check_not_ended(self, last_marker_before: int, last_marker: int) -> None:
        return


def verified_too_late(rules: type[Rules]) -> int:
    """Return the error of a batch whose transaction ended (its marker was written) while the
    coordinator was still replicating that the partition takes part."""
    world = transactional_world(rules=rules)
    producer = Producer(world, versions=PER_TRANSACTION)
    assert producer.init().error_code == ErrorCode.NONE
    log = Replicated(world, "__transaction_state", world.node.broker.transactions.of("tx").index)
    writer = {"producer_id": producer.producer_id, "producer_epoch": producer.epoch}
    batch = world.batch("a", **writer, base_sequence=0, attributes=TRANSACTIONAL_BIT)
    body = world.produce_body("t", batch, transactional_id="tx")
    number = world.send(ApiKey.PRODUCE, PER_TRANSACTION["produce"], body, 7)
    assert world.answer_to(number) is None
    marker = Marker(producer.producer_id, producer.epoch, False, 0, 0)
    partition = world.node.broker.led_partition("t", None, 0)
    world.node.broker.markers.write(partition, marker)
    log.catch_up()
    answer = world.answer_to(number)
    assert answer is not None
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


def test_a_batch_that_a_marker_has_overtaken_is_refused() -> None:
    assert verified_too_late(Rules) == ErrorCode.INVALID_TXN_STATE


def test_without_the_guard_it_would_begin_a_transaction_after_its_end() -> None:
    assert verified_too_late(ForgetsTheGuard) == ErrorCode.NONE
