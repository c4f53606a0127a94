"""Responses name the operations that a client may perform, if it asks for them. SEC-10.

Source: KIP-430 (authorized operations).
"""

from __future__ import annotations

from conformance.case import case, expect
from conformance.cases.offsets.offsets import commit
from conformance.target.controlled import CONTROLLED, Guest
from conformance.wire import Wire, part
from reference_impl.wire import ErrorCode
from reference_impl.wire.acls import AclOperation, ResourceType

TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
OF = AclOperation
DESCRIBE = AclOperation.DESCRIBE
NOT_TOLD = -(2**31)


def bits(*operations: AclOperation) -> int:
    """Return operations as KIP-430 writes them."""
    return sum(1 << operation for operation in operations)


@case("SEC-10", "Metadata", versions=(8, 13), spec="KIP-430", priority="P1", config=CONTROLLED)
def test_authorized_operations_of_a_topic(wire: Wire, alice: Guest, version: int) -> None:
    """topic_authorized_operations has a bit for each operation that the client is allowed,
    including implied ones."""
    topic = wire.create_topic()
    alice.may(OF.WRITE, TOPIC, topic.name)
    alice.may(OF.ALTER_CONFIGS, TOPIC, topic.name)
    asked = [part("Metadata", "MetadataRequestTopic", name=topic.name)]
    answer = alice.call("Metadata", version, topics=asked, include_topic_authorized_operations=True)
    expect(
        answer.topics[0].topic_authorized_operations,
        bits(OF.WRITE, DESCRIBE, OF.ALTER_CONFIGS, OF.DESCRIBE_CONFIGS),
        "bits",
    )


@case("SEC-10", "DescribeCluster", spec="KIP-430, KIP-700", priority="P1", config=CONTROLLED)
def test_authorized_operations_of_the_cluster(wire: Wire, alice: Guest, version: int) -> None:
    """cluster_authorized_operations are 0 without DESCRIBE of the cluster; with it they have the
    bits of the operations that the client may perform. Every client gets the brokers."""
    asked = {"include_cluster_authorized_operations": True}
    answer = alice.call("DescribeCluster", version, **asked)
    told = (answer.error_code, answer.cluster_authorized_operations, len(answer.brokers))
    expect(told, (ErrorCode.NONE, 0, 1), "(error, bits, brokers)")
    alice.may(OF.ALTER, CLUSTER)
    answer = alice.call("DescribeCluster", version, **asked)
    expect(answer.cluster_authorized_operations, bits(OF.ALTER, DESCRIBE), "bits with ALTER")
    answer = alice.call("DescribeCluster", version)
    expect(answer.cluster_authorized_operations, NOT_TOLD, "bits that were not asked for")


@case("SEC-10", "Metadata", versions=(8, 10), spec="KIP-430", priority="P1", config=CONTROLLED)
def test_authorized_operations_of_the_cluster_in_metadata(
    wire: Wire, alice: Guest, version: int
) -> None:
    """Metadata v8 to v10 returns the operations that the client is allowed on the cluster, if
    requested, and none without DESCRIBE."""
    asked = {"topics": [], "include_cluster_authorized_operations": True}
    answer = alice.call("Metadata", version, **asked)
    expect(answer.cluster_authorized_operations, 0, "bits")
    alice.may(OF.CLUSTER_ACTION, CLUSTER)
    answer = alice.call("Metadata", version, **asked)
    expect(answer.cluster_authorized_operations, 0, "bits without DESCRIBE")
    alice.may(DESCRIBE, CLUSTER)
    answer = alice.call("Metadata", version, **asked)
    expect(answer.cluster_authorized_operations, bits(OF.CLUSTER_ACTION, DESCRIBE), "bits")


@case("SEC-10", "DescribeGroups", versions=(3, 6), spec="KIP-430", priority="P1", config=CONTROLLED)
def test_authorized_operations_of_a_group(wire: Wire, alice: Guest, version: int) -> None:
    """authorized_operations of a group has the bits of the operations that the client may perform
    on it."""
    group = wire.new_name("group")
    commit(wire, group, wire.create_topic(), {0: 0})
    alice.may(OF.DELETE, GROUP, group)
    answer = alice.call(
        "DescribeGroups", version, groups=[group], include_authorized_operations=True
    )
    expect(answer.groups[0].authorized_operations, bits(OF.DELETE, DESCRIBE), "bits")
