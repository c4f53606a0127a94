"""The permission that each API requires: the table of authorization.

A permission is an operation on a type of resource; the handler says on which resource. A refusal
has the error of the resource's type (REFUSALS), and stands where the API has a field for it: in a
topic's row, a group's row, or the whole answer. A client learns nothing else about a resource that
it may not DESCRIBE, not even whether it exists: lists of everything leave it out.

Source: KafkaApis.scala, ControllerApis.scala (Kafka 4.3); AclEntry.authorizationError; KIP-11.
"""

from __future__ import annotations

from dataclasses import dataclass

from reference_impl.wire import ApiKey, ErrorCode
from reference_impl.wire.acls import AclOperation, ResourceType


@dataclass(frozen=True)
class Permission:
    """An operation on a type of resource, which a request needs to be allowed."""

    operation: AclOperation
    resource_type: ResourceType


REFUSALS: dict[ResourceType, ErrorCode] = {
    ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ResourceType.DELEGATION_TOKEN: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    ResourceType.USER: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}
"""The error of a refusal, by type of resource."""

_OF, _TOPIC, _GROUP = AclOperation, ResourceType.TOPIC, ResourceType.GROUP
_CLUSTER, _TRANSACTIONAL_ID = ResourceType.CLUSTER, ResourceType.TRANSACTIONAL_ID

ALTER_TOPIC = Permission(_OF.ALTER, _TOPIC)
ALTER_CONFIGS_OF_GROUP = Permission(_OF.ALTER_CONFIGS, _GROUP)
DESCRIBE_CONFIGS_OF_GROUP = Permission(_OF.DESCRIBE_CONFIGS, _GROUP)
ALTER_CONFIGS_OF_TOPIC = Permission(_OF.ALTER_CONFIGS, _TOPIC)
CREATE_TOPIC = Permission(_OF.CREATE, _TOPIC)
DELETE_TOPIC = Permission(_OF.DELETE, _TOPIC)
DESCRIBE_TOPIC = Permission(_OF.DESCRIBE, _TOPIC)
DESCRIBE_CONFIGS_OF_TOPIC = Permission(_OF.DESCRIBE_CONFIGS, _TOPIC)
READ_TOPIC = Permission(_OF.READ, _TOPIC)
WRITE_TOPIC = Permission(_OF.WRITE, _TOPIC)

DELETE_GROUP = Permission(_OF.DELETE, _GROUP)
DESCRIBE_GROUP = Permission(_OF.DESCRIBE, _GROUP)
READ_GROUP = Permission(_OF.READ, _GROUP)

ALTER_CLUSTER = Permission(_OF.ALTER, _CLUSTER)
ALTER_CONFIGS_OF_CLUSTER = Permission(_OF.ALTER_CONFIGS, _CLUSTER)
CLUSTER_ACTION = Permission(_OF.CLUSTER_ACTION, _CLUSTER)
CREATE_IN_CLUSTER = Permission(_OF.CREATE, _CLUSTER)
DELETE_IN_CLUSTER = Permission(_OF.DELETE, _CLUSTER)
DESCRIBE_CLUSTER = Permission(_OF.DESCRIBE, _CLUSTER)
DESCRIBE_CONFIGS_OF_CLUSTER = Permission(_OF.DESCRIBE_CONFIGS, _CLUSTER)
IDEMPOTENT_WRITE = Permission(_OF.IDEMPOTENT_WRITE, _CLUSTER)

DESCRIBE_TRANSACTIONAL_ID = Permission(_OF.DESCRIBE, _TRANSACTIONAL_ID)
WRITE_TRANSACTIONAL_ID = Permission(_OF.WRITE, _TRANSACTIONAL_ID)

DESCRIBE_DELEGATION_TOKEN = Permission(_OF.DESCRIBE, ResourceType.DELEGATION_TOKEN)
# On the user for whom somebody else creates or describes tokens (KIP-373).
CREATE_TOKENS_FOR_USER = Permission(_OF.CREATE_TOKENS, ResourceType.USER)
DESCRIBE_TOKENS_OF_USER = Permission(_OF.DESCRIBE_TOKENS, ResourceType.USER)

PERMISSIONS: dict[ApiKey, tuple[Permission, ...]] = {
    # Clients that write. The transactional id only where the batches are transactional.
    ApiKey.PRODUCE: (WRITE_TOPIC, WRITE_TRANSACTIONAL_ID),
    # With a transactional id, its WRITE. Without one, IDEMPOTENT_WRITE or, since KIP-679, WRITE of
    # any topic whatever: who may produce at all may do so idempotently.
    ApiKey.INIT_PRODUCER_ID: (WRITE_TRANSACTIONAL_ID, IDEMPOTENT_WRITE, WRITE_TOPIC),
    # Up to version 3 from clients; since 4 from brokers.
    ApiKey.ADD_PARTITIONS_TO_TXN: (WRITE_TRANSACTIONAL_ID, WRITE_TOPIC, CLUSTER_ACTION),
    ApiKey.ADD_OFFSETS_TO_TXN: (WRITE_TRANSACTIONAL_ID, READ_GROUP),
    ApiKey.TXN_OFFSET_COMMIT: (WRITE_TRANSACTIONAL_ID, READ_GROUP, READ_TOPIC),
    ApiKey.END_TXN: (WRITE_TRANSACTIONAL_ID,),
    # Clients that read. CLUSTER_ACTION is for followers.
    ApiKey.FETCH: (READ_TOPIC, CLUSTER_ACTION),
    ApiKey.LIST_OFFSETS: (DESCRIBE_TOPIC,),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (CLUSTER_ACTION, DESCRIBE_TOPIC),
    # For existing topics; a topic that the request would create needs CREATE.
    ApiKey.METADATA: (DESCRIBE_TOPIC, CREATE_IN_CLUSTER, CREATE_TOPIC, DESCRIBE_CLUSTER),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (DESCRIBE_TOPIC,),
    # Without DESCRIBE of the cluster it is described too, but with no authorized operations.
    ApiKey.DESCRIBE_CLUSTER: (DESCRIBE_CLUSTER,),
    ApiKey.API_VERSIONS: (),
    # Clients need no permission to send the metrics that an administrator subscribed to.
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: (),
    ApiKey.PUSH_TELEMETRY: (),
    # Groups. A member reads for the group; offsets are read and written for topics, too.
    ApiKey.FIND_COORDINATOR: (DESCRIBE_GROUP, DESCRIBE_TRANSACTIONAL_ID, CLUSTER_ACTION),
    ApiKey.JOIN_GROUP: (READ_GROUP,),
    ApiKey.SYNC_GROUP: (READ_GROUP,),
    ApiKey.HEARTBEAT: (READ_GROUP,),
    ApiKey.LEAVE_GROUP: (READ_GROUP,),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (READ_GROUP, DESCRIBE_TOPIC),
    ApiKey.OFFSET_COMMIT: (READ_GROUP, READ_TOPIC),
    ApiKey.OFFSET_FETCH: (DESCRIBE_GROUP, DESCRIBE_TOPIC),
    ApiKey.OFFSET_DELETE: (DELETE_GROUP, READ_TOPIC),
    ApiKey.DELETE_GROUPS: (DELETE_GROUP,),
    ApiKey.DESCRIBE_GROUPS: (DESCRIBE_GROUP,),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (DESCRIBE_GROUP, DESCRIBE_TOPIC),
    # Of the cluster: all groups. Otherwise those which one may describe.
    ApiKey.LIST_GROUPS: (DESCRIBE_CLUSTER, DESCRIBE_GROUP),
    # Transactions and producers, seen from outside.
    ApiKey.DESCRIBE_TRANSACTIONS: (DESCRIBE_TRANSACTIONAL_ID, DESCRIBE_TOPIC),
    ApiKey.LIST_TRANSACTIONS: (DESCRIBE_TRANSACTIONAL_ID,),
    ApiKey.DESCRIBE_PRODUCERS: (READ_TOPIC,),
    # One of the two: an administrator ends hanging transactions, a coordinator all others.
    ApiKey.WRITE_TXN_MARKERS: (ALTER_CLUSTER, CLUSTER_ACTION),
    # Topics. CREATE and DELETE of the cluster are those of every topic.
    ApiKey.CREATE_TOPICS: (CREATE_IN_CLUSTER, CREATE_TOPIC, DESCRIBE_CONFIGS_OF_TOPIC),
    ApiKey.DELETE_TOPICS: (DELETE_IN_CLUSTER, DESCRIBE_TOPIC, DELETE_TOPIC),
    ApiKey.CREATE_PARTITIONS: (ALTER_TOPIC,),
    ApiKey.DELETE_RECORDS: (DELETE_TOPIC,),
    ApiKey.ELECT_LEADERS: (ALTER_CLUSTER,),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (ALTER_CLUSTER,),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (DESCRIBE_CLUSTER,),
    ApiKey.ALTER_REPLICA_LOG_DIRS: (ALTER_CLUSTER,),
    ApiKey.DESCRIBE_LOG_DIRS: (DESCRIBE_CLUSTER,),
    ApiKey.DESCRIBE_QUORUM: (DESCRIBE_CLUSTER,),
    ApiKey.ADD_RAFT_VOTER: (ALTER_CLUSTER,),
    ApiKey.REMOVE_RAFT_VOTER: (ALTER_CLUSTER,),
    ApiKey.UNREGISTER_BROKER: (ALTER_CLUSTER,),
    ApiKey.UPDATE_FEATURES: (ALTER_CLUSTER,),
    # Configurations: those of brokers belong to the cluster.
    ApiKey.DESCRIBE_CONFIGS: (
        DESCRIBE_CONFIGS_OF_CLUSTER,
        DESCRIBE_CONFIGS_OF_GROUP,
        DESCRIBE_CONFIGS_OF_TOPIC,
    ),
    ApiKey.ALTER_CONFIGS: (
        ALTER_CONFIGS_OF_CLUSTER,
        ALTER_CONFIGS_OF_GROUP,
        ALTER_CONFIGS_OF_TOPIC,
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (
        ALTER_CONFIGS_OF_CLUSTER,
        ALTER_CONFIGS_OF_GROUP,
        ALTER_CONFIGS_OF_TOPIC,
    ),
    ApiKey.LIST_CONFIG_RESOURCES: (DESCRIBE_CONFIGS_OF_CLUSTER,),
    # Security itself.
    ApiKey.SASL_HANDSHAKE: (),
    ApiKey.SASL_AUTHENTICATE: (),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (DESCRIBE_CLUSTER,),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (ALTER_CLUSTER,),
    # Nobody needs a permission for tokens of its own, nor to renew and expire them.
    ApiKey.CREATE_DELEGATION_TOKEN: (CREATE_TOKENS_FOR_USER,),
    ApiKey.RENEW_DELEGATION_TOKEN: (),
    ApiKey.EXPIRE_DELEGATION_TOKEN: (),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: (DESCRIBE_DELEGATION_TOKEN, DESCRIBE_TOKENS_OF_USER),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: (DESCRIBE_CONFIGS_OF_CLUSTER,),
    ApiKey.ALTER_CLIENT_QUOTAS: (ALTER_CONFIGS_OF_CLUSTER,),
    ApiKey.DESCRIBE_ACLS: (DESCRIBE_CLUSTER,),
    ApiKey.CREATE_ACLS: (ALTER_CLUSTER,),
    ApiKey.DELETE_ACLS: (ALTER_CLUSTER,),
}
"""The permissions that each API requires; a test compares them with the handlers."""
