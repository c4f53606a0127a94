"""Every request that needs a permission: its API, that permission, and its body.

Source: the table of operations in Kafka's documentation (Authorization and ACLs, Protocol
Primitives and Operations); KafkaApis.scala, ControllerApis.scala.
"""

from __future__ import annotations

from dataclasses import dataclass

from conformance.cases.security.bodies import (
    CLUSTER,
    COMMIT,
    END_OF_EPOCH,
    GROUP,
    OFFSET_DELETE,
    SOME_ID,
    TOPIC,
    TRANSACTIONAL_ID,
    Fields,
    add_partitions,
    add_partitions_of_brokers,
    config_of_brokers,
    config_of_topic,
    creatable,
    fetch,
    growth,
    join,
    named,
    nested,
    offset_fetch,
    one_filter,
    produce,
    topics,
    txn_offset_commit,
    write_txn_markers,
)
from conformance.wire import part
from reference_impl.wire.acls import AclOperation, PatternType, ResourceType

OF = AclOperation
Need = tuple[AclOperation, ResourceType]
WRITE_ID: Need = (OF.WRITE, TRANSACTIONAL_ID)


@dataclass(frozen=True)
class Row:
    """One request. `needs` is the permission that the case examines; `given` are those without
    which the request would be refused earlier."""

    api: str
    needs: Need
    fields: Fields
    given: tuple[Need, ...] = ()
    until: int = 1 << 15
    """The newest version to send: up to it topics have names, or clients may send the request."""
    refused_as: ResourceType | None = None
    """The resource type whose error the refusal has, if it differs from that of `needs`."""

    def __str__(self) -> str:
        return f"{self.api}-{self.needs[0].name}-{self.needs[1].name}"


OF_TOPICS = (
    Row("Produce", (OF.WRITE, TOPIC), produce, until=12),
    Row("Fetch", (OF.READ, TOPIC), fetch, until=12),
    Row(
        "ListOffsets",
        (OF.DESCRIBE, TOPIC),
        nested("ListOffsets", "ListOffsetsTopic", "ListOffsetsPartition", "partition_index"),
    ),
    Row("OffsetForLeaderEpoch", (OF.DESCRIBE, TOPIC), END_OF_EPOCH),
    Row("Metadata", (OF.DESCRIBE, TOPIC), topics("Metadata", "MetadataRequestTopic")),
    Row(
        "DescribeTopicPartitions",
        (OF.DESCRIBE, TOPIC),
        topics("DescribeTopicPartitions", "TopicRequest"),
    ),
    Row(
        "DescribeProducers",
        (OF.READ, TOPIC),
        topics("DescribeProducers", "TopicRequest", partition_indexes=[0]),
    ),
    Row("CreateTopics", (OF.CREATE, TOPIC), creatable),
    Row("CreatePartitions", (OF.ALTER, TOPIC), growth),
    Row(
        "DeleteRecords",
        (OF.DELETE, TOPIC),
        nested("DeleteRecords", "DeleteRecordsTopic", "DeleteRecordsPartition", "partition_index"),
    ),
    Row("DescribeConfigs", (OF.DESCRIBE_CONFIGS, TOPIC), config_of_topic("DescribeConfigs")),
    Row("AlterConfigs", (OF.ALTER_CONFIGS, TOPIC), config_of_topic("AlterConfigs")),
    Row(
        "IncrementalAlterConfigs",
        (OF.ALTER_CONFIGS, TOPIC),
        config_of_topic("IncrementalAlterConfigs"),
    ),
    Row("OffsetCommit", (OF.READ, TOPIC), COMMIT, given=((OF.READ, GROUP),), until=9),
    Row("OffsetFetch", (OF.DESCRIBE, TOPIC), offset_fetch, given=((OF.DESCRIBE, GROUP),), until=9),
    Row("OffsetDelete", (OF.READ, TOPIC), OFFSET_DELETE, given=((OF.DELETE, GROUP),)),
    Row("AddPartitionsToTxn", (OF.WRITE, TOPIC), add_partitions, given=(WRITE_ID,), until=3),
    Row("TxnOffsetCommit", (OF.READ, TOPIC), txn_offset_commit, given=(WRITE_ID, (OF.READ, GROUP))),
    Row(
        "ConsumerGroupHeartbeat",
        (OF.DESCRIBE, TOPIC),
        lambda names: {
            "group_id": names.group,
            "member_id": "gone",
            "member_epoch": 7,
            "subscribed_topic_names": [names.topic],
        },
        given=((OF.READ, GROUP),),
    ),
)

OF_GROUPS = (
    Row(
        "FindCoordinator",
        (OF.DESCRIBE, GROUP),
        named("coordinator_keys", lambda names: [names.group], key_type=0),
    ),
    Row("JoinGroup", (OF.READ, GROUP), join),
    Row(
        "SyncGroup",
        (OF.READ, GROUP),
        named(
            "group_id", lambda names: names.group, protocol_type="consumer", protocol_name="range"
        ),
    ),
    Row("Heartbeat", (OF.READ, GROUP), named("group_id", lambda names: names.group)),
    Row("LeaveGroup", (OF.READ, GROUP), named("group_id", lambda names: names.group)),
    Row("OffsetCommit", (OF.READ, GROUP), COMMIT, given=((OF.READ, TOPIC),), until=9),
    Row("OffsetFetch", (OF.DESCRIBE, GROUP), offset_fetch, given=((OF.DESCRIBE, TOPIC),), until=9),
    Row("OffsetDelete", (OF.DELETE, GROUP), OFFSET_DELETE, given=((OF.READ, TOPIC),)),
    Row("DescribeGroups", (OF.DESCRIBE, GROUP), named("groups", lambda names: [names.group])),
    Row("DeleteGroups", (OF.DELETE, GROUP), named("groups_names", lambda names: [names.group])),
    Row(
        "AddOffsetsToTxn",
        (OF.READ, GROUP),
        lambda names: {
            "transactional_id": names.transactional_id,
            "producer_id": 1,
            "producer_epoch": 0,
            "group_id": names.group,
        },
        given=(WRITE_ID,),
    ),
    Row("TxnOffsetCommit", (OF.READ, GROUP), txn_offset_commit, given=(WRITE_ID, (OF.READ, TOPIC))),
    Row(
        "ConsumerGroupHeartbeat",
        (OF.READ, GROUP),
        named("group_id", lambda names: names.group, member_id="gone", member_epoch=7),
    ),
    Row(
        "ConsumerGroupDescribe",
        (OF.DESCRIBE, GROUP),
        named("group_ids", lambda names: [names.group]),
    ),
)

OF_TRANSACTIONAL_IDS = (
    Row(
        "FindCoordinator",
        (OF.DESCRIBE, TRANSACTIONAL_ID),
        named("coordinator_keys", lambda names: [names.transactional_id], key_type=1),
    ),
    Row(
        "InitProducerId",
        WRITE_ID,
        named(
            "transactional_id", lambda names: names.transactional_id, transaction_timeout_ms=60_000
        ),
    ),
    Row("AddPartitionsToTxn", WRITE_ID, add_partitions, given=((OF.WRITE, TOPIC),), until=3),
    Row(
        "AddOffsetsToTxn",
        WRITE_ID,
        lambda names: {
            "transactional_id": names.transactional_id,
            "producer_id": 1,
            "producer_epoch": 0,
            "group_id": names.group,
        },
        given=((OF.READ, GROUP),),
    ),
    Row("TxnOffsetCommit", WRITE_ID, txn_offset_commit, given=((OF.READ, GROUP), (OF.READ, TOPIC))),
    Row(
        "EndTxn",
        WRITE_ID,
        lambda names: {
            "transactional_id": names.transactional_id,
            "producer_id": 1,
            "producer_epoch": 0,
            "committed": True,
        },
    ),
    Row(
        "Produce",
        WRITE_ID,
        lambda names: produce(names, transactional_id=names.transactional_id),
        given=((OF.WRITE, TOPIC),),
        until=12,
    ),
    Row(
        "DescribeTransactions",
        (OF.DESCRIBE, TRANSACTIONAL_ID),
        named("transactional_ids", lambda names: [names.transactional_id]),
    ),
)

OF_THE_CLUSTER = (
    Row("InitProducerId", (OF.IDEMPOTENT_WRITE, CLUSTER), lambda names: {"transactional_id": None}),
    Row("WriteTxnMarkers", (OF.CLUSTER_ACTION, CLUSTER), write_txn_markers),
    Row("WriteTxnMarkers", (OF.ALTER, CLUSTER), write_txn_markers),
    Row("AddPartitionsToTxn", (OF.CLUSTER_ACTION, CLUSTER), add_partitions_of_brokers),
    Row(
        "Fetch",
        (OF.CLUSTER_ACTION, CLUSTER),
        lambda names: fetch(names, replica_id=7),
        until=12,
        refused_as=TOPIC,
    ),
    Row("OffsetForLeaderEpoch", (OF.CLUSTER_ACTION, CLUSTER), END_OF_EPOCH, refused_as=TOPIC),
    Row(
        "FindCoordinator",
        (OF.CLUSTER_ACTION, CLUSTER),
        lambda names: {"key_type": 2, "coordinator_keys": [f"{names.group}:{SOME_ID}:0"]},
    ),
    Row("CreateTopics", (OF.CREATE, CLUSTER), creatable, refused_as=TOPIC),
    Row("DescribeConfigs", (OF.DESCRIBE_CONFIGS, CLUSTER), config_of_brokers("DescribeConfigs")),
    Row("AlterConfigs", (OF.ALTER_CONFIGS, CLUSTER), config_of_brokers("AlterConfigs")),
    Row(
        "IncrementalAlterConfigs",
        (OF.ALTER_CONFIGS, CLUSTER),
        config_of_brokers("IncrementalAlterConfigs"),
    ),
    Row("ListConfigResources", (OF.DESCRIBE_CONFIGS, CLUSTER), lambda names: {}),
    Row("DescribeLogDirs", (OF.DESCRIBE, CLUSTER), lambda names: {}),
    Row("DescribeQuorum", (OF.DESCRIBE, CLUSTER), lambda names: {}),
    Row("ElectLeaders", (OF.ALTER, CLUSTER), lambda names: {"timeout_ms": 20_000}),
    Row("DescribeAcls", (OF.DESCRIBE, CLUSTER), lambda names: one_filter()),
    Row(
        "DeleteAcls",
        (OF.ALTER, CLUSTER),
        lambda names: {"filters": [part("DeleteAcls", "DeleteAclsFilter", **one_filter())]},
    ),
    Row(
        "CreateAcls",
        (OF.ALTER, CLUSTER),
        lambda names: {
            "creations": [
                part(
                    "CreateAcls",
                    "AclCreation",
                    resource_type=CLUSTER,
                    resource_name="no-cluster",
                    resource_pattern_type=PatternType.LITERAL,
                    principal="User:nobody",
                    host="*",
                    operation=OF.READ,
                    permission_type=3,
                )
            ]
        },
    ),
    Row("DescribeUserScramCredentials", (OF.DESCRIBE, CLUSTER), lambda names: {}),
    Row(
        "AlterUserScramCredentials",
        (OF.ALTER, CLUSTER),
        lambda names: {
            "deletions": [
                part(
                    "AlterUserScramCredentials",
                    "ScramCredentialDeletion",
                    name="nobody",
                    mechanism=1,
                )
            ]
        },
    ),
    Row("DescribeClientQuotas", (OF.DESCRIBE_CONFIGS, CLUSTER), lambda names: {}),
    Row(
        "AlterClientQuotas",
        (OF.ALTER_CONFIGS, CLUSTER),
        lambda names: {
            "validate_only": True,
            "entries": [
                part(
                    "AlterClientQuotas",
                    "EntryData",
                    entity=[
                        part(
                            "AlterClientQuotas",
                            "EntityData",
                            entity_type="user",
                            entity_name="nobody",
                        )
                    ],
                    ops=[part("AlterClientQuotas", "OpData", key="producer_byte_rate", value=1e6)],
                )
            ],
        },
    ),
)
