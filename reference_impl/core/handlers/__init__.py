"""The APIs served, in a table for each role of a node. A request of any other API closes the
connection, and is not advertised.

The versions are those of Kafka 4.3.1.
"""

from __future__ import annotations

from reference_impl.core.handlers import refusals
from reference_impl.core.handlers.add_offsets_to_txn import handle_add_offsets_to_txn
from reference_impl.core.handlers.add_partitions_to_txn import handle_add_partitions_to_txn
from reference_impl.core.handlers.add_raft_voter import handle_add_raft_voter
from reference_impl.core.handlers.allocate_producer_ids import handle_allocate_producer_ids
from reference_impl.core.handlers.alter_client_quotas import handle_alter_client_quotas
from reference_impl.core.handlers.alter_configs import handle_alter_configs
from reference_impl.core.handlers.alter_partition import handle_alter_partition
from reference_impl.core.handlers.alter_partition_reassignments import (
    handle_alter_partition_reassignments,
)
from reference_impl.core.handlers.alter_replica_log_dirs import handle_alter_replica_log_dirs
from reference_impl.core.handlers.alter_user_scram_credentials import (
    handle_alter_user_scram_credentials,
)
from reference_impl.core.handlers.among_nodes import among_nodes
from reference_impl.core.handlers.api_versions import handle_api_versions
from reference_impl.core.handlers.assign_replicas_to_dirs import handle_assign_replicas_to_dirs
from reference_impl.core.handlers.begin_quorum_epoch import handle_begin_quorum_epoch
from reference_impl.core.handlers.broker_heartbeat import handle_broker_heartbeat
from reference_impl.core.handlers.broker_registration import handle_broker_registration
from reference_impl.core.handlers.consumer_group_describe import handle_consumer_group_describe
from reference_impl.core.handlers.consumer_group_heartbeat import handle_consumer_group_heartbeat
from reference_impl.core.handlers.controller_registration import handle_controller_registration
from reference_impl.core.handlers.create_acls import handle_create_acls
from reference_impl.core.handlers.create_delegation_token import (
    forward_create_delegation_token,
    handle_create_delegation_token,
)
from reference_impl.core.handlers.create_partitions import handle_create_partitions
from reference_impl.core.handlers.create_topics import handle_create_topics
from reference_impl.core.handlers.delete_acls import handle_delete_acls
from reference_impl.core.handlers.delete_groups import handle_delete_groups
from reference_impl.core.handlers.delete_records import handle_delete_records
from reference_impl.core.handlers.delete_topics import handle_delete_topics
from reference_impl.core.handlers.describe_acls import handle_describe_acls
from reference_impl.core.handlers.describe_client_quotas import handle_describe_client_quotas
from reference_impl.core.handlers.describe_cluster import handle_describe_cluster
from reference_impl.core.handlers.describe_configs import handle_describe_configs
from reference_impl.core.handlers.describe_delegation_token import handle_describe_delegation_token
from reference_impl.core.handlers.describe_groups import handle_describe_groups
from reference_impl.core.handlers.describe_log_dirs import handle_describe_log_dirs
from reference_impl.core.handlers.describe_producers import handle_describe_producers
from reference_impl.core.handlers.describe_quorum import handle_describe_quorum
from reference_impl.core.handlers.describe_topic_partitions import handle_describe_topic_partitions
from reference_impl.core.handlers.describe_transactions import handle_describe_transactions
from reference_impl.core.handlers.describe_user_scram_credentials import (
    handle_describe_user_scram_credentials,
)
from reference_impl.core.handlers.elect_leaders import handle_elect_leaders
from reference_impl.core.handlers.end_quorum_epoch import handle_end_quorum_epoch
from reference_impl.core.handlers.end_txn import handle_end_txn
from reference_impl.core.handlers.envelope import handle_envelope
from reference_impl.core.handlers.expire_delegation_token import (
    forward_expire_delegation_token,
    handle_expire_delegation_token,
)
from reference_impl.core.handlers.fetch import handle_fetch
from reference_impl.core.handlers.fetch_metadata import handle_fetch_metadata
from reference_impl.core.handlers.fetch_snapshot import handle_fetch_snapshot
from reference_impl.core.handlers.find_coordinator import handle_find_coordinator
from reference_impl.core.handlers.forwarding import forward, forward_change_of_topics
from reference_impl.core.handlers.forwarding_configs import forward_change_of_configs
from reference_impl.core.handlers.get_telemetry_subscriptions import (
    handle_get_telemetry_subscriptions,
)
from reference_impl.core.handlers.heartbeat import handle_heartbeat
from reference_impl.core.handlers.incremental_alter_configs import handle_incremental_alter_configs
from reference_impl.core.handlers.init_producer_id import handle_init_producer_id
from reference_impl.core.handlers.join_group import handle_join_group
from reference_impl.core.handlers.leave_group import handle_leave_group
from reference_impl.core.handlers.list_config_resources import handle_list_config_resources
from reference_impl.core.handlers.list_groups import handle_list_groups
from reference_impl.core.handlers.list_offsets import handle_list_offsets
from reference_impl.core.handlers.list_partition_reassignments import (
    handle_list_partition_reassignments,
)
from reference_impl.core.handlers.list_transactions import handle_list_transactions
from reference_impl.core.handlers.metadata import handle_metadata
from reference_impl.core.handlers.offset_commit import handle_offset_commit
from reference_impl.core.handlers.offset_delete import handle_offset_delete
from reference_impl.core.handlers.offset_fetch import handle_offset_fetch
from reference_impl.core.handlers.offset_for_leader_epoch import handle_offset_for_leader_epoch
from reference_impl.core.handlers.produce import handle_produce
from reference_impl.core.handlers.push_telemetry import handle_push_telemetry
from reference_impl.core.handlers.refused_changes import REFUSE_CHANGE
from reference_impl.core.handlers.remove_raft_voter import handle_remove_raft_voter
from reference_impl.core.handlers.renew_delegation_token import (
    forward_renew_delegation_token,
    handle_renew_delegation_token,
)
from reference_impl.core.handlers.sasl_authenticate import handle_sasl_authenticate
from reference_impl.core.handlers.sasl_handshake import handle_sasl_handshake
from reference_impl.core.handlers.sync_group import handle_sync_group
from reference_impl.core.handlers.txn_offset_commit import handle_txn_offset_commit
from reference_impl.core.handlers.unregister_broker import handle_unregister_broker
from reference_impl.core.handlers.update_features import handle_update_features
from reference_impl.core.handlers.update_raft_voter import handle_update_raft_voter
from reference_impl.core.handlers.vote import handle_vote
from reference_impl.core.handlers.write_txn_markers import handle_write_txn_markers
from reference_impl.core.requests.api import Api, Handler, Served
from reference_impl.wire import ApiKey

BROKER: dict[int, Api] = {
    ApiKey.PRODUCE: Api(handle_produce, 3, 13, advertised_min_version=0),
    ApiKey.FETCH: Api(handle_fetch, 4, 18),
    ApiKey.LIST_OFFSETS: Api(handle_list_offsets, 1, 11),
    ApiKey.METADATA: Api(handle_metadata, 0, 13),
    ApiKey.OFFSET_COMMIT: Api(handle_offset_commit, 2, 10, refuse=refusals.refuse_offset_commit),
    ApiKey.OFFSET_FETCH: Api(handle_offset_fetch, 1, 10, refuse=refusals.refuse_offset_fetch),
    ApiKey.FIND_COORDINATOR: Api(handle_find_coordinator, 0, 6),
    ApiKey.JOIN_GROUP: Api(handle_join_group, 0, 9, refuse=refusals.refuse_join),
    ApiKey.HEARTBEAT: Api(handle_heartbeat, 0, 4, refuse=refusals.on_top("HeartbeatResponse")),
    ApiKey.LEAVE_GROUP: Api(handle_leave_group, 0, 5, refuse=refusals.on_top("LeaveGroupResponse")),
    ApiKey.SYNC_GROUP: Api(handle_sync_group, 0, 5, refuse=refusals.on_top("SyncGroupResponse")),
    ApiKey.DESCRIBE_GROUPS: Api(handle_describe_groups, 0, 6, refuse=refusals.refuse_describe),
    ApiKey.LIST_GROUPS: Api(handle_list_groups, 0, 5, refuse=refusals.on_top("ListGroupsResponse")),
    ApiKey.SASL_HANDSHAKE: Api(handle_sasl_handshake, 0, 1),
    ApiKey.API_VERSIONS: Api(handle_api_versions, 0, 4),
    ApiKey.CREATE_TOPICS: Api(forward_change_of_topics, 2, 7),
    ApiKey.DELETE_TOPICS: Api(forward_change_of_topics, 1, 6),
    ApiKey.DELETE_RECORDS: Api(handle_delete_records, 0, 2),
    ApiKey.INIT_PRODUCER_ID: Api(handle_init_producer_id, 0, 5),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Api(handle_offset_for_leader_epoch, 2, 4),
    ApiKey.ADD_PARTITIONS_TO_TXN: Api(handle_add_partitions_to_txn, 0, 5),
    ApiKey.ADD_OFFSETS_TO_TXN: Api(handle_add_offsets_to_txn, 0, 4),
    ApiKey.END_TXN: Api(handle_end_txn, 0, 5),
    ApiKey.WRITE_TXN_MARKERS: Api(handle_write_txn_markers, 1, 2),
    ApiKey.TXN_OFFSET_COMMIT: Api(
        handle_txn_offset_commit, 0, 5, refuse=refusals.refuse_txn_offset_commit
    ),
    ApiKey.DESCRIBE_ACLS: Api(handle_describe_acls, 1, 3),
    ApiKey.CREATE_ACLS: Api(forward, 1, 3),
    ApiKey.DELETE_ACLS: Api(forward, 1, 3),
    ApiKey.DESCRIBE_CONFIGS: Api(handle_describe_configs, 1, 4),
    ApiKey.ALTER_CONFIGS: Api(forward_change_of_configs, 0, 2),
    ApiKey.ALTER_REPLICA_LOG_DIRS: Api(handle_alter_replica_log_dirs, 1, 2),
    ApiKey.DESCRIBE_LOG_DIRS: Api(handle_describe_log_dirs, 1, 5),
    ApiKey.SASL_AUTHENTICATE: Api(handle_sasl_authenticate, 0, 2),
    ApiKey.CREATE_PARTITIONS: Api(forward_change_of_topics, 0, 3),
    ApiKey.CREATE_DELEGATION_TOKEN: Api(forward_create_delegation_token, 1, 3),
    ApiKey.RENEW_DELEGATION_TOKEN: Api(forward_renew_delegation_token, 1, 2),
    ApiKey.EXPIRE_DELEGATION_TOKEN: Api(forward_expire_delegation_token, 1, 2),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: Api(handle_describe_delegation_token, 1, 3),
    ApiKey.DELETE_GROUPS: Api(handle_delete_groups, 0, 2, refuse=refusals.refuse_delete),
    ApiKey.ELECT_LEADERS: Api(forward, 0, 2),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Api(forward_change_of_configs, 0, 1),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: Api(forward, 0, 1),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: Api(forward, 0, 0),
    ApiKey.OFFSET_DELETE: Api(
        handle_offset_delete, 0, 0, refuse=refusals.on_top("OffsetDeleteResponse")
    ),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: Api(handle_describe_client_quotas, 0, 1),
    ApiKey.ALTER_CLIENT_QUOTAS: Api(forward, 0, 1),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: Api(handle_describe_user_scram_credentials, 0, 0),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: Api(forward, 0, 0),
    ApiKey.DESCRIBE_QUORUM: Api(forward, 0, 2),
    ApiKey.ADD_RAFT_VOTER: Api(forward, 0, 1),
    ApiKey.REMOVE_RAFT_VOTER: Api(forward, 0, 0),
    ApiKey.DESCRIBE_CLUSTER: Api(handle_describe_cluster, 0, 2),
    ApiKey.DESCRIBE_PRODUCERS: Api(handle_describe_producers, 0, 0),
    ApiKey.UNREGISTER_BROKER: Api(forward, 0, 0),
    ApiKey.UPDATE_FEATURES: Api(forward, 0, 2),
    ApiKey.DESCRIBE_TRANSACTIONS: Api(handle_describe_transactions, 0, 0),
    ApiKey.LIST_TRANSACTIONS: Api(handle_list_transactions, 0, 2),
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: Api(handle_get_telemetry_subscriptions, 0, 0),
    ApiKey.PUSH_TELEMETRY: Api(handle_push_telemetry, 0, 0),
    ApiKey.LIST_CONFIG_RESOURCES: Api(handle_list_config_resources, 0, 1),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: Api(
        handle_consumer_group_heartbeat,
        0,
        1,
        refuse=refusals.on_top("ConsumerGroupHeartbeatResponse"),
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: Api(
        handle_consumer_group_describe, 0, 1, refuse=refusals.refuse_consumer_describe
    ),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: Api(handle_describe_topic_partitions, 0, 0),
}
"""The APIs that clients find on the listeners of brokers."""

_CONTROLLER: dict[int, tuple[Handler, int, int]] = {
    ApiKey.CREATE_TOPICS: (handle_create_topics, 2, 7),
    ApiKey.DELETE_TOPICS: (handle_delete_topics, 1, 6),
    ApiKey.CREATE_ACLS: (handle_create_acls, 1, 3),
    ApiKey.DELETE_ACLS: (handle_delete_acls, 1, 3),
    ApiKey.ALTER_CONFIGS: (handle_alter_configs, 0, 2),
    ApiKey.CREATE_PARTITIONS: (handle_create_partitions, 0, 3),
    ApiKey.CREATE_DELEGATION_TOKEN: (handle_create_delegation_token, 1, 3),
    ApiKey.RENEW_DELEGATION_TOKEN: (handle_renew_delegation_token, 1, 2),
    ApiKey.EXPIRE_DELEGATION_TOKEN: (handle_expire_delegation_token, 1, 2),
    ApiKey.ELECT_LEADERS: (handle_elect_leaders, 0, 2),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (handle_incremental_alter_configs, 0, 1),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (handle_alter_partition_reassignments, 0, 1),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (handle_list_partition_reassignments, 0, 0),
    ApiKey.ALTER_CLIENT_QUOTAS: (handle_alter_client_quotas, 0, 1),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (handle_alter_user_scram_credentials, 0, 0),
    ApiKey.DESCRIBE_QUORUM: (handle_describe_quorum, 0, 2),
    ApiKey.ADD_RAFT_VOTER: (handle_add_raft_voter, 0, 1),
    ApiKey.REMOVE_RAFT_VOTER: (handle_remove_raft_voter, 0, 0),
    ApiKey.ALTER_PARTITION: (handle_alter_partition, 2, 3),
    ApiKey.BROKER_REGISTRATION: (handle_broker_registration, 0, 4),
    ApiKey.BROKER_HEARTBEAT: (handle_broker_heartbeat, 0, 2),
    ApiKey.UNREGISTER_BROKER: (handle_unregister_broker, 0, 0),
    ApiKey.UPDATE_FEATURES: (handle_update_features, 0, 2),
    ApiKey.ALLOCATE_PRODUCER_IDS: (handle_allocate_producer_ids, 0, 0),
    ApiKey.CONTROLLER_REGISTRATION: (handle_controller_registration, 0, 0),
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: (handle_assign_replicas_to_dirs, 0, 0),
}
_OF_THE_QUORUM = (ApiKey.DESCRIBE_QUORUM, ApiKey.ADD_RAFT_VOTER, ApiKey.REMOVE_RAFT_VOTER)
CONTROLLER: dict[int, Api] = {
    key: Api(
        handle, least, most, refuse=REFUSE_CHANGE[key], tells_of_no_decision=key in _OF_THE_QUORUM
    )
    for key, (handle, least, most) in _CONTROLLER.items()
}
"""The APIs that the active controller serves: those that brokers forward to it (ApiKeys.java,
forwardable), and those by which nodes register and send heartbeats, which refuse a whole request
with one error."""

QUORUM: dict[int, Api] = {
    ApiKey.ENVELOPE: Api(among_nodes("EnvelopeResponse", handle_envelope), 0, 0),
    ApiKey.FETCH: Api(among_nodes("FetchResponse", handle_fetch_metadata), 12, 18),
    ApiKey.FETCH_SNAPSHOT: Api(among_nodes("FetchSnapshotResponse", handle_fetch_snapshot), 0, 1),
    ApiKey.VOTE: Api(among_nodes("VoteResponse", handle_vote), 0, 2),
    ApiKey.BEGIN_QUORUM_EPOCH: Api(
        among_nodes("BeginQuorumEpochResponse", handle_begin_quorum_epoch), 0, 1
    ),
    ApiKey.END_QUORUM_EPOCH: Api(
        among_nodes("EndQuorumEpochResponse", handle_end_quorum_epoch), 0, 1
    ),
    ApiKey.UPDATE_RAFT_VOTER: Api(
        among_nodes("UpdateRaftVoterResponse", handle_update_raft_voter), 0, 0
    ),
}
"""The APIs by which nodes form the quorum and forward requests, on the listener of a
controller."""

SERVED = Served(BROKER, CONTROLLER, QUORUM)
