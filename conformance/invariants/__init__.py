"""Invariants of every response: it is consistent with its request, and with itself.

`echoes` compares what a response is about. This package checks its content: a leader that is a
replica, a high watermark that is not below the last stable offset, records with a correct CRC. Each
invariant holds for every correct broker, whatever its settings; checks that need more knowledge are
cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from conformance.case import Deviation, expect_that
from conformance.invariants import admin, cluster, groups, moments, security, topics, transactions
from conformance.invariants.put_off import BrokenInvariant
from reference_impl.wire import Struct

Invariant = Callable[[int, Struct, Struct], None]
"""A function of the version, the request and the answer, which raises Deviation if the invariant is
broken."""

INVARIANTS: dict[str, tuple[Invariant, ...]] = {
    "Produce": (topics.produced, topics.new_leaders),
    "Fetch": (
        topics.fetched_partitions,
        topics.fetched_records,
        topics.fetched_bytes,
        topics.fetch_session,
        topics.new_leaders,
    ),
    "ListOffsets": (topics.listed_offsets,),
    "OffsetForLeaderEpoch": (topics.ends_of_epochs,),
    "DeleteRecords": (topics.low_watermarks,),
    "Metadata": (cluster.brokers, cluster.topics, cluster.metadata_permissions),
    "DescribeCluster": (cluster.brokers, cluster.cluster_permissions),
    "DescribeTopicPartitions": (cluster.topics, cluster.next_cursor),
    "FindCoordinator": (cluster.coordinators,),
    "ApiVersions": (cluster.api_versions,),
    "DescribeQuorum": (cluster.quorum,),
    "CreateTopics": (admin.created_topics,),
    "DescribeConfigs": (admin.configs,),
    "DescribeLogDirs": (admin.log_dirs,),
    "ListPartitionReassignments": (admin.reassignments,),
    "AlterPartitionReassignments": (admin.altered_reassignments,),
    "DescribeClientQuotas": (admin.quotas,),
    "JoinGroup": (groups.joined,),
    "SyncGroup": (groups.synced,),
    "DescribeGroups": (groups.described,),
    "ListGroups": (groups.listed,),
    "OffsetFetch": (groups.committed,),
    "ConsumerGroupHeartbeat": (groups.heartbeat,),
    "ConsumerGroupDescribe": (groups.described8,),
    "InitProducerId": (transactions.initialised,),
    "EndTxn": (transactions.ended,),
    "DescribeProducers": (transactions.producers,),
    "DescribeTransactions": (transactions.described,),
    "ListTransactions": (transactions.listed,),
    "SaslHandshake": (security.mechanisms,),
    "SaslAuthenticate": (security.authenticated,),
    "DescribeAcls": (security.described_acls,),
    "DeleteAcls": (security.deleted_acls,),
    "DescribeUserScramCredentials": (security.scram_credentials,),
}


def check(api: str, version: int, asked: Struct, answer: Struct) -> None:
    """Raise BrokenInvariant if a response contradicts its request or itself."""
    with _named(api, version):
        throttled_ms = getattr(answer, "throttle_time_ms", 0)
        expect_that(throttled_ms >= 0, "throttle_time_ms", ">= 0", throttled_ms)
        for invariant in INVARIANTS.get(api, ()):
            invariant(version, asked, answer)


def check_moments(version: int, asked: Struct, answer: Struct, ask_again: moments.AskAgain) -> None:
    """Raise BrokenInvariant if a fetch has offsets beyond the end of the log, which is asked for
    again if need be."""
    with _named("Fetch", version):
        moments.check(version, asked, answer, ask_again)


@contextmanager
def _named(api: str, version: int) -> Iterator[None]:
    """Convert a Deviation in the block into a BrokenInvariant of an answer of this API."""
    try:
        yield
    except Deviation as found:
        what = f"{found.what} in the answer of {api} v{version}"
        raise BrokenInvariant(what, found.expected, found.actual) from None
