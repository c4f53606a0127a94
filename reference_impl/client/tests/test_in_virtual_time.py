"""Producers and consumers against the reference broker, over a network that loses connections."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from reference_impl.client import calls
from reference_impl.client.consumer import Consumer
from reference_impl.client.errors import ClientError
from reference_impl.client.producer import Producer
from reference_impl.client.tests.virtual import BOOTSTRAP, PENDING, Client, VirtualWorld
from reference_impl.client.values import (
    ConsumerRecord,
    ProducerRecord,
    RecordMetadata,
    TopicPartition,
)
from reference_impl.core.rules import Rules

ALL = frozenset(TopicPartition("t", index) for index in range(3))


def producer(world: VirtualWorld, **settings: Any) -> Client:
    config = {name.replace("_", "."): value for name, value in settings.items()}
    return Client(world, Producer({"bootstrap.servers": BOOTSTRAP, **config}, world.random))


def consumer(world: VirtualWorld, **settings: Any) -> tuple[Client, Consumer]:
    config = {name.replace("_", "."): value for name, value in settings.items()}
    config = {"bootstrap.servers": BOOTSTRAP, "auto.offset.reset": "earliest", **config}
    machine = Consumer(config, world.random)
    return Client(world, machine), machine


def read_all(world: VirtualWorld, isolation: str = "read_uncommitted") -> list[ConsumerRecord]:
    """Read the whole topic with a consumer of its own."""
    client, machine = consumer(world, isolation_level=isolation)
    client.do(calls.Assign(ALL))
    ends = client.do(calls.OffsetsForTimes(dict.fromkeys(ALL, -1)))
    records: list[ConsumerRecord] = []
    for _ in range(100):
        records += client.do(calls.Poll(1_000))
        reached = machine.positions
        if all(
            each in reached and reached[each].offset >= end.offset for each, end in ends.items()
        ):
            return records
    raise AssertionError(f"the end was not reached: {reached} of {ends}")


def values(records: list[ConsumerRecord], partition: int) -> list[int]:
    return [int(record.value or b"") for record in records if record.partition == partition]


@pytest.mark.seeds(6)
def test_an_idempotent_producer_writes_each_record_once_and_in_order(seed: int) -> None:
    world = VirtualWorld(seed, loss=0.2)
    sender = producer(world, batch_size=200, linger_ms=1)
    sends = []
    for number in range(300):
        record = ProducerRecord("t", b"%d" % number, partition=number % 3)
        sends.append(sender.call(calls.Send(record)))
        if number % 10 == 0:
            world.run_for(world.random.randrange(5))
        if number == 150:
            world.kill_broker()
    sender.do(calls.Flush())
    results = [sender.results[call_id] for call_id in sends]
    assert all(isinstance(result, RecordMetadata) for result in results)
    records = read_all(world)
    for partition in range(3):
        assert values(records, partition) == list(range(partition, 300, 3))
    offsets = {(result.partition, result.offset) for result in results if result.offset >= 0}
    assert offsets <= {(record.partition, record.offset) for record in records}
    retried = Counter(ask.api_key for ask in sender.asked)
    assert retried[18] > 1, "the network lost no connection, so this shows nothing"


def test_a_broker_that_forgets_retries_is_found_out() -> None:
    """Otherwise the test above would prove nothing."""

    class ForgetRetries(Rules):
        def duplicate_of(self, *_: Any) -> None:
            return None

        def check_sequence(self, *_: Any) -> None:
            pass

    world = VirtualWorld(1, loss=0.2, rules=ForgetRetries)
    sender = producer(world, batch_size=200, linger_ms=1)
    for number in range(100):
        sender.call(calls.Send(ProducerRecord("t", b"%d" % number, partition=0)))
        world.run_for(1)
    sender.do(calls.Flush())
    assert len(values(read_all(world), 0)) > 100


@pytest.mark.seeds(6)
@pytest.mark.parametrize("version", [1, 2], ids="transaction.version={}".format)
def test_committed_transactions_are_read_and_aborted_ones_are_not(seed: int, version: int) -> None:
    world = VirtualWorld(seed, loss=0.1)
    machine = Producer(
        {"bootstrap.servers": BOOTSTRAP, "transactional.id": "x", "linger.ms": 1}, world.random
    )
    sender = Client(world, machine)
    if version == 1:
        pin_transaction_version_1(machine)
    sender.do(calls.InitTransactions())
    committed: dict[int, list[int]] = {0: [], 1: [], 2: []}
    number = 0
    for turn in range(20):
        sender.do(calls.BeginTransaction())
        mine: dict[int, list[int]] = {0: [], 1: [], 2: []}
        for _ in range(world.random.randrange(1, 8)):
            number += 1
            mine[number % 3].append(number)
            record = ProducerRecord("t", b"%d" % number, partition=number % 3)
            sender.call(calls.Send(record))
        if turn == 10:
            world.kill_broker()
        if world.random.random() < 0.6:
            sender.do(calls.CommitTransaction())
            for partition, numbers in mine.items():
                committed[partition] += numbers
        else:
            sender.do(calls.Flush())
            sender.do(calls.AbortTransaction())
    versions = {ask.api_version >= 12 for ask in sender.asked if ask.api_key == 0}
    assert versions == {version == 2}
    records = read_all(world, "read_committed")
    assert {partition: values(records, partition) for partition in range(3)} == committed
    assert len(read_all(world)) == number


def pin_transaction_version_1(machine: Producer) -> None:
    """Let the producer think that the cluster has no transactions v2."""

    class Nothing(dict[str, int]):
        def update(self, *_: Any, **__: Any) -> None:
            pass

    machine._network.features = Nothing()


@pytest.mark.parametrize("strategy", ["RangeAssignor", "CooperativeStickyAssignor"])
@pytest.mark.seeds(6)
def test_a_group_reads_everything_while_members_come_and_go(seed: int, strategy: str) -> None:
    world = VirtualWorld(seed, loss=0.03)
    sender = producer(world)
    for number in range(200):
        record = ProducerRecord("t", b"%d" % number, partition=number % 3)
        sender.call(calls.Send(record))
    sender.do(calls.Flush())
    settings = {"group_id": "g", "partition_assignment_strategy": strategy, "max_poll_records": 7}
    members = [consumer(world, **settings) for _ in range(3)]
    found: set[int] = set()
    polls: dict[int, int] = {}
    for position, (client, _) in enumerate(members):
        world.at(
            position * 2_000,
            lambda client=client: client.call(calls.Subscribe(frozenset({"t"}))),  # type: ignore[misc]
        )
    world.run_for(5_000)

    def poll_everybody() -> None:
        for position, (client, _) in enumerate(members):
            result = client.results.get(polls.get(position, 0), [])
            if result is PENDING:
                continue
            if not isinstance(result, ClientError):
                found.update(int(record.value or b"") for record in result)
            polls[position] = client.call(calls.Poll(200))

    def everything_is_read() -> bool:
        poll_everybody()
        return len(found) == 200

    world.run_until(everything_is_read, 600_000)
    gone, _ = members.pop(0)
    gone.do(calls.Close())
    polls.clear()

    def others_hold_all() -> bool:
        poll_everybody()
        held = [partition for _, machine in members for partition in machine.assignment]
        return sorted(held) == sorted(ALL)

    world.run_until(others_hold_all, 600_000)
    for client, _ in members:
        client.do(calls.Close())
    reader, _ = consumer(world, group_id="g")
    committed = reader.do(calls.Committed(ALL))
    assert {each: offset.offset for each, offset in committed.items()} == {
        TopicPartition("t", 0): 67,
        TopicPartition("t", 1): 67,
        TopicPartition("t", 2): 66,
    }


def test_a_consumer_notices_that_the_log_was_truncated_and_reads_what_came_instead() -> None:
    """KIP-320: its position is inside the log again, but the log is another."""
    world = VirtualWorld(3)

    def send(first: int, count: int) -> None:
        sender = producer(world)
        for number in range(first, first + count):
            sender.call(calls.Send(ProducerRecord("t", b"%d" % number, partition=0)))
        sender.do(calls.Close())

    def poll_for(count: int) -> list[ConsumerRecord]:
        records: list[ConsumerRecord] = []
        for _ in range(20):
            records += reader.do(calls.Poll(1_000))
            if len(records) >= count:
                break
        return records

    send(0, 10)
    reader, _ = consumer(world)
    reader.do(calls.Assign(frozenset({TopicPartition("t", 0)})))
    assert values(poll_for(10), 0) == list(range(10))
    world.lose_power()
    send(100, 30)
    records = poll_for(30)
    assert values(records, 0) == list(range(100, 130))
    assert [record.offset for record in records] == list(range(30))


def test_the_same_seed_gives_the_same_run() -> None:
    def run() -> list[tuple[int, int, int]]:
        world = VirtualWorld(7, loss=0.1)
        sender = producer(world)
        for number in range(50):
            sender.call(calls.Send(ProducerRecord("t", b"%d" % number)))
        sender.do(calls.Flush())
        return [(ask.request_id, ask.api_key, ask.api_version) for ask in sender.asked]

    assert run() == run()
