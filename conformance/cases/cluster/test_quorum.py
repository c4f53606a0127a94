"""DescribeQuorum: who keeps the metadata of the cluster (KIP-595, KIP-836)."""

from __future__ import annotations

import pytest

from conformance.case import case, expect, expect_that
from conformance.wire import Wire, eventually, part
from reference_impl.wire import ErrorCode, Struct

METADATA = "__cluster_metadata"


def describe(wire: Wire, version: int, topic: str = METADATA, *indexes: int) -> Struct:
    """Describe the quorum of these partitions of one topic."""
    rows = [part("DescribeQuorum", "PartitionData", partition_index=i) for i in indexes or (0,)]
    wanted = part("DescribeQuorum", "TopicData", topic_name=topic, partitions=rows)
    answer = wire.call("DescribeQuorum", version, topics=[wanted])
    expect(answer.error_code, ErrorCode.NONE, "error of the whole answer")
    return answer


@case("KRFT-01", "DescribeQuorum", spec="KIP-595; KIP-836", priority="P1")
def test_the_leader_of_the_quorum_is_a_voter_that_has_everything(wire: Wire, version: int) -> None:
    """The metadata partition's leader is one of its voters, and its log reaches at least the high
    watermark, which grows with the cluster's metadata."""
    quorum = describe(wire, version).topics[0].partitions[0]
    expect((quorum.partition_index, quorum.error_code), (0, 0), "(partition, error)")
    ends = {voter.replica_id: voter.log_end_offset for voter in quorum.current_voters}
    expect(quorum.leader_id, frozenset(ends), "leader")
    expect_that(quorum.leader_epoch >= 1, "leader epoch", ">= 1", quorum.leader_epoch)
    expect_that(
        ends[quorum.leader_id] >= quorum.high_watermark,
        "end of the leader's log",
        f">= {quorum.high_watermark}",
        ends[quorum.leader_id],
    )
    wire.create_topic()
    eventually(
        lambda: describe(wire, version).topics[0].partitions[0].high_watermark,
        lambda found: found > quorum.high_watermark,
        "high watermark after a change",
    )
    if version >= 1:
        leader = next(v for v in quorum.current_voters if v.replica_id == quorum.leader_id)
        expect_that(
            leader.last_caught_up_timestamp > 0,
            "when the leader had everything",
            "a time",
            leader.last_caught_up_timestamp,
        )


@pytest.mark.parametrize("indexes", [(0,), (0, 1)], ids=["another-topic", "two-partitions"])
@case(
    "KRFT-02",
    "DescribeQuorum",
    spec="class KafkaRaftClient, handleDescribeQuorumRequest",
    priority="P1",
)
def test_nothing_else_has_a_quorum(wire: Wire, version: int, indexes: tuple[int, ...]) -> None:
    """Another topic, or more than the one partition of the metadata, gets
    UNKNOWN_TOPIC_OR_PARTITION (3) for each partition."""
    name = METADATA if len(indexes) > 1 else wire.create_topic().name
    rows = describe(wire, version, name, *indexes).topics[0].partitions
    expect(
        sorted((row.partition_index, row.error_code) for row in rows),
        [(index, int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)) for index in indexes],
        "(partition, error)",
    )
