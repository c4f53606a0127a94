"""ElectLeaders, AlterPartitionReassignments, UnregisterBroker: where nothing is to be moved."""

from __future__ import annotations

import pytest

from conformance.case import case, expect
from conformance.wire import Wire, part
from reference_impl.wire import ErrorCode, Struct

NOBODY = 2**31 - 1
PREFERRED, UNCLEAN = 0, 1
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def elect(
    wire: Wire,
    version: int,
    kind: int,
    wanted: dict[str, list[int]] | None,
    timeout_ms: int = 20_000,
) -> Struct:
    topics = [
        part("ElectLeaders", "TopicPartitions", topic=topic, partitions=indexes)
        for topic, indexes in (wanted or {}).items()
    ]
    return wire.call(
        "ElectLeaders",
        version,
        election_type=kind,
        topic_partitions=None if wanted is None else topics,
        timeout_ms=timeout_ms,
    )


def errors_of(answer: Struct) -> dict[str, list[tuple[int, int]]]:
    """Return topic -> (partition, error)."""
    return {
        topic.topic: sorted((row.partition_id, row.error_code) for row in topic.partition_result)
        for topic in answer.replica_election_results
    }


@pytest.mark.parametrize("kind", [PREFERRED, UNCLEAN], ids=["preferred", "unclean"])
@case("REPL-03", "ElectLeaders", spec="KIP-183; KIP-460", priority="P1")
def test_no_leader_is_elected_where_the_right_one_leads(
    wire: Wire, version: int, kind: int
) -> None:
    """For a partition that its preferred replica leads, either kind of election returns
    ELECTION_NOT_NEEDED (84), and the leader epoch stays; a partition that does not exist gets
    UNKNOWN_TOPIC_OR_PARTITION (3)."""
    topic, missing = wire.create_topic(), wire.new_name("missing")
    before = wire.topic_metadata(topic.name).partitions
    answer = elect(wire, version, kind, {topic.name: [0, 7], missing: [0]})
    if version >= 1:
        expect(answer.error_code, ErrorCode.NONE, "error of the whole answer")
    expect(
        errors_of(answer),
        {
            topic.name: [(0, int(ErrorCode.ELECTION_NOT_NEEDED)), (7, int(UNKNOWN))],
            missing: [(0, int(UNKNOWN))],
        },
        "errors",
    )
    expect(wire.topic_metadata(topic.name).partitions, before, "partitions afterwards")


@case(
    "REPL-03",
    "ElectLeaders",
    spec="KIP-183; ReplicationControlManager.electLeaders",
    priority="P1",
    requires=["single-broker"],  # on others it would move leaders that are not ours
)
def test_an_election_for_all_tells_only_what_it_changed(wire: Wire, version: int) -> None:
    """An election for all partitions (null) has no row for one whose preferred replica leads."""
    topic = wire.create_topic()
    answer = elect(wire, version, PREFERRED, None)
    expect(errors_of(answer).get(topic.name, []), [], "rows of the topic")


@pytest.mark.parametrize("timeout_ms", [0, -1], ids="timeout={}".format)
@case(
    "REPL-03",
    "ElectLeaders",
    spec="ElectLeadersRequest.json, field TimeoutMs; class KafkaEventQueue",
    priority="P1",
)
def test_an_election_without_time_times_out(wire: Wire, version: int, timeout_ms: int) -> None:
    """A request whose timeout is over at once gets REQUEST_TIMED_OUT (7) for each partition and,
    from v1 on, as a whole; the leader epoch stays."""
    topic = wire.create_topic()
    before = wire.topic_metadata(topic.name).partitions
    answer = elect(wire, version, PREFERRED, {topic.name: [0, 7]}, timeout_ms)
    code = int(ErrorCode.REQUEST_TIMED_OUT)
    expect(errors_of(answer), {topic.name: [(0, code), (7, code)]}, "errors")
    if version >= 1:
        expect(answer.error_code, code, "error of the whole answer")
    expect(wire.topic_metadata(topic.name).partitions, before, "partitions afterwards")


@case("REPL-03", "ElectLeaders", versions=(1, 2), spec="KIP-460", priority="P1")
def test_an_unknown_kind_of_election_is_refused(wire: Wire, version: int) -> None:
    """An election type that does not exist gets INVALID_REQUEST (42)."""
    topic = wire.create_topic()
    answer = elect(wire, version, 9, {topic.name: [0]})
    expect(answer.error_code, ErrorCode.INVALID_REQUEST, "error of the whole answer")
    expect(errors_of(answer), {topic.name: [(0, int(ErrorCode.INVALID_REQUEST))]}, "errors")


def reassign(
    wire: Wire,
    version: int,
    topic: str,
    replicas: list[int] | None,
    index: int = 0,
    **options: bool,
) -> int:
    """Send AlterPartitionReassignments for one partition (None cancels); return its error."""
    row = part(
        "AlterPartitionReassignments",
        "ReassignablePartition",
        partition_index=index,
        replicas=replicas,
    )
    entry = part("AlterPartitionReassignments", "ReassignableTopic", name=topic, partitions=[row])
    answer = wire.call(
        "AlterPartitionReassignments", version, topics=[entry], timeout_ms=20_000, **options
    )
    expect(answer.error_code, ErrorCode.NONE, "error of the whole answer")
    return int(answer.responses[0].partitions[0].error_code)


@case("REPL-04", "AlterPartitionReassignments", spec="KIP-455", priority="P1")
def test_what_is_not_being_moved_cannot_be_cancelled(wire: Wire, version: int) -> None:
    """Cancelling a reassignment that is not in progress gets NO_REASSIGNMENT_IN_PROGRESS (85), and
    ListPartitionReassignments lists nothing for the topic."""
    topic = wire.create_topic()
    expect(
        reassign(wire, version, topic.name, None), ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "error"
    )
    wanted = part(
        "ListPartitionReassignments",
        "ListPartitionReassignmentsTopics",
        name=topic.name,
        partition_indexes=[0],
    )
    listed = wire.call("ListPartitionReassignments", topics=[wanted], timeout_ms=20_000)
    expect((listed.error_code, listed.topics), (0, []), "(error, topics being moved)")


@case(
    "REPL-05",
    "AlterPartitionReassignments",
    spec="KIP-455; class ReplicationControlManager",
    priority="P1",
)
def test_an_impossible_reassignment_is_refused(wire: Wire, version: int) -> None:
    """A reassignment to a broker that does not exist, to no broker, or to one broker twice gets
    INVALID_REPLICA_ASSIGNMENT (39), for a partition that does not exist UNKNOWN_TOPIC_OR_PARTITION
    (3); the replicas stay."""
    topic = wire.create_topic()
    before = wire.topic_metadata(topic.name).partitions
    here = before[0].replica_nodes[0]
    for replicas in ([NOBODY], [], [here, here]):
        expect(
            reassign(wire, version, topic.name, replicas),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"error of {replicas}",
        )
    expect(reassign(wire, version, topic.name, [here], 7), UNKNOWN, "error of partition 7")
    expect(reassign(wire, version, wire.new_name("missing"), [here]), UNKNOWN, "no such topic")
    expect(wire.topic_metadata(topic.name).partitions, before, "partitions afterwards")


@case("REPL-10", "UnregisterBroker", spec="KIP-631; class ClusterControlManager", priority="P1")
def test_a_broker_that_does_not_exist_is_not_unregistered(wire: Wire, version: int) -> None:
    """An id that no broker has gets BROKER_ID_NOT_REGISTERED (102)."""
    answer = wire.call("UnregisterBroker", version, broker_id=NOBODY)
    expect(answer.error_code, ErrorCode.BROKER_ID_NOT_REGISTERED, "error")
