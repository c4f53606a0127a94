"""For every API, a small valid request that changes nothing except things with the case's own name.

Source: the message definitions of Kafka 4.3.1. Every API that a broker of that release advertises
has one; an API that is missing fails the case that asks for it, so that none is left out silently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance.cases.framing.subject import Subject
from conformance.wire import batch, part, request
from reference_impl.wire import Struct

NOBODY = 2**31 - 1
"""A node id that no cluster uses."""
TOPIC_RESOURCE = 2
USER = "touchstone"


Fields = Mapping[str, Any]


def minimal_request(api: str, subject: Subject) -> Struct:
    """Return the request; it has the fields of all versions."""
    return request(api, **REQUESTS[api](subject))


def _produce(s: Subject) -> Fields:
    return _fields(s.wire.produce_request(s.topic, batch(b"b").encode()))


def _fetch(s: Subject) -> Fields:
    return _fields(s.wire.fetch_request(s.topic, 0))


def _fields(message: Struct) -> Fields:
    return {name: getattr(message, name) for name in message._names}


def _partition_of(api: str, struct: str, **fields: Any) -> Callable[[Subject], Fields]:
    """Return a maker of a request about partition 0 of the topic: topics -> partitions, in structs
    of these names."""
    topic_struct, partition_struct = struct.split()

    def make(s: Subject) -> Fields:
        entry = part(api, partition_struct, **fields)
        return {"topics": [part(api, topic_struct, **_topic_fields(api, topic_struct, s, [entry]))]}

    return make


def _topic_fields(api: str, struct: str, s: Subject, partitions: list[Any]) -> dict[str, Any]:
    """Return name, id and partitions, under the names that this struct has for them."""
    known = part(api, struct)._names
    return {
        field: value
        for field, value in {
            "name": s.topic.name,
            "topic": s.topic.name,
            "topic_name": s.topic.name,
            "topic_id": s.topic.id,
            "partitions": partitions,
            "partition_indexes": partitions,
        }.items()
        if field in known
    }


def _with(make: Callable[[Subject], Fields], more: Callable[[Subject], Fields]) -> Any:
    return lambda s: {**make(s), **more(s)}


def _offset_fetch(s: Subject) -> Fields:
    old = part("OffsetFetch", "OffsetFetchRequestTopic", name=s.topic.name, partition_indexes=[0])
    topic = part(
        "OffsetFetch",
        "OffsetFetchRequestTopics",
        name=s.topic.name,
        topic_id=s.topic.id,
        partition_indexes=[0],
    )
    group = part("OffsetFetch", "OffsetFetchRequestGroup", group_id=s.name, topics=[topic])
    return {"group_id": s.name, "topics": [old], "groups": [group]}


def _join_group(s: Subject) -> Fields:
    protocol = part("JoinGroup", "JoinGroupRequestProtocol", name="p", metadata=b"m")
    return {
        "group_id": s.new_name(),
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "protocol_type": "touchstone",
        "protocols": [protocol],
    }


def _member(s: Subject) -> Fields:
    """Return the fields of a member that does not exist, in a group that does not exist."""
    return {"group_id": s.name, "member_id": "nobody", "generation_id": 1}


def _leave_group(s: Subject) -> Fields:
    members = [part("LeaveGroup", "MemberIdentity", member_id="nobody")]
    return {"group_id": s.name, "member_id": "nobody", "members": members}


def _create_topics(s: Subject) -> Fields:
    topic = part(
        "CreateTopics", "CreatableTopic", name=s.new_name(), num_partitions=1, replication_factor=1
    )
    return {"topics": [topic]}


def _delete_topics(s: Subject) -> Fields:
    name = s.new_name()
    state = part("DeleteTopics", "DeleteTopicState", name=name)
    return {"topics": [state], "topic_names": [name], "timeout_ms": 10_000}


def _producer(s: Subject) -> Fields:
    """Return the fields of a producer that does not exist."""
    return {"transactional_id": s.name, "producer_id": 2**40, "producer_epoch": 0}


def _add_partitions_to_txn(s: Subject) -> Fields:
    topic = part("AddPartitionsToTxn", "AddPartitionsToTxnTopic", name=s.topic.name, partitions=[0])
    transaction = part(
        "AddPartitionsToTxn", "AddPartitionsToTxnTransaction", topics=[topic], **_producer(s)
    )
    old = {f"v3_and_below_{name}": value for name, value in _producer(s).items()}
    return {**old, "v3_and_below_topics": [topic], "transactions": [transaction]}


def _write_txn_markers(s: Subject) -> Fields:
    topic = part(
        "WriteTxnMarkers", "WritableTxnMarkerTopic", name=s.new_name(), partition_indexes=[0]
    )
    return {
        "markers": [part("WriteTxnMarkers", "WritableTxnMarker", producer_id=2**40, topics=[topic])]
    }


def _resource(api: str, struct: str, **fields: Any) -> Callable[[Subject], Fields]:
    """Return the configuration resource of the topic."""
    return lambda s: {
        "resources": [
            part(api, struct, resource_type=TOPIC_RESOURCE, resource_name=s.topic.name, **fields)
        ]
    }


def _alter_replica_log_dirs(s: Subject) -> Fields:
    topic = part(
        "AlterReplicaLogDirs", "AlterReplicaLogDirTopic", name=s.topic.name, partitions=[0]
    )
    return {
        "dirs": [
            part(
                "AlterReplicaLogDirs",
                "AlterReplicaLogDir",
                path="/no/such/directory",
                topics=[topic],
            )
        ]
    }


def _create_partitions(s: Subject) -> Fields:
    topic = part(
        "CreatePartitions", "CreatePartitionsTopic", name=s.topic.name, count=2, assignments=None
    )
    return {"topics": [topic], "timeout_ms": 10_000, "validate_only": True}


def _elect_leaders(s: Subject) -> Fields:
    wanted = part("ElectLeaders", "TopicPartitions", topic=s.topic.name, partitions=[0])
    return {"topic_partitions": [wanted], "timeout_ms": 10_000}


def _alter_client_quotas(s: Subject) -> Fields:
    entity = part("AlterClientQuotas", "EntityData", entity_type="client-id", entity_name=s.name)
    operation = part("AlterClientQuotas", "OpData", key="producer_byte_rate", value=1e9)
    entry = part("AlterClientQuotas", "EntryData", entity=[entity], ops=[operation])
    return {"entries": [entry], "validate_only": True}


def _describe_client_quotas(s: Subject) -> Fields:
    component = part(
        "DescribeClientQuotas", "ComponentData", entity_type="client-id", match_type=0, match=s.name
    )
    return {"components": [component]}


def _delete_scram(s: Subject) -> Fields:
    return {
        "deletions": [
            part("AlterUserScramCredentials", "ScramCredentialDeletion", name=s.name, mechanism=1)
        ]
    }


def _share_heartbeat(s: Subject) -> Fields:
    return {
        "group_id": s.new_name(),
        "member_id": s.member,
        "subscribed_topic_names": [s.topic.name],
    }


def _streams_heartbeat(s: Subject) -> Fields:
    return {
        "group_id": s.new_name(),
        "member_id": s.member,
        "rebalance_timeout_ms": 10_000,
        "topology": part("StreamsGroupHeartbeat", "Topology"),
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
        "process_id": "p",
    }


def _acl_filter(s: Subject) -> Fields:
    """Return any ACL of a principal that does not exist."""
    return {
        "resource_type_filter": 1,
        "pattern_type_filter": 1,
        "operation": 1,
        "permission_type": 1,
        "principal_filter": f"User:{s.name}",
    }


def _no_fields(_: Subject) -> Fields:
    return {}


REQUESTS: dict[str, Callable[[Subject], Fields]] = {
    "Produce": _produce,
    "Fetch": _fetch,
    "ListOffsets": _with(
        _partition_of("ListOffsets", "ListOffsetsTopic ListOffsetsPartition", timestamp=-1),
        lambda _: {"replica_id": -1},
    ),
    "Metadata": lambda s: {"topics": [part("Metadata", "MetadataRequestTopic", name=s.topic.name)]},
    "OffsetCommit": _with(
        _partition_of("OffsetCommit", "OffsetCommitRequestTopic OffsetCommitRequestPartition"),
        lambda s: {"group_id": s.new_name()},
    ),
    "OffsetFetch": _offset_fetch,
    "FindCoordinator": lambda s: {"key": s.name, "coordinator_keys": [s.name]},
    "JoinGroup": _join_group,
    "Heartbeat": _member,
    "LeaveGroup": _leave_group,
    "SyncGroup": _member,
    "DescribeGroups": lambda s: {"groups": [s.name]},
    "ListGroups": _no_fields,
    "SaslHandshake": lambda _: {"mechanism": "PLAIN"},
    "ApiVersions": lambda _: {"client_software_name": USER, "client_software_version": "1.0"},
    "CreateTopics": _create_topics,
    "DeleteTopics": _delete_topics,
    "DeleteRecords": _with(
        _partition_of("DeleteRecords", "DeleteRecordsTopic DeleteRecordsPartition"),
        lambda _: {"timeout_ms": 10_000},
    ),
    "InitProducerId": lambda _: {"transactional_id": None, "transaction_timeout_ms": 10_000},
    "OffsetForLeaderEpoch": _with(
        _partition_of("OffsetForLeaderEpoch", "OffsetForLeaderTopic OffsetForLeaderPartition"),
        lambda _: {"replica_id": -1},
    ),
    "AddPartitionsToTxn": _add_partitions_to_txn,
    "AddOffsetsToTxn": lambda s: {**_producer(s), "group_id": s.name},
    "EndTxn": _producer,
    "WriteTxnMarkers": _write_txn_markers,
    "TxnOffsetCommit": _with(
        _partition_of(
            "TxnOffsetCommit", "TxnOffsetCommitRequestTopic TxnOffsetCommitRequestPartition"
        ),
        lambda s: {**_producer(s), "group_id": s.name},
    ),
    "DescribeAcls": _acl_filter,
    "CreateAcls": _no_fields,
    "DeleteAcls": lambda s: {"filters": [part("DeleteAcls", "DeleteAclsFilter", **_acl_filter(s))]},
    "DescribeConfigs": _resource("DescribeConfigs", "DescribeConfigsResource"),
    "AlterConfigs": _resource("AlterConfigs", "AlterConfigsResource"),
    "IncrementalAlterConfigs": _resource("IncrementalAlterConfigs", "AlterConfigsResource"),
    "AlterReplicaLogDirs": _alter_replica_log_dirs,
    "DescribeLogDirs": lambda s: {
        "topics": [
            part("DescribeLogDirs", "DescribableLogDirTopic", topic=s.topic.name, partitions=[0])
        ]
    },
    "SaslAuthenticate": _no_fields,
    "CreatePartitions": _create_partitions,
    "CreateDelegationToken": lambda _: {"max_lifetime_ms": 1},
    "RenewDelegationToken": lambda _: {"hmac": b"none"},
    "ExpireDelegationToken": lambda _: {"hmac": b"none"},
    "DescribeDelegationToken": _no_fields,
    "DeleteGroups": lambda s: {"groups_names": [s.name]},
    "ElectLeaders": _elect_leaders,
    "AlterPartitionReassignments": _partition_of(
        "AlterPartitionReassignments", "ReassignableTopic ReassignablePartition", replicas=None
    ),
    "ListPartitionReassignments": _no_fields,
    "OffsetDelete": _with(
        _partition_of("OffsetDelete", "OffsetDeleteRequestTopic OffsetDeleteRequestPartition"),
        lambda s: {"group_id": s.name},
    ),
    "DescribeClientQuotas": _describe_client_quotas,
    "AlterClientQuotas": _alter_client_quotas,
    "DescribeUserScramCredentials": lambda s: {
        "users": [part("DescribeUserScramCredentials", "UserName", name=s.name)]
    },
    "AlterUserScramCredentials": _delete_scram,
    "DescribeQuorum": lambda _: {
        "topics": [
            part(
                "DescribeQuorum",
                "TopicData",
                topic_name="__cluster_metadata",
                partitions=[part("DescribeQuorum", "PartitionData")],
            )
        ]
    },
    "UpdateFeatures": _no_fields,
    "DescribeCluster": lambda _: {"endpoint_type": 1},
    "DescribeProducers": lambda s: {
        "topics": [
            part("DescribeProducers", "TopicRequest", name=s.topic.name, partition_indexes=[0])
        ]
    },
    "UnregisterBroker": lambda _: {"broker_id": NOBODY},
    "DescribeTransactions": lambda s: {"transactional_ids": [s.name]},
    "ListTransactions": _no_fields,
    "ConsumerGroupHeartbeat": lambda s: {
        "group_id": s.new_name(),
        "member_id": s.member,
        "rebalance_timeout_ms": 10_000,
        "subscribed_topic_names": [s.topic.name],
        "topic_partitions": [],
    },
    "ConsumerGroupDescribe": lambda s: {"group_ids": [s.name]},
    "GetTelemetrySubscriptions": _no_fields,
    "PushTelemetry": _no_fields,
    "ListConfigResources": _no_fields,
    "DescribeTopicPartitions": lambda s: {
        "topics": [part("DescribeTopicPartitions", "TopicRequest", name=s.topic.name)]
    },
    "ShareGroupHeartbeat": _share_heartbeat,
    "ShareGroupDescribe": lambda s: {"group_ids": [s.name]},
    "ShareFetch": lambda s: {"group_id": s.name, "member_id": s.member},
    "ShareAcknowledge": lambda s: {
        "group_id": s.name,
        "member_id": s.member,
        "share_session_epoch": 1,
    },
    "AddRaftVoter": lambda _: {"cluster_id": "no-such-cluster", "voter_id": NOBODY},
    "RemoveRaftVoter": lambda _: {"cluster_id": "no-such-cluster", "voter_id": NOBODY},
    "InitializeShareGroupState": lambda s: {"group_id": s.name},
    "ReadShareGroupState": lambda s: {"group_id": s.name},
    "WriteShareGroupState": lambda s: {"group_id": s.name},
    "DeleteShareGroupState": lambda s: {"group_id": s.name},
    "ReadShareGroupStateSummary": lambda s: {"group_id": s.name},
    "StreamsGroupHeartbeat": _streams_heartbeat,
    "StreamsGroupDescribe": lambda s: {"group_ids": [s.name]},
    "DescribeShareGroupOffsets": lambda s: {
        "groups": [
            part(
                "DescribeShareGroupOffsets",
                "DescribeShareGroupOffsetsRequestGroup",
                group_id=s.name,
                topics=None,
            )
        ]
    },
    "AlterShareGroupOffsets": lambda s: {"group_id": s.name},
    "DeleteShareGroupOffsets": lambda s: {"group_id": s.name},
}
"""API -> the function that returns the fields of its request. CreateAcls and UpdateFeatures contain
no change, since it would outlast the case. Requests to the quorum name another cluster's id, and
those of brokers an id that no broker has."""
