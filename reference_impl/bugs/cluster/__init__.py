"""Bugs planted in the brokers of a cluster, one decision each, about the quorum, the replicas and
the controller. One node alone does not show them.

The simulator hunts them (`touchstone bugs --target sim`), on three nodes. An invariant that must
find one is named like a checker: clients may see nothing of it for long.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_impl.bugs import BUGS
from reference_impl.bugs.bug import Bug, Kind
from reference_impl.bugs.cluster.accept_too_few import AcceptTooFew
from reference_impl.bugs.cluster.acknowledge_before_copied import AcknowledgeBeforeCopied
from reference_impl.bugs.cluster.agree_with_all import AgreeWithAll
from reference_impl.bugs.cluster.commit_by_one import CommitByOne
from reference_impl.bugs.cluster.count_itself_alone import CountItselfAlone
from reference_impl.bugs.cluster.count_what_it_proposes import CountWhatItProposes
from reference_impl.bugs.cluster.cut_at_high_watermark import CutAtHighWatermark
from reference_impl.bugs.cluster.elect_anybody import ElectAnybody
from reference_impl.bugs.cluster.elect_uncleanly import ElectUncleanly
from reference_impl.bugs.cluster.follow_beyond_committed import FollowBeyondCommitted
from reference_impl.bugs.cluster.forget_votes import ForgetVotes
from reference_impl.bugs.cluster.join_early import JoinEarly
from reference_impl.bugs.cluster.keep_leader_epochs import KeepLeaderEpochs
from reference_impl.bugs.cluster.lead_by_minority import LeadByMinority
from reference_impl.bugs.cluster.list_stale_ends import ListStaleEnds
from reference_impl.bugs.cluster.overlap_id_blocks import OverlapIdBlocks
from reference_impl.bugs.cluster.serve_replaced_shards import ServeReplacedShards
from reference_impl.bugs.cluster.skip_markers_without_leader import SkipMarkersWithoutLeader
from reference_impl.bugs.cluster.vote_for_shorter_logs import VoteForShorterLogs
from reference_impl.bugs.cluster.vote_twice import VoteTwice
from reference_impl.core.rules import Rules

__all__ = ["BROKER_BUGS", "CLUSTER_BUGS"]

NODES = 3
QUICK_FENCING = {"broker.session.timeout.ms": "1000", "broker.heartbeat.interval.ms": "300"}
"""Settings with which a controller that is cut off fences brokers, and so writes records that only
it has, before it notices that it has lost its majority."""
QUICK_CANDIDATES = {"controller.quorum.election.timeout.ms": "5"}
"""Settings with which voters stand so soon after each other that two candidates meet."""
QUICK_SHRINKING = {"replica.lag.time.max.ms": "1000"}
"""Settings with which a leader that is cut off proposes a smaller ISR before it is replaced."""
SMALL_FETCHES = {"replica.fetch.response.max.bytes": "1"}
"""Settings with which a follower gets one batch by each fetch, so that catching up takes long."""
ONE_REPLICA = {"default.replication.factor": "1", "min.insync.replicas": "1"}
"""Settings with which a partition has no leader while one broker is dead."""
TWO_REPLICAS = {"default.replication.factor": "2", "min.insync.replicas": "2"}
"""Settings with which the ISR is too small as soon as one follower is dead."""


def _bug(
    rules: type[Rules],
    caught_by: tuple[str, ...],
    nemesis: str,
    workload: str,
    config: Mapping[str, str] | None = None,
) -> Bug:
    """Return the row of a bug that three nodes show."""
    return Bug(rules, Kind.CLUSTER, caught_by, workload, nemesis, config or {}, nodes=NODES)


CLUSTER_BUGS: dict[str, Bug] = {
    "overlap-id-blocks": _bug(
        OverlapIdBlocks, ("inconsistent_offsets", "lost_writes"), "none", "appends"
    ),
    "lead-by-minority": _bug(
        LeadByMinority,
        ("lost_writes", "inconsistent_offsets"),
        "kill-controller",
        "appends",
        QUICK_FENCING,
    ),
    "keep-leader-epochs": _bug(KeepLeaderEpochs, ("liveness",), "kill-leader", "appends"),
    "count-itself-alone": _bug(
        CountItselfAlone, ("lost_writes", "append_order"), "partition-leader", "appends"
    ),
    "acknowledge-before-copied": _bug(
        AcknowledgeBeforeCopied, ("lost_writes", "append_order"), "partition-leader", "appends"
    ),
    "join-early": _bug(
        JoinEarly, ("lost_writes", "inconsistent_offsets"), "catching-up", "appends", SMALL_FETCHES
    ),
    "cut-at-high-watermark": _bug(
        CutAtHighWatermark, ("lost_writes", "invariant committed-stays"), "kill-all", "appends"
    ),
    "list-stale-ends": _bug(ListStaleEnds, ("register (porcupine)",), "kill-all", "register"),
    "commit-by-one": _bug(
        CommitByOne, ("leader_epochs",), "isolate-controller", "transactions", QUICK_FENCING
    ),
    "count-what-it-proposes": _bug(
        CountWhatItProposes,
        ("invariant isr-is-complete", "lost_writes"),
        "partition-leader",
        "appends",
        QUICK_SHRINKING,
    ),
    "elect-anybody": _bug(
        ElectAnybody,
        ("invariant leader-is-complete", "lost_writes"),
        "last-replica-standing",
        "appends",
    ),
    "agree-with-all": _bug(
        AgreeWithAll, ("simulator",), "isolate-controller", "appends", QUICK_FENCING
    ),
    "follow-beyond-committed": _bug(
        FollowBeyondCommitted, ("invariant follower-high-watermark",), "partition-leader", "appends"
    ),
    "elect-uncleanly": _bug(
        ElectUncleanly,
        ("invariant leader-is-complete", "lost_writes"),
        "last-replica-standing",
        "appends",
    ),
    "vote-for-shorter-logs": _bug(
        VoteForShorterLogs,
        ("invariant leader-is-complete", "invariant committed-stays"),
        "last-replica-standing",
        "appends",
    ),
    "forget-votes": _bug(ForgetVotes, ("invariant one-vote",), "kill-again", "appends"),
    "vote-twice": _bug(VoteTwice, ("invariant one-vote",), "none", "appends", QUICK_CANDIDATES),
    "serve-replaced-shards": _bug(
        ServeReplacedShards,
        ("committed_offsets",),
        "pause",
        "offsets",
        {**QUICK_FENCING, "offsets.topic.num.partitions": "1"},
    ),
    "skip-markers-without-leader": _bug(
        SkipMarkersWithoutLeader,
        ("hanging_transactions", "ends_honoured", "torn_transactions"),
        "kill-leader",
        "transactions",
        {**QUICK_FENCING, **ONE_REPLICA},
    ),
    "accept-too-few": _bug(AcceptTooFew, ("lost_writes",), "lagging-node", "appends", TWO_REPLICAS),
}
BROKER_BUGS: dict[str, Bug] = {**BUGS, **CLUSTER_BUGS}
"""All bugs that the simulator can plant in brokers."""
