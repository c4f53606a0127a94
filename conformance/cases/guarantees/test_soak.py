"""Eight producers and eight members of a group, whose connections break again and again.

Each works in a thread of its own by raw requests, closes its connection at random between a request
and its answer, and sends the same again, as clients do on a bad network. Now and then a member
leaves the group and comes back as another.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from random import Random

from conformance.case import case, each, expect, expect_that
from conformance.cases.guarantees.unreliable import (
    Address,
    Consumed,
    Consuming,
    Unreliable,
    once_loaded,
)
from conformance.clients.members import coordinator, group_connection
from conformance.wire import Topic, Wire, batch, request
from reference_impl.wire import ErrorCode

CLIENTS = 8
PARTITIONS = 8
BATCHES = 150
SOAK_S = 60.0
"""The seconds that the members may take, a multiple of what they need. Records that are still
missing then are lost."""
GRACE_S = 60.0
"""The seconds that a thread may take beyond SOAK_S, since each of its requests has a bound of its
own."""
SENT_BEFORE = frozenset({ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER})


@case("GUAR-12", "JoinGroup", spec="KIP-62; KIP-98", priority="P1")
def test_clients_with_breaking_connections_share_the_records(wire: Wire) -> None:
    """Eight producers and eight group members work while their connections break: every request is
    answered in time, each sent record is in the log exactly once, and each record is given to
    exactly one member within a generation."""
    topic, group = wire.create_topic(PARTITIONS), wire.new_name("group")
    group_connection(wire, group)
    leaders = [wire.leader_address(topic, partition) for partition in range(PARTITIONS)]
    consumed = Consumed(enough=CLIENTS * BATCHES, deadline=time.monotonic() + SOAK_S)
    members = [
        Consuming(
            Unreliable(wire, coordinator(wire, group), Random(CLIENTS + number)),
            [Unreliable(wire, leader, Random(2 * CLIENTS + number)) for leader in leaders],
            topic,
            group,
            consumed,
        )
        for number in range(CLIENTS)
    ]
    work: list[Callable[[], int]] = [member.run for member in members]
    work += [
        lambda number=number: produce(wire, topic, leaders[number], number)  # type: ignore[misc]
        for number in range(CLIENTS)
    ]
    resets = in_threads(work, consumed)
    expect_that(resets > CLIENTS, "connections that broke", f"more than {CLIENTS}", resets)
    generations = len(consumed.generations)
    expect_that(generations > 1, "generations of the group", "more than 1", generations)
    expect_each_once(wire, topic, consumed)


def in_threads(work: list[Callable[[], int]], consumed: Consumed) -> int:
    """Do all of it at once. Return the sum of the results, or raise what was raised first."""
    with ThreadPoolExecutor(len(work)) as pool:
        begun: list[Future[int]] = [pool.submit(each_one) for each_one in work]
        try:
            return sum(one.result(SOAK_S + GRACE_S) for one in begun)
        finally:
            consumed.deadline = 0.0


def produce(wire: Wire, topic: Topic, leader: Address, number: int) -> int:
    """Send one batch after the other to a partition. Return the number of times that the connection
    broke."""
    with Unreliable(wire, leader, Random(number)) as client:
        allotment = request("InitProducerId", transactional_id=None, transaction_timeout_ms=60_000)
        allotted = once_loaded(lambda: client.call("InitProducerId", allotment)[0])
        for sequence in range(BATCHES):
            records = batch(
                value_of(number, sequence),
                producer_id=allotted.producer_id,
                producer_epoch=allotted.producer_epoch,
                base_sequence=sequence,
            )
            body = wire.produce_request(topic, records.encode(), partition=number)
            answer, sent_before = client.call("Produce", body)
            told = answer.responses[0].partition_responses[0].error_code
            right = SENT_BEFORE if sent_before else ErrorCode.NONE
            expect(told, right, f"error of batch {sequence} of producer {number}")
        return client.resets


def expect_each_once(wire: Wire, topic: Topic, consumed: Consumed) -> None:
    """Compare what was sent with what stands in the log, and with what the members got."""
    sent = Counter(value_of(n, number) for n in range(CLIENTS) for number in range(BATCHES))
    stored = Counter(
        value or b"" for p in range(PARTITIONS) for value in wire.values(topic, partition=p)
    )
    expect(sorted((sent - stored).elements()), [], "values missing in the log")
    expect(sorted((stored - sent).elements()), [], "values in the log more often than sent")
    expect(sorted(set(sent) ^ consumed.values), [], "values never given to the group, or not sent")
    owners = Counter((generation, p) for generation, p, _ in set(consumed.owners))
    for (generation, partition), count in each(owners.items(), "partitions with an owner"):
        expect(count, 1, f"owners of partition {partition} in generation {generation}")
    for (generation, partition, offset), count in each(
        Counter(consumed.delivered).items(), "records delivered"
    ):
        where = f"{topic.name}-{partition} at offset {offset}"
        expect(count, 1, f"deliveries of {where} in generation {generation}")


def value_of(producer: int, number: int) -> bytes:
    """Return the value of a producer's batch, which no other has."""
    return b"%02d-%04d" % (producer, number)
