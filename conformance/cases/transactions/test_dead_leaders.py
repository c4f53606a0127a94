"""Transactions that end while a partition of theirs has no leader."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce

import pytest

from chaos.values.faults import Kill
from conformance.case import case, expect
from conformance.cases.cluster.test_elections import reassign
from conformance.cases.cluster.test_lost_brokers import (
    RETURN_S,
    lost,
    replicated,
    two_brokers,
    wait_for_isr,
)
from conformance.cases.cluster.test_moves import moves_of, replicas_of, wait_for_death
from conformance.cases.cluster.test_replication import NOBODY
from conformance.cases.configs.configs import Operation, alter, change, wait_for
from conformance.cases.offsets.offsets import commit as commit_offsets
from conformance.cases.transactions.offsets import commit_in_transaction, stable_offset_of
from conformance.clients.members import TRANSACTION, coordinator
from conformance.clients.transactions import Producer, committed_values, wait_until_ended
from conformance.target.examination import Examined
from conformance.wire import Topic, Wire, eventually
from reference_impl.wire import ErrorCode, Struct

OFFSETS_TOPIC, IN_SYNC = "__consumer_offsets", "min.insync.replicas"


def coordinated_elsewhere(wire: Wire, broker: int) -> Producer:
    """Return a producer that may begin a transaction, and whose coordinator is another broker."""
    address = wire.brokers()[broker]
    name = eventually(
        lambda: wire.new_name("transactional"),
        lambda found: coordinator(wire, found, TRANSACTION) != address,
        f"a transactional id that broker {broker} does not coordinate",
    )
    return Producer.ready(wire, name)


def wait_for_no_leader(wire: Wire, topic: Topic, dead: int) -> None:
    """Wait until every broker that lives knows that partition 0 of a topic, whose only replica is
    dead, has no leader."""
    wait_for_death(wire, dead)
    for connection in wire.everywhere():
        eventually(
            lambda asked=connection: wire.topic_metadata(topic.name, connection=asked),  # type: ignore[misc]
            lambda found: found.partitions[0].leader_id == NOBODY,
            f"{topic.name} has no leader",
            RETURN_S,
        )


def kept_first(wire: Wire, offsets: Topic) -> str:
    """Return the name of a group whose offsets are in partition 0 of this topic (class
    GroupCoordinatorService, partitionFor)."""

    def partition_for(group: str) -> int:
        value = reduce(lambda hashed, byte: 31 * hashed + byte & 0xFFFFFFFF, group.encode(), 0)
        return min(value, (1 << 32) - value) % offsets.partitions

    return next(
        name for name in iter(lambda: wire.new_name("group"), "") if not partition_for(name)
    )


@contextmanager
def only_on(wire: Wire, topic: Topic, broker: int) -> Iterator[None]:
    """Keep partition 0 of a topic on one broker alone, and on all its replicas afterwards."""
    before = replicas_of(wire, topic)
    version = wire.version("AlterPartitionReassignments")

    def require_in_sync(*values: Struct) -> None:
        expect(
            alter(wire, None, {topic.name: list(values)}),
            {topic.name: 0},
            "IncrementalAlterConfigs error",
        )

    def move(replicas: list[int]) -> None:
        expect(reassign(wire, version, topic.name, replicas), ErrorCode.NONE, "error of the move")
        eventually(lambda: replicas_of(wire, topic), lambda r: r == replicas, "replicas", RETURN_S)
        eventually(lambda: moves_of(wire, topic), lambda rows: rows == [], "moves", RETURN_S)
        wait_for_isr(wire, topic, replicas)

    # Where min.insync.replicas is larger, a lone replica that was killed does not lead again in
    # Apache Kafka 4.3.1.
    require_in_sync(change(IN_SYNC, "1"))
    wait_for(wire, topic.name, IN_SYNC, "1")
    move([broker])
    try:
        yield
    finally:
        move(before)
        require_in_sync(change(IN_SYNC, None, Operation.DELETE))


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
@case("TXN-63", "EndTxn", spec="KIP-98, Guarantees", priority="P1", requires=["restart"])
def test_a_partition_without_a_leader_gets_its_marker_later(
    wire: Wire, version: int, examined: Examined, commit: bool
) -> None:
    """A transaction that ends while one of its partitions has no leader ends there, too, once the
    partition is led again: its last stable offset passes the transaction, and read_committed
    readers get its records after a commit, and none after an abort."""
    asked, other = two_brokers(wire)
    producer = coordinated_elsewhere(wire, other)
    led, leaderless = (
        replicated(wire, [broker], min_insync_replicas="1") for broker in (asked, other)
    )
    for topic in (led, leaderless):
        producer.add_and_send(topic, b"a")
    with lost(examined, wire, leaderless, Kill(other)):
        wait_for_no_leader(wire, leaderless, other)
        producer.end(commit, version)
    for topic in (led, leaderless):
        wait_until_ended(wire, topic)
        expect(committed_values(wire, topic), [b"a"] if commit else [], "committed records")


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
@case(
    "TXN-63",
    "TxnOffsetCommit",
    versions=(0, 4),
    spec="KIP-98, Guarantees; KIP-447",
    priority="P1",
    requires=["restart"],
)
def test_offsets_without_a_coordinator_are_settled_later(
    wire: Wire, version: int, examined: Examined, commit: bool
) -> None:
    """Offsets of a transaction that ends while their partition of __consumer_offsets has no leader
    are settled once it is led again: OffsetFetch with require_stable returns them after a commit,
    and the earlier ones after an abort, and no longer UNSTABLE_OFFSET_COMMIT (88)."""
    _, other = two_brokers(wire)
    producer, topic = coordinated_elsewhere(wire, other), wire.create_topic()
    coordinator(wire, wire.new_name("group"))  # it makes the topic, unless it is there
    described = wire.topic_metadata(OFFSETS_TOPIC)
    offsets = Topic(OFFSETS_TOPIC, described.topic_id, len(described.partitions))
    group = kept_first(wire, offsets)
    with only_on(wire, offsets, other):
        commit_offsets(wire, group, topic, {0: 1})
        commit_in_transaction(producer, group, topic, 5, commit_version=version)
        with lost(examined, wire, offsets, Kill(other)):
            wait_for_no_leader(wire, offsets, other)
            producer.end(commit)
        found = stable_offset_of(wire, group, topic)
        expected = (0, 5 if commit else 1)
        expect((found.error_code, found.committed_offset), expected, "(error, offset)")
