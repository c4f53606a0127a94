"""The answers of the controller's APIs that refuse a whole request with one error.

They are sent when no controller is active, or when a decision may be lost because the quorum has a
new leader (core/handlers/forwarding.py). Source: the getErrorResponse methods of Kafka's requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reference_impl.core.events import Request
from reference_impl.core.handlers.refusals import on_top
from reference_impl.core.requests.api import Refuse
from reference_impl.wire import ERRORS, ApiKey, ErrorCode, Struct, definition


def each(
    response: str, field: str, row: str, rows_of: Callable[[Struct], list[dict[str, Any]]]
) -> Refuse:
    """Return a function that refuses a request by the named response. Its field `field` gets a
    struct `row` for each item of `rows_of(body)`, with the fields of the item and the error."""
    of = definition(response)

    def refuse(request: Request, code: ErrorCode) -> Struct:
        message = ERRORS[code].message
        rows = [
            of.struct(row, error_code=code, error_message=message, **given)
            for given in rows_of(request.body)
        ]
        return of.new(**{field: rows})

    return refuse


def named(rows: str) -> Callable[[Struct], list[dict[str, Any]]]:
    """Return a function that takes a request's body and returns, for each row in its field `rows`,
    the field (name) of the answer's row."""
    return lambda body: [{"name": row.name} for row in getattr(body, rows)]


def topics_to_delete(body: Struct) -> list[dict[str, Any]]:
    """Return the fields (name, topic id) of a row for each topic of a DeleteTopics request of any
    version."""
    by_name = [{"name": name} for name in body.topic_names]
    return by_name + [{"name": row.name, "topic_id": row.topic_id} for row in body.topics]


def resources(body: Struct) -> list[dict[str, Any]]:
    """Return the fields (type, name) of a row for each resource whose configuration a request
    changes."""
    return [
        {"resource_type": row.resource_type, "resource_name": row.resource_name}
        for row in body.resources
    ]


def entities(body: Struct) -> list[dict[str, Any]]:
    """Return the field (entity) of a row for each entity whose quotas a request changes."""
    of = definition("AlterClientQuotasResponse")
    return [
        {
            "entity": [
                of.struct("EntityData", entity_type=part.entity_type, entity_name=part.entity_name)
                for part in row.entity
            ]
        }
        for row in body.entries
    ]


def users(body: Struct) -> list[dict[str, Any]]:
    """Return the field (user) of a row for each user whose credentials a request changes, each
    once."""
    names = dict.fromkeys(row.name for row in (*body.deletions, *body.upsertions))
    return [{"user": name} for name in names]


def refuse_elect_leaders(request: Request, code: ErrorCode) -> Struct:
    """Return the ElectLeaders response with this error on top and for each partition that the
    request names."""
    of = definition("ElectLeadersResponse")
    message = ERRORS[code].message
    topics = [
        of.struct(
            "ReplicaElectionResult",
            topic=topic.topic,
            partition_result=[
                of.struct(
                    "PartitionResult", partition_id=index, error_code=code, error_message=message
                )
                for index in topic.partitions
            ],
        )
        for topic in request.body.topic_partitions or ()
    ]
    return of.new(error_code=code, replica_election_results=topics)


def refuse_reassignments(request: Request, code: ErrorCode) -> Struct:
    """Return the AlterPartitionReassignments response with this error on top and for each
    partition."""
    of = definition("AlterPartitionReassignmentsResponse")
    row, message = "ReassignablePartitionResponse", ERRORS[code].message
    topics = [
        of.struct(
            "ReassignableTopicResponse",
            name=topic.name,
            partitions=[
                of.struct(
                    row,
                    partition_index=partition.partition_index,
                    error_code=code,
                    error_message=message,
                )
                for partition in topic.partitions
            ],
        )
        for topic in request.body.topics
    ]
    return of.new(error_code=code, error_message=message, responses=topics)


REFUSE_CHANGE: Mapping[int, Refuse] = {
    ApiKey.CREATE_TOPICS: each(
        "CreateTopicsResponse", "topics", "CreatableTopicResult", named("topics")
    ),
    ApiKey.DELETE_TOPICS: each(
        "DeleteTopicsResponse", "responses", "DeletableTopicResult", topics_to_delete
    ),
    ApiKey.CREATE_ACLS: each(
        "CreateAclsResponse",
        "results",
        "AclCreationResult",
        lambda body: [{} for _ in body.creations],
    ),
    ApiKey.DELETE_ACLS: each(
        "DeleteAclsResponse",
        "filter_results",
        "DeleteAclsFilterResult",
        lambda body: [{} for _ in body.filters],
    ),
    ApiKey.ALTER_CONFIGS: each(
        "AlterConfigsResponse", "responses", "AlterConfigsResourceResponse", resources
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: each(
        "IncrementalAlterConfigsResponse", "responses", "AlterConfigsResourceResponse", resources
    ),
    ApiKey.CREATE_PARTITIONS: each(
        "CreatePartitionsResponse", "results", "CreatePartitionsTopicResult", named("topics")
    ),
    ApiKey.CREATE_DELEGATION_TOKEN: on_top("CreateDelegationTokenResponse"),
    ApiKey.RENEW_DELEGATION_TOKEN: on_top("RenewDelegationTokenResponse"),
    ApiKey.EXPIRE_DELEGATION_TOKEN: on_top("ExpireDelegationTokenResponse"),
    ApiKey.ELECT_LEADERS: refuse_elect_leaders,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: refuse_reassignments,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: on_top("ListPartitionReassignmentsResponse"),
    ApiKey.ALTER_CLIENT_QUOTAS: each("AlterClientQuotasResponse", "entries", "EntryData", entities),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: each(
        "AlterUserScramCredentialsResponse", "results", "AlterUserScramCredentialsResult", users
    ),
    ApiKey.DESCRIBE_QUORUM: on_top("DescribeQuorumResponse"),
    ApiKey.ADD_RAFT_VOTER: on_top("AddRaftVoterResponse"),
    ApiKey.REMOVE_RAFT_VOTER: on_top("RemoveRaftVoterResponse"),
    ApiKey.ALTER_PARTITION: on_top("AlterPartitionResponse"),
    ApiKey.BROKER_REGISTRATION: on_top("BrokerRegistrationResponse"),
    ApiKey.BROKER_HEARTBEAT: on_top("BrokerHeartbeatResponse"),
    ApiKey.UNREGISTER_BROKER: on_top("UnregisterBrokerResponse"),
    ApiKey.UPDATE_FEATURES: on_top("UpdateFeaturesResponse"),
    ApiKey.ALLOCATE_PRODUCER_IDS: on_top("AllocateProducerIdsResponse"),
    ApiKey.CONTROLLER_REGISTRATION: on_top("ControllerRegistrationResponse"),
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: on_top("AssignReplicasToDirsResponse"),
}
"""API key -> the function that refuses such a request to a controller."""
