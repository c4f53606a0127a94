"""CreateTopics and CreatePartitions with replicas chosen by the client."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.case import case, expect
from conformance.cases.admin.test_create_topics import create, expect_refused
from conformance.wire import Wire, part
from reference_impl.wire import ErrorCode, Struct

ALL = (2, 7)
NOBODY = 2**31 - 1
VALIDATE = "ReplicationControlManager.validateManualPartitionAssignment"


def a_broker(wire: Wire) -> int:
    """Return the id of a broker of the target."""
    return int(wire.call("Metadata", topics=[]).brokers[0].node_id)


Replicas = list[tuple[int, list[int]]]
"""(partition, brokers) of each row."""


def assigned(name: str, replicas: Replicas, partitions: int = -1, factor: int = -1) -> Struct:
    """Create a topic with these replicas by partition; return its result."""
    rows = [
        part("CreateTopics", "CreatableReplicaAssignment", partition_index=index, broker_ids=ids)
        for index, ids in replicas
    ]
    return part(
        "CreateTopics",
        "CreatableTopic",
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=rows,
    )


@case(
    "ADMIN-13",
    "CreateTopics",
    versions=ALL,
    spec="ReplicationControlManager.createTopic",
    priority="P1",
)
def test_an_assignment_says_partitions_and_factor_itself(wire: Wire, version: int) -> None:
    """A topic with a manual assignment and -1 for partitions and replication factor is created as
    assigned; a number for either beside the assignment gets INVALID_REQUEST (42)."""
    broker = a_broker(wire)
    name = wire.new_name()
    replicas = [(0, [broker]), (1, [broker])]
    expect(create(wire, version, assigned(name, replicas))[name].error_code, 0, "error")
    wire.wait_for_topic(name, 2)
    found = wire.topic_metadata(name).partitions
    expect(
        sorted((p.partition_index, p.replica_nodes) for p in found),
        replicas,
        "replicas by partition",
    )
    for partitions, factor in ((2, -1), (-1, 1), (2, 1)):
        topic = assigned(wire.new_name(), replicas, partitions, factor)
        expect_refused(wire, version, topic, ErrorCode.INVALID_REQUEST)


IMPOSSIBLE: dict[str, Callable[[int], Replicas]] = {
    "gap": lambda broker: [(0, [broker]), (2, [broker])],
    "partition-twice": lambda broker: [(0, [broker]), (0, [broker])],
    "broker-twice": lambda broker: [(0, [broker, broker])],
    "unknown-broker": lambda _: [(0, [NOBODY])],
    "uneven": lambda broker: [(0, [broker]), (1, [])],
}


@pytest.mark.parametrize("wrong", list(IMPOSSIBLE))
@case("ADMIN-14", "CreateTopics", versions=ALL, spec=VALIDATE, priority="P1")
def test_an_impossible_assignment_is_refused(wire: Wire, version: int, wrong: str) -> None:
    """Partition numbers with a gap or twice, a broker twice in a partition, a broker that does not
    exist, or partitions with different numbers of replicas get INVALID_REPLICA_ASSIGNMENT (39)."""
    replicas = IMPOSSIBLE[wrong](a_broker(wire))
    expect_refused(
        wire, version, assigned(wire.new_name(), replicas), ErrorCode.INVALID_REPLICA_ASSIGNMENT
    )


@case(
    "ADMIN-29", "CreatePartitions", spec="ReplicationControlManager.createPartitions", priority="P1"
)
def test_new_partitions_need_an_assignment_each(wire: Wire, version: int) -> None:
    """Growing a topic from one partition to three, with an assignment for one new partition only,
    for brokers that do not exist, or to more replicas than the topic has, gets
    INVALID_REPLICA_ASSIGNMENT (39), also if it is only to be validated, and nothing grows. With an
    assignment for each new partition it grows."""
    topic, brokers = wire.create_topic(), sorted(wire.brokers())
    factor = len(wire.topic_metadata(topic.name).partitions[0].replica_nodes)
    usual, broker = brokers[:factor], brokers[0]

    def grow(*replicas: list[int], validate_only: bool = False) -> int:
        rows = [
            part("CreatePartitions", "CreatePartitionsAssignment", broker_ids=ids)
            for ids in replicas
        ]
        entry = part(
            "CreatePartitions", "CreatePartitionsTopic", name=topic.name, count=3, assignments=rows
        )
        answer = wire.call(
            "CreatePartitions",
            version,
            topics=[entry],
            timeout_ms=20_000,
            validate_only=validate_only,
        )
        return int(answer.results[0].error_code)

    stranger, twice = [*usual[1:], NOBODY], [*usual[1:], broker, broker]
    impossible = [[usual], [usual] * 3, [usual, stranger], [usual, []], [twice] * 2]
    if len(brokers) > factor:  # more replicas than the topic has
        impossible.append([brokers[: factor + 1]] * 2)
    for wrong in impossible:
        for only in (True, False):
            error = grow(*wrong, validate_only=only)
            expect(error, ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"error of {wrong}")
    expect(len(wire.topic_metadata(topic.name).partitions), 1, "partitions afterwards")
    expect(grow(usual, usual), ErrorCode.NONE, "error with an assignment each")
    wire.wait_for_topic(topic.name, 3)
