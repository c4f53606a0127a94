"""Replicas that may lead although they left the ISR (KIP-966, Eligible Leader Replicas)."""

from __future__ import annotations

from chaos.values.faults import Kill
from conformance.case import Unsupported, case
from conformance.cases.api_versions.test_api_versions import api_versions
from conformance.cases.api_versions.test_features import finalized
from conformance.cases.cluster.test_lost_brokers import RETURN_S, lost, replicated
from conformance.cases.cluster.test_replication import NOBODY, three_brokers
from conformance.cases.metadata.test_describe_topic_partitions import describe
from conformance.target.examination import Examined
from conformance.wire import Topic, Wire, eventually

FEATURE = "eligible.leader.replicas.version"


@case(
    "REPL-08",
    "DescribeTopicPartitions",
    spec="KIP-966, Eligible Leader Replicas; class PartitionChangeBuilder",
    priority="P2",
    requires=["restart"],
)
def test_a_replica_that_leaves_a_small_isr_stays_eligible(
    wire: Wire, version: int, examined: Examined
) -> None:
    """If eligible.leader.replicas.version is 1, a replica that leaves an ISR of min.insync.replicas
    is described as eligible, and one that leaves a larger ISR is not; a partition whose ISR is
    empty has no leader. Once the broker is back, its only replica leads, all are in the ISR, and
    none is described as eligible."""
    levels = finalized(api_versions(wire.connect(), wire.version("ApiVersions", 3)))
    if levels.get(FEATURE) != (1, 1):
        raise Unsupported(f"{FEATURE} is not 1 here")
    asked, between, last = three_brokers(wire)
    small = replicated(wire, [asked, last], min_insync_replicas="2")
    large = replicated(wire, [asked, between, last], min_insync_replicas="2")
    alone = replicated(wire, [last], min_insync_replicas="1")

    def told(topic: Topic) -> tuple[int, list[int], list[int]]:
        (row,) = describe(wire, version, [topic.name]).topics[0].partitions
        return row.leader_id, sorted(row.isr_nodes), list(row.eligible_leader_replicas or [])

    def becomes(topic: Topic, *expected: object) -> None:
        what = f"(leader, ISR, eligible replicas) become {expected}"
        eventually(lambda: told(topic), lambda found: found == expected, what, RETURN_S)

    with lost(examined, wire, alone, Kill(last)):
        becomes(small, asked, [asked], [last])
        becomes(large, asked, sorted([asked, between]), [])
        becomes(alone, NOBODY, [], [last])
    becomes(small, asked, sorted([asked, last]), [])
    becomes(large, asked, sorted([asked, between, last]), [])
    becomes(alone, last, [last], [])
