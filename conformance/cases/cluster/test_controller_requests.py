"""The requests between controllers and from brokers to controllers, sent by a client: whose they
refuse (KIP-595, KIP-630, KIP-730, KIP-497, KIP-853)."""

from __future__ import annotations

import uuid
from itertools import pairwise
from typing import Any

import pytest

from conformance.case import case, expect, expect_that
from conformance.cases.cluster.test_controllers import (
    STRANGER,
    active_controller,
    at_active,
    quorum,
    registered,
)
from conformance.cases.cluster.test_quorum import METADATA
from conformance.connection import Connection
from conformance.wire import Wire, part, request
from reference_impl.wire import ErrorCode, Struct

VOTE, BEGIN, END, FETCH = "Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "FetchSnapshot"
ELSEWHERE = "no-such-cluster-ids-AA"
NOBODY = 47_110_816


def raft_request(
    api: str, wire: Wire, *, epoch: int, partition: int = 0, cluster: str | None = None
) -> Struct:
    """Return a request of the quorum's own protocol about this epoch of the metadata partition."""
    leader = active_controller(wire)
    fields: dict[str, dict[str, Any]] = {
        VOTE: {"replica_epoch": epoch, "replica_id": leader, "last_offset_epoch": epoch - 1},
        BEGIN: {"leader_id": leader, "leader_epoch": epoch},
        END: {"leader_id": leader, "leader_epoch": epoch},
        FETCH: {"current_leader_epoch": epoch, "position": 0},
    }
    kinds = {FETCH: ("TopicSnapshot", "PartitionSnapshot")}
    of_topic, of_partition = kinds.get(api, ("TopicData", "PartitionData"))
    row = part(api, of_partition, **fields[api])
    setattr(row, "partition" if api == FETCH else "partition_index", partition)
    if api == FETCH:
        row.snapshot_id.end_offset, row.snapshot_id.epoch = 2**40, 1
    topic = part(api, of_topic, partitions=[row])
    setattr(topic, "name" if api == FETCH else "topic_name", METADATA)
    body = request(api, cluster_id=cluster, topics=[topic])
    if api == FETCH:
        body.max_bytes = 1000
    return body


def errors_of(answer: Struct) -> tuple[int, int]:
    """Return the errors of an answer and of its first partition, NONE if it has no partition."""
    rows = [row for topic in answer.topics for row in topic.partitions]
    return answer.error_code, rows[0].error_code if rows else ErrorCode.NONE


def asked(controller: Connection, api: str, body: Struct) -> tuple[int, int]:
    return errors_of(controller.call(api, 1 if api == FETCH else 0, body))


def refused_with(api: str, code: ErrorCode) -> set[tuple[int, int]]:
    """Return the errors of an answer and its partition that say this code.

    Apache Kafka 4.3.1 cannot encode a refused row of FetchSnapshot (a NullPointerException), and
    answers UNKNOWN_SERVER_ERROR for the whole request.
    """
    unencoded = {(int(ErrorCode.UNKNOWN_SERVER_ERROR), 0)} if api == FETCH else set()
    whole = {(int(code), 0)} if code is ErrorCode.INVALID_REQUEST else set()
    return {(0, int(code))} | unencoded | whole


@pytest.mark.parametrize("api", [VOTE, BEGIN, END, FETCH])
@case(
    "KRFT-08", "DescribeQuorum", spec="KIP-595; class KafkaRaftClient, validations", priority="P2"
)
def test_controllers_refuse_requests_of_other_clusters_and_epochs(wire: Wire, api: str) -> None:
    """A request of the quorum's protocol gets INCONSISTENT_CLUSTER_ID (104) if it names another
    cluster, and FENCED_LEADER_EPOCH (74) for an epoch that is over (or INVALID_REQUEST (42) if no
    vote could be valid; FetchSnapshot possibly UNKNOWN_SERVER_ERROR (-1)). The leader stays the
    same."""
    controller, before = at_active(wire), quorum(wire).topics[0].partitions[0]
    epoch = before.leader_epoch
    other = raft_request(api, wire, epoch=epoch, cluster=ELSEWHERE)
    expect(asked(controller, api, other)[0], ErrorCode.INCONSISTENT_CLUSTER_ID, f"{api} elsewhere")
    stale = raft_request(api, wire, epoch=epoch - 1)
    codes = refused_with(api, ErrorCode.FENCED_LEADER_EPOCH)
    if api == VOTE and epoch < 3:  # no vote is valid: its log would have to end in an earlier epoch
        codes |= refused_with(api, ErrorCode.INVALID_REQUEST)
    expect(
        asked(controller, api, stale),
        codes,
        f"(error, error of the partition) of {api} in epoch {epoch - 1}",
    )
    after = quorum(wire).topics[0].partitions[0]
    expect((after.leader_id, after.leader_epoch), (before.leader_id, epoch), "leader and its epoch")


@case("KRFT-10", "DescribeQuorum", spec="KIP-630, Fetch Snapshot", priority="P2")
def test_a_snapshot_that_does_not_exist_is_not_found(wire: Wire) -> None:
    """FetchSnapshot of a snapshot that the leader does not have gets SNAPSHOT_NOT_FOUND (98), in a
    future epoch UNKNOWN_LEADER_EPOCH (75), and for a partition other than the metadata's
    UNKNOWN_TOPIC_OR_PARTITION (3), each in the partition's row, or UNKNOWN_SERVER_ERROR (-1)."""
    controller = at_active(wire)
    epoch = quorum(wire).topics[0].partitions[0].leader_epoch
    for changed, code in (
        ({"epoch": epoch}, ErrorCode.SNAPSHOT_NOT_FOUND),
        ({"epoch": epoch + 5}, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ({"epoch": epoch, "partition": 7}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ):
        body = raft_request(FETCH, wire, **changed)
        expect(asked(controller, FETCH, body), refused_with(FETCH, code), f"errors, {changed}")


@case("KRFT-11", "AddRaftVoter", spec="KIP-853, AddRaftVoter, RemoveRaftVoter", priority="P2")
def test_voters_that_exist_or_do_not_are_refused(wire: Wire) -> None:
    """If voters may change (kraft.version 1), AddRaftVoter of an existing voter gets
    DUPLICATE_VOTER (126), and RemoveRaftVoter of a node that is not a voter VOTER_NOT_FOUND (127);
    otherwise both get UNSUPPORTED_VERSION (35)."""
    told = wire.call("ApiVersions", client_software_name="touchstone", client_software_version="1")
    levels = {row.name: row.max_version_level for row in told.finalized_features}
    may_change = levels.get("kraft.version", 0) >= 1
    leader = active_controller(wire)
    described = quorum(wire)
    voters = described.topics[0].partitions[0].current_voters
    known = next(row for row in voters if row.replica_id == leader)
    # A quorum of one may have no listener of its own, and then nothing to compare this one with.
    at = {"name": "CONTROLLER", "host": "localhost", "port": 9}
    for told_at in (row for n in described.nodes if n.node_id == leader for row in n.listeners):
        at = {"name": told_at.name, "host": told_at.host, "port": told_at.port}
    listener = part("AddRaftVoter", "Listener", **at)
    added = wire.call(
        "AddRaftVoter",
        cluster_id=wire.call("DescribeCluster").cluster_id,
        voter_id=leader,
        voter_directory_id=known.replica_directory_id if may_change else uuid.uuid4(),
        listeners=[listener],
        timeout_ms=10_000,
    )
    code = ErrorCode.DUPLICATE_VOTER if may_change else ErrorCode.UNSUPPORTED_VERSION
    expect(added.error_code, code, "error of a voter added again")
    removed = wire.call(
        "RemoveRaftVoter",
        cluster_id=wire.call("DescribeCluster").cluster_id,
        voter_id=NOBODY,
        voter_directory_id=uuid.uuid4(),
    )
    code = ErrorCode.VOTER_NOT_FOUND if may_change else ErrorCode.UNSUPPORTED_VERSION
    expect(removed.error_code, code, "error of a stranger removed")


@case("KRFT-12", "DescribeQuorum", spec="KIP-730, AllocateProducerIds", priority="P2")
def test_each_block_of_producer_ids_is_given_once(wire: Wire) -> None:
    """Each AllocateProducerIds of a registered broker gets a block that overlaps no earlier one;
    with a wrong broker epoch, or from a broker that is not registered, it gets STALE_BROKER_EPOCH
    (77)."""
    controller = at_active(wire)
    epoch = registered(wire, controller)

    def allocate(broker_id: int, broker_epoch: int) -> Struct:
        body = request("AllocateProducerIds", broker_id=broker_id, broker_epoch=broker_epoch)
        return controller.call("AllocateProducerIds", 0, body)

    blocks = [allocate(STRANGER, epoch) for _ in range(3)]
    expect([b.error_code for b in blocks], [ErrorCode.NONE] * 3, "errors")
    ends = [(b.producer_id_start, b.producer_id_start + b.producer_id_len) for b in blocks]
    in_order = all(a[1] <= b[0] for a, b in pairwise(ends))
    expect_that(in_order and all(a < b for a, b in ends), "blocks", "one after another", ends)
    expect(allocate(STRANGER, epoch - 1).error_code, ErrorCode.STALE_BROKER_EPOCH, "older epoch")
    unknown = allocate(NOBODY, epoch).error_code
    expect(unknown, ErrorCode.STALE_BROKER_EPOCH, "error of an unknown broker")


@case("KRFT-13", "DescribeQuorum", spec="KIP-497, AlterPartition", priority="P2")
def test_only_a_partitions_leader_alters_it(wire: Wire) -> None:
    """AlterPartition from a broker that does not lead the partition gets INVALID_REQUEST (42), with
    an older leader epoch FENCED_LEADER_EPOCH (74), for a topic id that does not exist
    UNKNOWN_TOPIC_ID (100), and with a wrong broker epoch STALE_BROKER_EPOCH (77). The ISR stays as
    it is."""
    controller, topic = at_active(wire), wire.create_topic()
    epoch = registered(wire, controller)
    before = wire.topic_metadata(topic.name).partitions[0]

    def altered(topic_id: uuid.UUID, leader_epoch: int, broker_epoch: int) -> tuple[int, int]:
        member = part("AlterPartition", "BrokerState", broker_id=STRANGER, broker_epoch=epoch)
        row = part(
            "AlterPartition",
            "PartitionData",
            leader_epoch=leader_epoch,
            new_isr_with_epochs=[member],
            partition_epoch=0,
        )
        entry = part("AlterPartition", "TopicData", topic_id=topic_id, partitions=[row])
        body = request(
            "AlterPartition", broker_id=STRANGER, broker_epoch=broker_epoch, topics=[entry]
        )
        return errors_of(controller.call("AlterPartition", 3, body))

    now = before.leader_epoch
    for what, arguments, codes in (
        ("not the leader", (topic.id, now, epoch), (0, ErrorCode.INVALID_REQUEST)),
        ("an older epoch", (topic.id, now - 1, epoch), (0, ErrorCode.FENCED_LEADER_EPOCH)),
        ("no topic", (uuid.uuid4(), now, epoch), (0, ErrorCode.UNKNOWN_TOPIC_ID)),
        ("no broker epoch", (topic.id, now, epoch - 1), (ErrorCode.STALE_BROKER_EPOCH, 0)),
    ):
        expect(altered(*arguments), codes, f"(error, error of the partition): {what}")
    after = wire.topic_metadata(topic.name).partitions[0]
    expect(sorted(after.isr_nodes), sorted(before.isr_nodes), "ISR afterwards")


@case("KRFT-15", "DescribeQuorum", spec="KIP-858, AssignReplicasToDirs", priority="P2")
def test_a_broker_says_where_only_its_own_replicas_lie(wire: Wire) -> None:
    """AssignReplicasToDirs gets UNKNOWN_TOPIC_ID (100) for a topic that does not exist,
    UNKNOWN_TOPIC_OR_PARTITION (3) for such a partition, and NOT_LEADER_OR_FOLLOWER (6) for a
    partition of which the broker has no replica; with another epoch than the broker's the whole
    request gets STALE_BROKER_EPOCH (77)."""
    controller = at_active(wire)
    epoch, topic = registered(wire, controller), wire.create_topic()
    api, directory = "AssignReplicasToDirs", uuid.uuid4()

    def assign(topic_id: uuid.UUID, index: int, broker_epoch: int = epoch) -> tuple[int, list[int]]:
        row = part(api, "PartitionData", partition_index=index)
        of_topic = part(api, "TopicData", topic_id=topic_id, partitions=[row])
        told = part(api, "DirectoryData", id=directory, topics=[of_topic])
        body = request(api, broker_id=STRANGER, broker_epoch=broker_epoch, directories=[told])
        answer = controller.call(api, 0, body)
        rows = [r for d in answer.directories for t in d.topics for r in t.partitions]
        return answer.error_code, [r.error_code for r in rows]

    for topic_id, index, code in (
        (uuid.uuid4(), 0, ErrorCode.UNKNOWN_TOPIC_ID),
        (topic.id, 7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (topic.id, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ):
        expect(assign(topic_id, index), (0, [code]), "(error, errors of the partitions)")
    stale = assign(topic.id, 0, epoch - 1)[0]
    expect(stale, ErrorCode.STALE_BROKER_EPOCH, "error with an older epoch")
