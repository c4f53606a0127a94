"""Elections of dead replicas, moves of partitions, and brokers that are taken off the cluster."""

from __future__ import annotations

from chaos.values.faults import Kill
from conformance.case import case, expect, expect_that
from conformance.cases.cluster.test_elections import PREFERRED, UNCLEAN, elect, errors_of, reassign
from conformance.cases.cluster.test_lost_brokers import RETURN_S, lost, replicated, two_brokers
from conformance.target.examination import Examined
from conformance.wire import Topic, Wire, batch, eventually, part
from reference_impl.wire import ErrorCode, Struct


def moves_of(wire: Wire, topic: Topic, version: int | None = None) -> list[Struct]:
    """Return the moves of a topic's partitions, as ListPartitionReassignments describes them."""
    wanted = part(
        "ListPartitionReassignments",
        "ListPartitionReassignmentsTopics",
        name=topic.name,
        partition_indexes=[0],
    )
    answer = wire.call("ListPartitionReassignments", version, topics=[wanted], timeout_ms=20_000)
    expect(answer.error_code, ErrorCode.NONE, "ListPartitionReassignments error")
    return [row for entry in answer.topics for row in entry.partitions]


def replicas_of(wire: Wire, topic: Topic) -> list[int]:
    return list(wire.topic_metadata(topic.name).partitions[0].replica_nodes)


def wait_for_death(wire: Wire, node_id: int) -> None:
    """Wait until Metadata no longer lists a broker."""
    eventually(wire.brokers, lambda found: node_id not in found, "the dead broker goes", RETURN_S)


@case("REPL-03", "ElectLeaders", spec="KIP-460", priority="P1", requires=["restart"])
def test_a_dead_broker_is_not_elected(wire: Wire, version: int, examined: Examined) -> None:
    """Electing a preferred replica that is dead gets PREFERRED_LEADER_NOT_AVAILABLE (80), and the
    leader stays; once it is back, and in sync, it is elected, or ELECTION_NOT_NEEDED (84) says that
    it leads already. Where every replica is dead an unclean election (v1+) gets
    ELIGIBLE_LEADERS_NOT_AVAILABLE (83)."""
    asked, other = two_brokers(wire)
    topic = replicated(wire, [other, asked], min_insync_replicas="1")
    alone = replicated(wire, [other], min_insync_replicas="1")
    with lost(examined, wire, topic, Kill(other)):
        wait_for_death(wire, other)
        eventually(
            lambda: wire.topic_metadata(topic.name).partitions[0].leader_id,
            lambda leader: leader == asked,
            "another leader",
            RETURN_S,
        )
        refused = elect(wire, version, PREFERRED, {topic.name: [0]})
        expected = [(0, int(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE))]
        expect(errors_of(refused), {topic.name: expected}, "errors")
        expect(wire.topic_metadata(topic.name).partitions[0].leader_id, asked, "leader afterwards")
        if version >= 1:
            refused = elect(wire, version, UNCLEAN, {alone.name: [0]})
            expected = [(0, int(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE))]
            expect(errors_of(refused), {alone.name: expected}, "errors of the unclean election")
    answer = elect(wire, version, PREFERRED, {topic.name: [0]})
    # A controller may have elected it by itself meanwhile (auto.leader.rebalance.enable).
    expect(
        errors_of(answer)[topic.name][0][1],
        {ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED},
        "error once the replica is back",
    )
    eventually(
        lambda: wire.topic_metadata(topic.name).partitions[0].leader_id,
        lambda leader: leader == other,
        "the preferred replica leads",
    )


@case("REPL-04", "AlterPartitionReassignments", spec="KIP-455", priority="P1")
def test_a_partition_moves_with_its_records(wire: Wire, version: int) -> None:
    """A partition that is moved to another broker is led there in the end, by that replica alone,
    with every record; then ListPartitionReassignments no longer lists it."""
    asked, other = two_brokers(wire)
    topic = replicated(wire, [asked], min_insync_replicas="1")
    wire.produce(topic, batch(b"a", b"b").encode())
    expect(reassign(wire, version, topic.name, [other]), ErrorCode.NONE, "error")
    eventually(lambda: replicas_of(wire, topic), lambda r: r == [other], "replicas", RETURN_S)
    eventually(lambda: moves_of(wire, topic), lambda rows: rows == [], "moves", RETURN_S)
    wire.wait_for_topic(topic.name, 1)
    partition = wire.topic_metadata(topic.name).partitions[0]
    expect((partition.leader_id, list(partition.isr_nodes)), (other, [other]), "(leader, ISR)")
    expect(wire.values(topic), [b"a", b"b"], "records")


@case("REPL-04", "ListPartitionReassignments", spec="KIP-455", priority="P1", requires=["restart"])
def test_a_move_is_listed_until_it_is_cancelled(
    wire: Wire, version: int, examined: Examined
) -> None:
    """A move to a replica that cannot follow is listed with its replicas, those that it adds and
    those that it removes; cancelling it (null) brings the former replicas back."""
    asked, other = two_brokers(wire)
    topic = replicated(wire, [asked], min_insync_replicas="1")
    alter = wire.version("AlterPartitionReassignments")
    with lost(examined, wire, topic, Kill(other)):
        wait_for_death(wire, other)
        expect(reassign(wire, alter, topic.name, [other]), ErrorCode.NONE, "error")
        row = eventually(lambda: moves_of(wire, topic, version), bool, "the move is listed")[0]
        expect(
            (row.partition_index, sorted(row.replicas)), (0, sorted([asked, other])), "partition"
        )
        expect(
            (list(row.adding_replicas), list(row.removing_replicas)),
            ([other], [asked]),
            "(adding, removing)",
        )
        expect(reassign(wire, alter, topic.name, None), ErrorCode.NONE, "error of cancelling")
        eventually(lambda: moves_of(wire, topic, version), lambda r: r == [], "no move is listed")
        eventually(lambda: replicas_of(wire, topic), lambda r: r == [asked], "replicas afterwards")


@case("REPL-06", "AlterPartitionReassignments", versions=(1, 1), spec="KIP-860", priority="P2")
def test_the_number_of_replicas_is_kept_where_it_is_asked_for(wire: Wire, version: int) -> None:
    """With allow_replication_factor_change=false (v1+) a move to more replicas gets
    INVALID_REPLICATION_FACTOR (38), and the replicas stay; a move to as many replicas is done."""
    asked, other = two_brokers(wire)
    topic = replicated(wire, [asked], min_insync_replicas="1")

    def move(replicas: list[int]) -> int:
        return reassign(wire, version, topic.name, replicas, allow_replication_factor_change=False)

    expect(move([asked, other]), ErrorCode.INVALID_REPLICATION_FACTOR, "error")
    expect((replicas_of(wire, topic), moves_of(wire, topic)), ([asked], []), "(replicas, moves)")
    expect(move([other]), ErrorCode.NONE, "error of a move to as many")
    eventually(lambda: replicas_of(wire, topic), lambda r: r == [other], "replicas", RETURN_S)


def listed(wire: Wire, version: int, *, fenced: bool) -> dict[int, bool]:
    """Return broker id -> whether it is fenced, from DescribeCluster."""
    answer = wire.call("DescribeCluster", version, include_fenced_brokers=fenced)
    expect(answer.error_code, ErrorCode.NONE, "DescribeCluster error")
    return {b.broker_id: b.is_fenced for b in answer.brokers}


@case(
    "META-24",
    "DescribeCluster",
    versions=(2, 2),
    spec="KIP-1073",
    priority="P2",
    requires=["restart"],
)
def test_fenced_brokers_are_listed_if_they_are_asked_for(
    wire: Wire, version: int, examined: Examined
) -> None:
    """A broker that died is listed, as fenced, if include_fenced_brokers asks for it, and otherwise
    not; the others are listed in both, as not fenced."""
    asked, other = two_brokers(wire)
    living = dict.fromkeys(set(wire.brokers()) - {other}, False)
    topic = replicated(wire, [asked], min_insync_replicas="1")
    with lost(examined, wire, topic, Kill(other)):
        wait_for_death(wire, other)
        expect(listed(wire, version, fenced=False), living, "brokers")
        expect(listed(wire, version, fenced=True), living | {other: True}, "brokers, with fenced")
    expect(listed(wire, version, fenced=True), living | {other: False}, "brokers afterwards")


@case(
    "REPL-10",
    "UnregisterBroker",
    spec="KIP-631; class ClusterControlManager",
    priority="P1",
    requires=["restart"],
)
def test_a_dead_broker_is_unregistered(wire: Wire, version: int, examined: Examined) -> None:
    """A dead broker that is unregistered is gone from DescribeCluster, fenced ones included; when
    it is started again it registers, and is listed."""
    asked, other = two_brokers(wire)
    topic = replicated(wire, [asked], min_insync_replicas="1")
    with lost(examined, wire, topic, Kill(other)):
        wait_for_death(wire, other)
        answer = wire.call("UnregisterBroker", version, broker_id=other)
        expect(answer.error_code, ErrorCode.NONE, "error")
        describe = wire.version("DescribeCluster", 2)
        eventually(
            lambda: listed(wire, describe, fenced=True),
            lambda found: other not in found,
            "the broker is no longer listed",
        )
    found = listed(wire, describe, fenced=True)
    expect_that(found.get(other) is False, "brokers afterwards", f"with {other}", found)
