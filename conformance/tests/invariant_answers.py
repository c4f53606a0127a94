"""Requests and right answers of the APIs that have invariants."""

from __future__ import annotations

import uuid
from typing import Any

from conformance.tests.fake import piece, response
from conformance.wire import batch, part, request
from reference_impl.wire import Struct

ID = uuid.UUID(int=7)
OFFSETS = batch(b"a", b"b", base_offset=0).encode()
LATER = batch(b"c", base_offset=2).encode()
ALL_OF_TOPIC = sum(1 << bit for bit in (3, 4, 5, 6, 7, 8, 10, 11))


def fetch_asked(**changed: Any) -> Struct:
    limits = {"partition_max_bytes": 1 << 20, "fetch_offset": 1}
    wanted = part("Fetch", "FetchPartition", partition=0, **limits)
    topic = part("Fetch", "FetchTopic", topic="t", topic_id=ID, partitions=[wanted])
    return request("Fetch", **({"topics": [topic], "session_epoch": -1} | changed))


def fetched(**changed: Any) -> Struct:
    found = {
        "high_watermark": 3,
        "last_stable_offset": 3,
        "log_start_offset": 0,
        "records": OFFSETS + LATER,
    }
    partition = piece("Fetch", "PartitionData", partition_index=0, **(found | changed))
    topic = piece("Fetch", "FetchableTopicResponse", topic="t", topic_id=ID, partitions=[partition])
    return response("Fetch", responses=[topic])


def metadata() -> Struct:
    broker = piece("Metadata", "MetadataResponseBroker", node_id=1, host="h", port=9092)
    partition = piece(
        "Metadata",
        "MetadataResponsePartition",
        partition_index=0,
        leader_id=1,
        leader_epoch=0,
        replica_nodes=[1, 2],
        isr_nodes=[1],
        offline_replicas=[2],
    )
    topic = piece(
        "Metadata", "MetadataResponseTopic", name="t", topic_id=ID, partitions=[partition]
    )
    return response("Metadata", brokers=[broker], cluster_id="c", controller_id=1, topics=[topic])


def configs_asked() -> Struct:
    resource = part(
        "DescribeConfigs",
        "DescribeConfigsResource",
        resource_type=2,
        resource_name="t",
        configuration_keys=["a"],
    )
    return request("DescribeConfigs", resources=[resource])


def configs() -> Struct:
    entry = piece(
        "DescribeConfigs",
        "DescribeConfigsResourceResult",
        name="a",
        value="1",
        config_source=5,
        config_type=3,
    )
    result = piece(
        "DescribeConfigs",
        "DescribeConfigsResult",
        resource_type=2,
        resource_name="t",
        configs=[entry],
    )
    return response("DescribeConfigs", results=[result])


def acls_asked() -> Struct:
    return request(
        "DescribeAcls",
        resource_type_filter=2,
        resource_name_filter="t",
        operation=1,
        pattern_type_filter=3,
        permission_type=3,
        principal_filter="User:a",
        host_filter=None,
    )


def acls() -> Struct:
    acl = piece(
        "DescribeAcls",
        "AclDescription",
        principal="User:a",
        host="*",
        operation=3,
        permission_type=3,
    )
    resource = piece(
        "DescribeAcls",
        "DescribeAclsResource",
        resource_type=2,
        resource_name="t",
        pattern_type=3,
        acls=[acl],
    )
    return response("DescribeAcls", resources=[resource])


def joined() -> Struct:
    member = piece("JoinGroup", "JoinGroupResponseMember", member_id="m")
    return response(
        "JoinGroup",
        generation_id=1,
        protocol_type="consumer",
        protocol_name="range",
        leader="m",
        member_id="m",
        members=[member],
    )


def described8() -> Struct:
    def assignment(*partitions: int) -> Struct:
        topic = piece(
            "ConsumerGroupDescribe",
            "TopicPartitions",
            topic_id=ID,
            topic_name="t",
            partitions=list(partitions),
        )
        return piece("ConsumerGroupDescribe", "Assignment", topic_partitions=[topic])

    members = [
        piece(
            "ConsumerGroupDescribe",
            "Member",
            member_id=name,
            member_epoch=2,
            member_type=1,
            assignment=assignment(n),
            target_assignment=assignment(n),
        )
        for n, name in enumerate(("m", "n"))
    ]
    group = piece(
        "ConsumerGroupDescribe",
        "DescribedGroup",
        group_id="g",
        group_state="Stable",
        group_epoch=2,
        assignment_epoch=2,
        assignor_name="uniform",
        members=members,
    )
    return response("ConsumerGroupDescribe", groups=[group])


def created_asked() -> Struct:
    config = part("CreateTopics", "CreatableTopicConfig", name="a", value="1")
    topic = part(
        "CreateTopics",
        "CreatableTopic",
        name="t",
        num_partitions=2,
        replication_factor=-1,
        configs=[config],
    )
    return request("CreateTopics", topics=[topic])


def created() -> Struct:
    config = piece("CreateTopics", "CreatableTopicConfigs", name="a", value="1", config_source=1)
    topic = piece(
        "CreateTopics",
        "CreatableTopicResult",
        name="t",
        topic_id=ID,
        num_partitions=2,
        replication_factor=1,
        configs=[config],
    )
    return response("CreateTopics", topics=[topic])


def transactions() -> Struct:
    state = piece(
        "ListTransactions",
        "TransactionState",
        transactional_id="x",
        producer_id=5,
        transaction_state="Ongoing",
    )
    return response("ListTransactions", transaction_states=[state])
