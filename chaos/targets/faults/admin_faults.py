"""Perform an administrator's faults under load: elections, moved replicas, topics created and
deleted.

The requests go to one node, past every proxy; in KRaft any broker forwards them to the controller
(KIP-590). An error response of Kafka is not an error of the fault: an election that is not needed,
or a move that another move prevents, strikes no node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from chaos.means.connection import WireError
from chaos.targets.clusters import probe, roles
from chaos.targets.clusters.cluster import LocalCluster, Performers
from chaos.values.faults import AdminStorm, Elect, MoveReplicas
from reference_impl.wire.apis import ApiKey
from reference_impl.wire.codec.schema import Struct
from reference_impl.wire.errors import ErrorCode
from reference_impl.wire.messages import request_definition

ASK_TIMEOUT_S = 15.0
TIMEOUT_MS = 10_000
VERSIONS = {
    ApiKey.ELECT_LEADERS: 1,  # the first version with a type of election (KIP-460)
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: 0,
    ApiKey.CREATE_TOPICS: 5,
    ApiKey.CREATE_PARTITIONS: 2,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: 1,
    ApiKey.DELETE_TOPICS: 5,
}
"""API -> a version that every target serves."""
ELECTION_TYPES = {"preferred": 0, "unclean": 1}  # ElectLeadersRequest.json, field ElectionType
TOPIC, SET = 2, 0  # ConfigResource.Type; AlterConfigOp.OpType
STORM_PARTITIONS = 2
_storms = count(1)


def _elect(cluster: LocalCluster, fault: Elect) -> list[int]:
    """Request an election for the partition in `cluster.focus`. Return a list with the leader after
    it, or [] if no election took place or no node knows the leader."""
    topic, index = _interesting(cluster)
    struct = request_definition(ApiKey.ELECT_LEADERS).struct
    answer = _ask(
        cluster,
        ApiKey.ELECT_LEADERS,
        election_type=ELECTION_TYPES[fault.kind],
        topic_partitions=[struct("TopicPartitions", topic=topic, partitions=[index])],
        timeout_ms=TIMEOUT_MS,
    )
    results = [row for one in answer.replica_election_results for row in one.partition_result]
    if not _all_done(results):
        return []
    view = roles.focus(cluster)
    return [] if view is None or view.leader < 1 else [view.leader]


def _move_replicas(cluster: LocalCluster, fault: MoveReplicas) -> list[int]:
    """Move the replicas of the partition in `cluster.focus`. Return the nodes of its new replicas,
    the preferred one first, or [] if the brokers refused or no node knows the partition."""
    topic, index = _interesting(cluster)
    view = roles.focus(cluster)
    if view is None:
        return []
    # If all nodes are replicas, remove the first one; else append the missing ones.
    everybody = set(range(1, cluster.nodes + 1))
    missing = sorted(everybody - set(view.replicas))
    wanted = [*view.replicas, *missing] if missing else [*view.replicas[1:]] or [*view.replicas]
    struct = request_definition(ApiKey.ALTER_PARTITION_REASSIGNMENTS).struct
    broker_ids = [cluster.broker_id(number) for number in wanted]
    partition = struct("ReassignablePartition", partition_index=index, replicas=broker_ids)
    answer = _ask(
        cluster,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        timeout_ms=TIMEOUT_MS,
        topics=[struct("ReassignableTopic", name=topic, partitions=[partition])],
    )
    results = [row for one in answer.responses for row in one.partitions]
    return wanted if answer.error_code == 0 and _all_done(results) else []


def _admin_storm(cluster: LocalCluster, fault: AdminStorm) -> list[int]:
    """Create topics, change and delete them. Return the reachable nodes, or [] if no topic was
    created."""
    wanted = [f"{cluster.topic_prefix}storm-{next(_storms)}" for _ in range(fault.topics)]
    made = _ask(cluster, ApiKey.CREATE_TOPICS, **_creation(wanted)).topics
    names = [row.name for row in made if row.error_code == ErrorCode.NONE]
    if not names:  # do not change topics of somebody else
        return []
    steps: Sequence[tuple[ApiKey, Callable[[list[str]], dict[str, Any]]]] = (
        (ApiKey.INCREMENTAL_ALTER_CONFIGS, _alteration),
        (ApiKey.CREATE_PARTITIONS, _extension),
        (ApiKey.DELETE_TOPICS, _deletion),
    )
    for api, fields in steps:
        _ask(cluster, api, **fields(names))
    return list(cluster.reachable())


def _creation(names: list[str]) -> dict[str, Any]:
    struct = request_definition(ApiKey.CREATE_TOPICS).struct
    topics = [
        struct("CreatableTopic", name=name, num_partitions=STORM_PARTITIONS, replication_factor=1)
        for name in names
    ]
    return {"topics": topics, "timeout_ms": TIMEOUT_MS}


def _alteration(names: list[str]) -> dict[str, Any]:
    struct = request_definition(ApiKey.INCREMENTAL_ALTER_CONFIGS).struct
    config = struct("AlterableConfig", name="retention.ms", config_operation=SET, value="60000")
    return {
        "resources": [
            struct(
                "AlterConfigsResource", resource_type=TOPIC, resource_name=name, configs=[config]
            )
            for name in names
        ]
    }


def _extension(names: list[str]) -> dict[str, Any]:
    struct = request_definition(ApiKey.CREATE_PARTITIONS).struct
    topics = [
        struct("CreatePartitionsTopic", name=name, count=2 * STORM_PARTITIONS, assignments=None)
        for name in names
    ]
    return {"topics": topics, "timeout_ms": TIMEOUT_MS}


def _deletion(names: list[str]) -> dict[str, Any]:
    return {"topic_names": names, "timeout_ms": TIMEOUT_MS}


def _interesting(cluster: LocalCluster) -> tuple[str, int]:
    roles.focus(cluster)  # raises if there is none
    assert cluster.focus is not None
    return cluster.focus


def _ask(cluster: LocalCluster, api: ApiKey, **fields: Any) -> Struct:
    """Send the request to one node after another, and return the first response. Raise the last
    WireError if no node answers."""
    body, last = request_definition(api).new(**fields), WireError("no node runs")
    for node in cluster.reachable():
        try:
            address = cluster.direct(node)
            return probe.exchange(address, api, VERSIONS[api], body, ASK_TIMEOUT_S)
        except WireError as error:
            last = error
    raise last


def _all_done(rows: Iterable[Struct]) -> bool:
    """Return whether there was at least one row and all rows succeeded."""
    codes = [row.error_code for row in rows]
    return bool(codes) and all(code == ErrorCode.NONE for code in codes)


PERFORMERS: Performers = {Elect: _elect, MoveReplicas: _move_replicas, AdminStorm: _admin_storm}
