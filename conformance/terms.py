"""The terms of an examination: what it may do to its target, how long it waits, how many replicas
its topics get, and what its names begin with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from conformance.case import Unsupported

PREFIX = re.compile(r"[A-Za-z0-9._-]{0,100}")
"""The names that topics may begin with; enough is left of the 249 characters for our own."""
Level = Literal["read-only", "produce", "admin", "restart"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""The levels, from the most careful one. Each may do what those before it may: read; make topics of
its own, write to them, and use groups and transactions; change configurations, users, permissions
and replicas; send malformed bytes, and kill a target that was started here."""
READS = frozenset(
    {
        *("ApiVersions", "SaslHandshake", "SaslAuthenticate", "Metadata", "Fetch", "ListOffsets"),
        *("OffsetForLeaderEpoch", "OffsetFetch", "ListGroups", "DescribeGroups"),
        *("ConsumerGroupDescribe", "ShareGroupDescribe", "StreamsGroupDescribe", "DescribeAcls"),
        *("DescribeShareGroupOffsets", "DescribeConfigs", "DescribeLogDirs", "DescribeCluster"),
        *("DescribeClientQuotas", "DescribeUserScramCredentials", "DescribeDelegationToken"),
        *("DescribeQuorum", "DescribeProducers", "DescribeTransactions", "ListTransactions"),
        *("DescribeTopicPartitions", "ListPartitionReassignments", "ListConfigResources"),
        *("GetTelemetrySubscriptions",),
    }
)
WRITES = frozenset(
    {
        *("CreateTopics", "DeleteTopics", "CreatePartitions", "DeleteRecords", "Produce"),
        "FindCoordinator",  # makes the internal topics where they are missing
        *("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit"),
        *("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "ConsumerGroupHeartbeat"),
        *("OffsetCommit", "OffsetDelete", "DeleteGroups", "ShareGroupHeartbeat", "ShareFetch"),
        *("ShareAcknowledge", "AlterShareGroupOffsets", "DeleteShareGroupOffsets"),
        *("StreamsGroupHeartbeat", "PushTelemetry"),
    }
)
"""The APIs of the first two levels; all others need the level "admin"."""


def level_of(api: str) -> Level:
    """Return the level that allows requests of this API."""
    if api in READS:
        return "read-only"
    return "produce" if api in WRITES else "admin"


@dataclass
class Terms:
    """The user's terms for one examination: what it may do to the cluster, how much longer than
    usual it waits, and how many replicas its topics have."""

    level: Level = LEVELS[-1]
    timeout_scale: float = 1.0
    """The factor by which waits for an answer or a state of the target are longer than usual."""
    replication_factor: int | None = None
    """The number of replicas of the topics of cases. None stands for one, or for as many as the
    target demands."""
    sweeps: bool = True
    """Whether what earlier examinations have left on the cluster is removed first."""
    prefix: str = ""
    """The beginning of the name of everything that the cases make."""

    def permit(self, level: Level) -> bool:
        """Return whether the examination may do what belongs to this level."""
        return LEVELS.index(level) <= LEVELS.index(self.level)

    def require(self, level: Level, what: str) -> None:
        """Raise Unsupported unless the examination may do what belongs to this level. what: the
        action, for the message."""
        if not self.permit(level):
            raise Unsupported(f"{what} needs --level {level}; this examination is {self.level}")

    def require_api(self, api: str) -> None:
        """Raise Unsupported unless the examination may send requests of this API."""
        self.require(level_of(api), api)


TERMS = Terms()
"""The terms of the examination that runs in this process."""
