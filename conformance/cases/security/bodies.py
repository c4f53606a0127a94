"""Bodies of requests that need a permission, for given names of topics, groups and so on."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from conformance.clients.members import subscription
from conformance.wire import batch, part
from reference_impl.wire import TRANSACTIONAL_BIT, ZERO_UUID
from reference_impl.wire.acls import CLUSTER_NAME, AclOperation, PatternType, ResourceType

TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
TRANSACTIONAL_ID = ResourceType.TRANSACTIONAL_ID
CONFIG_OF_TOPIC, CONFIG_OF_BROKER = 2, 4
ALL_BROKERS = ""


@dataclass(frozen=True)
class Names:
    """The names to put into a request."""

    topic: str
    group: str
    transactional_id: str
    topic_id: uuid.UUID = ZERO_UUID

    def of(self, resource_type: ResourceType) -> str:
        """Return the name of the resource of this type."""
        if resource_type is CLUSTER:
            return CLUSTER_NAME
        return {TOPIC: self.topic, GROUP: self.group, TRANSACTIONAL_ID: self.transactional_id}[
            resource_type
        ]

    def instead(self, resource_type: ResourceType, name: str) -> Names:
        """Return the same names, but with another resource of this type."""
        match resource_type:
            case ResourceType.TOPIC:
                return replace(self, topic=name, topic_id=ZERO_UUID)
            case ResourceType.GROUP:
                return replace(self, group=name)
            case ResourceType.TRANSACTIONAL_ID:
                return replace(self, transactional_id=name)
        return self


Fields = Callable[[Names], dict[str, Any]]


def produce(names: Names, *, transactional_id: str | None = None) -> dict[str, Any]:
    """Return a Produce of one record."""
    fields: dict[str, Any] = {}
    if transactional_id is not None:
        fields = {
            "producer_id": 1,
            "producer_epoch": 0,
            "base_sequence": 0,
            "attributes": TRANSACTIONAL_BIT,
        }
    data = part("Produce", "PartitionProduceData", index=0, records=batch(b"x", **fields).encode())
    topic = part(
        "Produce",
        "TopicProduceData",
        name=names.topic,
        topic_id=names.topic_id,
        partition_data=[data],
    )
    return {
        "acks": -1,
        "timeout_ms": 20_000,
        "transactional_id": transactional_id,
        "topic_data": [topic],
    }


def fetch(names: Names, replica_id: int = -1) -> dict[str, Any]:
    """Return a Fetch from the beginning that is answered at once."""
    wanted = part(
        "Fetch",
        "FetchPartition",
        partition=0,
        fetch_offset=0,
        partition_max_bytes=1 << 20,
        current_leader_epoch=-1,
    )
    topic = part(
        "Fetch", "FetchTopic", topic=names.topic, topic_id=names.topic_id, partitions=[wanted]
    )
    return {
        "replica_id": replica_id,
        "max_wait_ms": 0,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "session_epoch": -1,
        "topics": [topic],
    }


def nested(api: str, topic: str, partition: str, index: str, name: str = "name") -> Fields:
    """Return a function that makes a request with one partition of a topic, in which only the names
    and the index matter for the authorizer."""

    def fields(names: Names) -> dict[str, Any]:
        row = part(api, partition, **{index: 0})
        return {"topics": [part(api, topic, **{name: names.topic}, partitions=[row])]}

    return fields


def with_group(fields: Fields, **more: Any) -> Fields:
    """Return a function that adds the group id to a request about topics."""
    return lambda names: {"group_id": names.group, **fields(names), **more}


def named(field: str, of: Callable[[Names], Any], **more: Any) -> Fields:
    """Return a function that makes a request with one field, which is the one that the authorizer
    looks at."""
    return lambda names: {field: of(names), **more}


def configs(api: str, resource_type: int, name: Callable[[Names], str]) -> Fields:
    """Return DescribeConfigs, AlterConfigs or IncrementalAlterConfigs of one resource."""
    struct = {"DescribeConfigs": "DescribeConfigsResource"}.get(api, "AlterConfigsResource")
    more = {} if api == "DescribeConfigs" else {"validate_only": True}
    return lambda names: {
        "resources": [part(api, struct, resource_type=resource_type, resource_name=name(names))],
        **more,
    }


def add_partitions(names: Names) -> dict[str, Any]:
    """Return AddPartitionsToTxn as clients send it, up to version 3."""
    topic = part("AddPartitionsToTxn", "AddPartitionsToTxnTopic", name=names.topic, partitions=[0])
    return {
        "v3_and_below_transactional_id": names.transactional_id,
        "v3_and_below_producer_id": 1,
        "v3_and_below_producer_epoch": 0,
        "v3_and_below_topics": [topic],
    }


def add_partitions_of_brokers(names: Names) -> dict[str, Any]:
    """Return AddPartitionsToTxn as brokers send it, since version 4."""
    topic = part("AddPartitionsToTxn", "AddPartitionsToTxnTopic", name=names.topic, partitions=[0])
    asked = part(
        "AddPartitionsToTxn",
        "AddPartitionsToTxnTransaction",
        transactional_id=names.transactional_id,
        producer_id=1,
        producer_epoch=0,
        verify_only=True,
        topics=[topic],
    )
    return {"transactions": [asked]}


def txn_offset_commit(names: Names) -> dict[str, Any]:
    """Return a TxnOffsetCommit of one offset."""
    row = part(
        "TxnOffsetCommit", "TxnOffsetCommitRequestPartition", partition_index=0, committed_offset=0
    )
    topic = part(
        "TxnOffsetCommit", "TxnOffsetCommitRequestTopic", name=names.topic, partitions=[row]
    )
    return {
        "transactional_id": names.transactional_id,
        "group_id": names.group,
        "producer_id": 1,
        "producer_epoch": 0,
        "topics": [topic],
    }


def offset_fetch(names: Names) -> dict[str, Any]:
    """Return an OffsetFetch in the form for several groups (v8)."""
    topic = part("OffsetFetch", "OffsetFetchRequestTopics", name=names.topic, partition_indexes=[0])
    group = part("OffsetFetch", "OffsetFetchRequestGroup", group_id=names.group, topics=[topic])
    return {"groups": [group]}


def write_txn_markers(names: Names) -> dict[str, Any]:
    """Return the fields of a WriteTxnMarkers that aborts, for a producer without a transaction."""
    topic = part(
        "WriteTxnMarkers", "WritableTxnMarkerTopic", name=names.topic, partition_indexes=[0]
    )
    marker = part(
        "WriteTxnMarkers",
        "WritableTxnMarker",
        producer_id=1,
        producer_epoch=0,
        transaction_result=False,
        topics=[topic],
    )
    return {"markers": [marker]}


def join(names: Names) -> dict[str, Any]:
    """Return a first JoinGroup, which creates no member yet (KIP-394)."""
    protocol = part("JoinGroup", "JoinGroupRequestProtocol", name="range", metadata=subscription())
    return {
        "group_id": names.group,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "protocol_type": "consumer",
        "protocols": [protocol],
    }


def one_filter(**fields: Any) -> dict[str, Any]:
    """Return the fields of an ACL filter that matches no ACL."""
    return {
        "resource_type_filter": TOPIC,
        "resource_name_filter": "nothing-is-called-this",
        "pattern_type_filter": PatternType.LITERAL,
        "principal_filter": None,
        "host_filter": None,
        "operation": AclOperation.ANY,
        "permission_type": 1,
        **fields,
    }


def creatable(names: Names) -> dict[str, Any]:
    """Return the fields of a CreateTopics that only validates, so that no topic is created."""
    topic = part(
        "CreateTopics", "CreatableTopic", name=names.topic, num_partitions=1, replication_factor=1
    )
    return {"topics": [topic], "timeout_ms": 20_000, "validate_only": True}


def growth(names: Names) -> dict[str, Any]:
    """Return the fields of a CreatePartitions that only validates."""
    topic = part(
        "CreatePartitions", "CreatePartitionsTopic", name=names.topic, count=2, assignments=None
    )
    return {"topics": [topic], "timeout_ms": 20_000, "validate_only": True}


def config_of_topic(api: str) -> Fields:
    """Return the fields of a request, of this API, about a topic's configuration."""
    return configs(api, CONFIG_OF_TOPIC, lambda names: names.topic)


def config_of_brokers(api: str) -> Fields:
    """Return the fields of a request, of this API, about the settings of all brokers."""
    return configs(api, CONFIG_OF_BROKER, lambda names: ALL_BROKERS)


def topics(api: str, struct: str, **more: Any) -> Fields:
    """Return the fields of a request about one topic, given by its name and `more`."""
    return lambda names: {"topics": [part(api, struct, name=names.topic, **more)]}


COMMIT = with_group(
    nested(
        "OffsetCommit",
        "OffsetCommitRequestTopic",
        "OffsetCommitRequestPartition",
        "partition_index",
    )
)
OFFSET_DELETE = with_group(
    nested(
        "OffsetDelete",
        "OffsetDeleteRequestTopic",
        "OffsetDeleteRequestPartition",
        "partition_index",
    )
)
END_OF_EPOCH = nested(
    "OffsetForLeaderEpoch", "OffsetForLeaderTopic", "OffsetForLeaderPartition", "partition", "topic"
)
SOME_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
"""A topic's id, as the keys of share coordinators have it."""
