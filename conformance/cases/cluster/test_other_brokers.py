"""A cluster of several brokers, asked at one that does not lead, or does not coordinate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from conformance.case import Unsupported, case, each, expect, expect_that
from conformance.cases.framing.minimal_requests import minimal_request
from conformance.cases.framing.subject import Subject
from conformance.cases.list_offsets.test_list_offsets import LATEST
from conformance.clients.members import GROUP, NOT_YET, TRANSACTION, coordinator
from conformance.wire import Connection, Topic, Wire, batch, eventually, part
from reference_impl.wire import ErrorCode, Struct

LEADER_TOLD = "KIP-951; ProduceResponse.json and FetchResponse.json, field CurrentLeader"
GROUP_APIS = (
    *("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "DescribeGroups", "DeleteGroups"),
    *("OffsetCommit", "OffsetFetch", "OffsetDelete", "ConsumerGroupHeartbeat"),
    "ConsumerGroupDescribe",
)
TRANSACTION_APIS = (
    *("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn"),
    "DescribeTransactions",
)


class Named(Subject):
    """Requests that are all about one group or transactional id."""

    def new_name(self) -> str:
        return self.name


def another_broker(wire: Wire, than: tuple[str, int]) -> Connection:
    """Connect to another broker; raise Unsupported where there is none."""
    found = wire.brokers()
    # A single broker may be known by another address than the one that it advertises.
    others = [address for address in found.values() if address != than and len(found) > 1]
    if not others:
        raise Unsupported("the case needs a target of several brokers")
    return wire.connect(address=others[0])


def led_elsewhere(wire: Wire) -> tuple[Topic, Connection]:
    """Return a topic whose partition one broker leads, and a connection to another, which has a
    replica only if the cluster refuses topics of one replica."""
    connection = another_broker(wire, wire.home())
    return wire.create_topic(on_one_broker=True), connection


def expect_leader_told(wire: Wire, topic: Topic, found: Struct, answer: Struct) -> None:
    """Require the current leader, as Metadata has it, and its address."""
    partition = wire.topic_metadata(topic.name).partitions[0]
    leader = (partition.leader_id, partition.leader_epoch)
    told = (found.current_leader.leader_id, found.current_leader.leader_epoch)
    expect(told, leader, "current leader (id, epoch)")
    at = {node.node_id: (node.host, node.port) for node in answer.node_endpoints}
    expect(at, {leader[0]: wire.brokers()[leader[0]]}, "node endpoints")


@case("PROD-07", "Produce", versions=(3, 13), spec=LEADER_TOLD)
def test_produce_to_another_broker_names_the_leader(wire: Wire, version: int) -> None:
    """A broker that does not lead the partition answers NOT_LEADER_OR_FOLLOWER (6) and appends
    nothing; from v10 on it names the leader, its epoch, and where it listens."""
    topic, other = led_elsewhere(wire)
    answer = other.call("Produce", version, wire.produce_request(topic, batch(b"a").encode()))
    found = answer.responses[0].partition_responses[0]
    expect(found.error_code, ErrorCode.NOT_LEADER_OR_FOLLOWER, "error")
    if version >= 10:
        expect_leader_told(wire, topic, found, answer)
    expect(wire.values(topic), [], "records")


@case("FETCH-16", "Fetch", versions=(4, 18), spec=LEADER_TOLD)
def test_fetch_from_another_broker_names_the_leader(wire: Wire, version: int) -> None:
    """A broker that has no replica answers NOT_LEADER_OR_FOLLOWER (6) without records; from v16 on
    it names the leader, its epoch, and where it listens."""
    topic, other = led_elsewhere(wire)
    if len(wire.topic_metadata(topic.name).partitions[0].replica_nodes) > 1:
        raise Unsupported("the case needs a topic of one replica, which this cluster refuses")
    expect(wire.produce(topic, batch(b"a").encode()).error_code, ErrorCode.NONE, "produce error")
    answer = other.call("Fetch", version, wire.fetch_request(topic, 0))
    found = answer.responses[0].partitions[0]
    expect(found.error_code, ErrorCode.NOT_LEADER_OR_FOLLOWER, "error")
    expect(bytes(found.records or b""), b"", "records")
    if version >= 16:
        expect_leader_told(wire, topic, found, answer)


@case(
    "LIST-12", "ListOffsets", versions=(1, 11), spec="class ReplicaManager, fetchOffsetForTimestamp"
)
def test_only_the_leader_knows_offsets(wire: Wire, version: int) -> None:
    """A broker that does not lead the partition answers NOT_LEADER_OR_FOLLOWER (6) and offset
    -1."""
    topic, other = led_elsewhere(wire)
    wanted = part("ListOffsets", "ListOffsetsPartition", partition_index=0, timestamp=LATEST)
    entry = part("ListOffsets", "ListOffsetsTopic", name=topic.name, partitions=[wanted])
    answer = other.call("ListOffsets", version, replica_id=-1, topics=[entry])
    found = answer.topics[0].partitions[0]
    expect(
        (found.error_code, found.offset), (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1), "(error, offset)"
    )


def errors_in(answer: Any) -> Iterator[int]:
    """Yield every error code of an answer, however deep."""
    for name in answer._names if isinstance(answer, Struct) else ():
        value = getattr(answer, name)
        if name.endswith("error_code"):
            yield int(value)
        for inner in value if isinstance(value, list) else [value]:
            yield from errors_in(inner)


def expect_not_coordinator(wire: Wire, api: str, kind: int, version: int) -> None:
    """Require NOT_COORDINATOR, and no other error, from a broker that is not the coordinator."""
    subject = Named(wire)
    other = another_broker(wire, coordinator(wire, subject.name, kind))
    body = minimal_request(api, subject)
    if "transactional_id" in body._names:
        body.transactional_id = subject.name
    # A broker that has just become no coordinator may still be unloading.
    busy = NOT_YET - {ErrorCode.NOT_COORDINATOR}
    errors = eventually(
        lambda: set(errors_in(other.call(api, version, body))),
        lambda found: not busy & found,
        f"{api} is answered",
    )
    expect(sorted(errors - {0}), [int(ErrorCode.NOT_COORDINATOR)], f"errors of {api}")


@pytest.mark.parametrize("api", GROUP_APIS)
@case(
    "OFFS-24",
    "FindCoordinator",
    spec="class GroupCoordinatorService, throwIfNotActive",
    priority="P1",
)
def test_only_the_coordinator_serves_a_group(wire: Wire, api: str) -> None:
    """Every other broker answers a request about a group with NOT_COORDINATOR (16)."""
    high = 4 if api == "SyncGroup" else wire.version(api)  # v5 on is refused without a protocol
    expect_not_coordinator(wire, api, GROUP, wire.version(api, 0, high))


@pytest.mark.parametrize("api", TRANSACTION_APIS)
@case(
    "TXN-11",
    "FindCoordinator",
    spec="class TransactionStateManager, getAndMaybeAddTransactionState",
)
def test_only_the_coordinator_serves_a_transactional_id(wire: Wire, api: str) -> None:
    """Every other broker answers a request about a transactional id with NOT_COORDINATOR (16)."""
    high = 3 if api == "AddPartitionsToTxn" else wire.version(api)  # v4 on is for brokers
    expect_not_coordinator(wire, api, TRANSACTION, wire.version(api, 0, high))


@case("APIV-08", "ApiVersions", spec="KIP-35", priority="P1")
def test_all_brokers_advertise_the_same(wire: Wire, version: int) -> None:
    """Every broker of a cluster answers with the same APIs and ranges, and the same finalized
    features."""
    another_broker(wire, wire.addresses[0])
    answers = [
        connection.call(
            "ApiVersions", version, client_software_name="touchstone", client_software_version="1"
        )
        for connection in wire.everywhere()
    ]
    ranges, features = [
        [
            sorted((row.api_key, row.min_version, row.max_version) for row in answer.api_keys)
            for answer in each(answers, "answers", at_least=2)
        ],
        [
            sorted(
                (row.name, row.min_version_level, row.max_version_level)
                for row in answer.finalized_features
            )
            for answer in answers
        ],
    ]
    expect_that(
        all(found == ranges[0] for found in ranges), "ranges of all brokers", ranges[0], ranges
    )
    expect(features, features[:1] * len(answers), "finalized features of all brokers")
