"""Ask a cluster about itself over the Kafka protocol, on a new connection for each question.

Sources: ApiVersionsRequest.json, MetadataRequest.json, DescribeQuorumRequest.json (KIP-595).
"""

from __future__ import annotations

import socket
from contextlib import closing
from dataclasses import dataclass

from chaos.means.connection import WireError, connected
from chaos.means.real_world import REAL_WORLD, run
from chaos.world import Address, joined
from reference_impl.access import Endpoint, access_of
from reference_impl.wire.apis import ApiKey
from reference_impl.wire.codec.schema import Struct
from reference_impl.wire.messages import request_definition

API_VERSIONS_VERSION = 0  # the version that every broker answers
METADATA_VERSION = 7  # the first with leader epochs (KIP-320)
DESCRIBE_QUORUM_VERSION = 0
LIST_VERSION = 0  # ListGroups and ListTransactions
METADATA_TOPIC = "__cluster_metadata"


@dataclass(frozen=True)
class PartitionView:
    """One partition as one broker sees it."""

    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]


def exchange(address: Address, api: ApiKey, version: int, body: Struct, timeout_s: float) -> Struct:
    """Send one request in one version and return the response. Raise WireError if none comes."""
    with closing(run(connected(REAL_WORLD, address, timeout_s))) as connection:
        return run(connection.exchange(api, version, body, timeout_s))


def check_kafka(address: Address, timeout_s: float) -> None:
    """Send ApiVersions. Raise WireError unless a Kafka broker answers."""
    body = request_definition(ApiKey.API_VERSIONS).new()
    answer = exchange(address, ApiKey.API_VERSIONS, API_VERSIONS_VERSION, body, timeout_s)
    if answer.error_code != 0:
        raise WireError(
            f"{joined(address)} answers ApiVersions with error code {answer.error_code}"
        )


def answers(address: Address, timeout_s: float) -> bool:
    """Return whether a Kafka broker answers at the address."""
    try:
        check_kafka(address, timeout_s)
    except WireError:
        return False
    return True


def listens(where: str, timeout_s: float) -> bool:
    """Return whether the address host:port accepts connections; the broker may demand TLS or SASL
    before it answers."""
    host, _, port = where.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=timeout_s):
            return True
    except OSError:
        return False


def _metadata(address: Address, topics: list[str], timeout_s: float) -> Struct:
    request = request_definition(ApiKey.METADATA)
    body = request.new(
        topics=[request.struct("MetadataRequestTopic", name=name) for name in topics],
        allow_auto_topic_creation=False,
    )
    return exchange(address, ApiKey.METADATA, METADATA_VERSION, body, timeout_s)


def brokers(address: Address, timeout_s: float) -> dict[int, Address]:
    """Return broker id -> address for clients, of the brokers that one broker believes alive. Raise
    WireError if no answer comes."""
    answer, access = _metadata(address, [], timeout_s), access_of(address)
    return {each.node_id: Endpoint(each.host, each.port, access) for each in answer.brokers}


def controller(address: Address, timeout_s: float) -> int:
    """Return the broker id of the controller that Metadata names (a KRaft broker names any living
    broker), -1 if it names none. Raise WireError if no answer comes."""
    return int(_metadata(address, [], timeout_s).controller_id)


def partition(address: Address, topic: str, index: int, timeout_s: float) -> PartitionView | None:
    """Return one partition as the broker at the address sees it, or None if that broker does not
    know the partition. Raise WireError if no answer comes."""
    answer = _metadata(address, [topic], timeout_s)
    for described in answer.topics:
        for one in described.partitions:
            if described.name == topic and one.partition_index == index:
                return PartitionView(one.leader_id, one.leader_epoch, tuple(one.replica_nodes))
    return None


def quorum_leader(address: Address, timeout_s: float) -> tuple[int, int] | None:
    """Return (epoch, node id) of the metadata quorum's leader, or None if the node at the address
    answers with an error, as a controller that does not lead does. Raise WireError if no answer
    comes."""
    request = request_definition(ApiKey.DESCRIBE_QUORUM)
    partition_data = request.struct("PartitionData", partition_index=0)
    topic = request.struct("TopicData", topic_name=METADATA_TOPIC, partitions=[partition_data])
    body = request.new(topics=[topic])
    version = DESCRIBE_QUORUM_VERSION
    answer = exchange(address, ApiKey.DESCRIBE_QUORUM, version, body, timeout_s)
    for described in answer.topics:
        for one in described.partitions:
            if one.error_code == 0:
                return one.leader_epoch, one.leader_id
    return None


def groups(address: Address, timeout_s: float) -> list[str]:
    """Return the groups which this broker coordinates. Raise WireError if no answer comes."""
    body = request_definition(ApiKey.LIST_GROUPS).new()
    answer = exchange(address, ApiKey.LIST_GROUPS, LIST_VERSION, body, timeout_s)
    return [group.group_id for group in answer.groups]


def transactional_ids(address: Address, timeout_s: float) -> list[str]:
    """Return the transactional ids which this broker coordinates (KIP-664). Raise WireError if no
    answer comes."""
    body = request_definition(ApiKey.LIST_TRANSACTIONS).new()
    answer = exchange(address, ApiKey.LIST_TRANSACTIONS, LIST_VERSION, body, timeout_s)
    return [state.transactional_id for state in answer.transaction_states]
