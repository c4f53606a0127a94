"""The claims that findings are about: the runs that concern each, and the meaning of either
outcome.

Sources: KIP-966 (eligible leader replicas), KIP-497 (AlterPartition), KIP-112 (disks that fail),
KIP-98 (transactions),
the documentation's sections on replication, and on flushing (design#replication, flush.messages).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Claim:
    """A published claim. lost, kept: the meaning of a run that contradicts the claim (by a loss of
    acknowledged records, or as broken_by or accused_by say), and of a valid one that does not."""

    id: str
    title: str
    claim: str
    lost: str
    kept: str
    nemesis: str
    config: Mapping[str, str] = field(default_factory=dict)
    """The settings to which the claim applies: a run must have exactly these."""
    workload: str = "appends"
    broken_by: str = ""
    """The words in a run's note that contradict the claim, if the contradiction is not a loss of
    records."""
    accused_by: str = ""
    """The checker whose anomalies contradict the claim, if neither a loss nor a note does."""

    def is_of(self, facts: Mapping[str, Any]) -> bool:
        """Return whether a run (its run.json) concerns this claim."""
        return (
            facts.get("workload") == self.workload
            and facts.get("nemesis") == self.nemesis
            and dict(facts.get("config") or {}) == dict(self.config)
            and not facts.get("bug")
        )


FLUSHED = {"log.flush.interval.messages": "1"}
SYNCED = (
    "Replication alone does not survive a loss of power of every node: by default Kafka leaves it "
    "to the operating system when records reach the disk."
)
MARKED = "Every transaction of this run got its markers."
CLAIMS: tuple[Claim, ...] = (
    Claim(
        "DUR-4",
        "Loss of power of all nodes, default flushing",
        "Records acknowledged with acks=all survive a loss of power of all replicas at once.",
        f"The claim does not hold, and the documentation does not make it. {SYNCED}",
        "Nothing was lost in this run, but Kafka does not promise that.",
        "power-loss-all",
    ),
    Claim(
        "DUR-4",
        "Loss of power of all nodes, each record flushed",
        "A record that is flushed before it is acknowledged survives a loss of power of "
        "all replicas.",
        "The claim does not hold.",
        "It holds: with log.flush.interval.messages=1 a record is on the disk before it is "
        "acknowledged, and no acknowledged record is gone.",
        "power-loss-all",
        FLUSHED,
    ),
    Claim(
        "DUR-4",
        "Power lost amid writes, each record flushed",
        "A record that is flushed before it is acknowledged survives a loss of power that "
        "tears or reorders "
        "the writes under way, and recovery keeps whole batches only.",
        "The claim does not hold.",
        "It holds: recovery cuts off the torn bytes, which had not been acknowledged "
        "(LogSegment.recover).",
        "torn-writes",
        FLUSHED,
    ),
    Claim(
        "DUR-4",
        "Power lost with every unsynced name, each record flushed",
        "A record that is flushed before it is acknowledged survives a loss of power of "
        "all replicas, also "
        "on a file system that keeps a new name only once its directory was synced.",
        "The claim does not hold. Kafka creates a new partition's directory in log.dirs, but syncs "
        "log.dirs only when it next writes a checkpoint there, so such a file system may lose a "
        "whole new partition. A journaling file system, such as ext4, keeps the entry.",
        "It holds in this run: log.dirs had been synced before the power was lost.",
        "lost-names",
        FLUSHED,
        "groups-consumer-positions",
    ),
    Claim(
        "DUR-2",
        "Loss of power of one node at a time",
        "Records acknowledged with acks=all, three copies and min.insync.replicas=2, survive the "
        "loss of one broker's unsynced data.",
        "The claim does not hold.",
        "It holds: a node that comes back without the end of its log does not lead before it has "
        "caught up (KIP-966).",
        "power-loss-one",
    ),
    Claim(
        "DUR-2",
        "Last replica standing, two copies, min.insync.replicas=1",
        "acks=all with min.insync.replicas=1 survives the failure of a follower only.",
        "It holds, and no more than that: with the follower dead the leader alone acknowledged, "
        "and its loss of power took what it had not synced.",
        "Nothing was lost in this run, but Kafka does not promise that.",
        "last-replica-standing",
        {"default.replication.factor": "2", "min.insync.replicas": "1"},
    ),
    Claim(
        "DUR-2",
        "Loss of a follower, then of the leader's power; three copies, min.insync.replicas=2",
        "acks=all with min.insync.replicas=2 survives the loss of one broker.",
        "The claim does not hold.",
        "It holds, even with a follower dead: a second replica held whatever was acknowledged.",
        "last-replica-standing",
    ),
    Claim(
        "ELE-3",
        "Unclean election, min.insync.replicas=1",
        "With unclean election an out-of-sync replica may lead, and unreplicated records are lost.",
        "It holds: the records that the old leader acknowledged alone are gone with the election.",
        "Nothing was lost in this run, but Kafka does not promise that.",
        "unclean-election",
        {"min.insync.replicas": "1"},
    ),
    Claim(
        "REP-4",
        "A leader whose disk hangs",
        "acks=all answers only when all replicas in sync have the record, also across a leader "
        "whose writes hang and who is replaced meanwhile.",
        "The claim does not hold.",
        "It holds: a leader that wakes up after its disk has hung acknowledges nothing that its "
        "successor lacks.",
        "disk-stall",
    ),
    Claim(
        "REP-4",
        "A leader cut off from the other nodes",
        "acks=all answers only when all replicas in sync have the record; a leader that was "
        "replaced acknowledges nothing.",
        "The claim does not hold.",
        "It holds: the records that the old leader appended without its followers were not "
        "acknowledged (KIP-497).",
        "partition-leader",
    ),
    Claim(
        "REP-3",
        "A follower that truncated its log, and a partition without writes",
        "Followers pull with Fetch; the high watermark travels in the response.",
        "The claim does not always hold. If a follower's log has diverged from the leader's, the "
        "Fetch response says so and also contains the high watermark, which the follower ignores "
        "until it has truncated its log (KAFKA-14704). The next response of the same fetch session "
        "leaves the partition out, since the leader believes that it has sent everything (Fetch"
        "Session.CachedPartition.maybeUpdateResponseData, AbstractFetcherThread.processFetch"
        "Request). So the follower's high watermark stays behind until somebody writes, and its "
        "readers (KIP-392) do not receive records that were committed long ago. Nothing is lost by "
        "it: the follower's log has the records. The records lost in this run were acknowledged "
        "under acks=1 by the dead leader alone (DUR-1).",
        "Every follower knew of the whole high watermark in this run.",
        "lone-tail",
        workload="appends-acks1",
        broken_by="its high watermark stayed at",
    ),
    Claim(
        "TXN-2",
        "Transactions that end while a broker restarts",
        "EndTxn: the coordinator prepares the end, writes a marker to every partition of the "
        "transaction, and completes it.",
        "The claim does not always hold. For a partition that has no leader when the markers "
        "are sent, the coordinator drops the marker and completes the transaction: "
        "KRaftMetadataCache.getPartitionLeaderEndpoint returns an empty Optional for it, as for "
        "a partition that was deleted (KAFKA-20734; the node's log says that it could not find "
        "the leader endpoint, and that the partitions are likely deleted already). On one "
        "broker its own restart leaves a moment without leaders.",
        MARKED,
        "kill",
        workload="zombies",
        accused_by="hanging_transactions",
    ),
    Claim(
        "TXN-2",
        "Transactions that end while a partition's only replica is dead",
        "EndTxn: the coordinator prepares the end, writes a marker to every partition of the "
        "transaction, and completes it.",
        "The claim does not always hold. For a partition that has no leader when the markers "
        "are sent, the coordinator drops the marker and completes the transaction: "
        "KRaftMetadataCache.getPartitionLeaderEndpoint returns an empty Optional for it, as for "
        "a partition that was deleted (KAFKA-20734; the node's log says that it could not find "
        "the leader endpoint, and that the partitions are likely deleted already). Readers of "
        "committed records wait there, and the next marker of the producer ends the earlier "
        "transaction, too: if it is an ABORT, records whose commit was acknowledged are "
        "aborted. The conformance case TXN-63 shows the same in a few requests; Apache Kafka "
        "3.9.1, which sends the marker once there is a leader, passes it.",
        MARKED,
        "kill-leader",
        {"default.replication.factor": "1", "min.insync.replicas": "1"},
        workload="transactions",
        accused_by="ends_honoured",
    ),
    Claim(
        "LOG-1",
        "Wall clocks that jump",
        "Offsets, order and durability do not depend on wall clocks.",
        "The claim does not hold.",
        "It holds: no acknowledged record was lost, doubled or disordered by clocks that jump.",
        "clock-jump",
    ),
    Claim(
        "DUR-1",
        "acks=1, the leader cut off",
        "acks=1 survives the failure of a follower only.",
        "It holds, and no more than that: the records that the old leader alone "
        "had, and had acknowledged, are gone.",
        "Nothing was lost in this run, but Kafka does not promise that.",
        "partition-leader",
        workload="appends-acks1",
    ),
)
