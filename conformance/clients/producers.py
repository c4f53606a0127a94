"""Read the state that a partition keeps of its producers (DescribeProducers, KIP-664)."""

from __future__ import annotations

from conformance.case import expect
from conformance.clients.transactions import Producer as Transactional
from conformance.wire import Topic, Wire, part, request
from reference_impl.wire import ErrorCode, Struct


def describe_producers(
    wire: Wire, topic: Topic, partition: int = 0, version: int | None = None
) -> Struct:
    """Send DescribeProducers (by default the newest version) for one partition to its leader (to
    the last partition's, if the topic has no such partition), and return the partition's row."""
    version = wire.version("DescribeProducers") if version is None else version
    entry = part(
        "DescribeProducers", "TopicRequest", name=topic.name, partition_indexes=[partition]
    )
    answer = wire.leader(topic, min(partition, topic.partitions - 1)).call(
        "DescribeProducers", version, request("DescribeProducers", topics=[entry])
    )
    return answer.topics[0].partitions[0]  # type: ignore[no-any-return]


def described_producers(wire: Wire, topic: Topic, version: int | None = None) -> list[Struct]:
    """Return the active producers of partition 0, as DescribeProducers reports them, which must
    succeed."""
    answer = describe_producers(wire, topic, 0, version)
    expect(answer.error_code, ErrorCode.NONE, "DescribeProducers error")
    return list(answer.active_producers)


def state_of(
    wire: Wire, topic: Topic, producer: Transactional, version: int | None = None
) -> Struct:
    """Return the state of this producer in partition 0. Fail unless the target describes it exactly
    once."""
    found = [
        p
        for p in described_producers(wire, topic, version)
        if p.producer_id == producer.producer_id
    ]
    expect(len(found), 1, "descriptions of the producer")
    return found[0]
