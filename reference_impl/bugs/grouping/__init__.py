"""Bugs in the rules of `core/rules/grouping.py`: members, sessions, assignments, commits."""

from __future__ import annotations

from reference_impl.bugs.bug import Bug, Kind
from reference_impl.bugs.grouping.accept_commits_of_nobody import AcceptCommitsOfNobody
from reference_impl.bugs.grouping.accept_old_generations import AcceptOldGenerations
from reference_impl.bugs.grouping.accept_old_generations_in_transactions import (
    AcceptOldGenerationsInTransactions,
)
from reference_impl.bugs.grouping.accept_stale_epochs import AcceptStaleEpochs
from reference_impl.bugs.grouping.accept_strangers import AcceptStrangers
from reference_impl.bugs.grouping.admit_fenced_epochs import AdmitFencedEpochs
from reference_impl.bugs.grouping.admit_fenced_instances import AdmitFencedInstances
from reference_impl.bugs.grouping.delete_neighbours import DeleteNeighbours
from reference_impl.bugs.grouping.end_sessions_early import EndSessionsEarly
from reference_impl.bugs.grouping.end_sessions_late import EndSessionsLate
from reference_impl.bugs.grouping.forget_a_member import ForgetAMember
from reference_impl.bugs.grouping.forget_instances import ForgetInstances
from reference_impl.bugs.grouping.forget_leaves_in_rebalances import ForgetLeavesInRebalances
from reference_impl.bugs.grouping.give_before_released import GiveBeforeReleased
from reference_impl.bugs.grouping.give_parts_twice import GivePartsTwice
from reference_impl.bugs.grouping.greet_the_dead import GreetTheDead
from reference_impl.bugs.grouping.hide_rebalances import HideRebalances
from reference_impl.bugs.grouping.ignore_consumer_heartbeats import IgnoreConsumerHeartbeats
from reference_impl.bugs.grouping.ignore_consumer_leaves import IgnoreConsumerLeaves
from reference_impl.bugs.grouping.ignore_heartbeats import IgnoreHeartbeats
from reference_impl.bugs.grouping.ignore_leaves import IgnoreLeaves
from reference_impl.bugs.grouping.keep_highest_commit import KeepHighestCommit
from reference_impl.bugs.grouping.keep_positions_of_deleted_topics import (
    KeepPositionsOfDeletedTopics,
)
from reference_impl.bugs.grouping.leave_partition_out import LeavePartitionOut
from reference_impl.bugs.grouping.lose_commits import LoseCommits
from reference_impl.bugs.grouping.lose_deletions import LoseDeletions
from reference_impl.bugs.grouping.never_end_consumer_sessions import NeverEndConsumerSessions
from reference_impl.bugs.grouping.never_end_loaded_sessions import NeverEndLoadedSessions
from reference_impl.bugs.grouping.never_end_sessions import NeverEndSessions
from reference_impl.bugs.grouping.never_release import NeverRelease
from reference_impl.bugs.grouping.overlook_new_partitions import OverlookNewPartitions
from reference_impl.bugs.grouping.wait_for_the_gone import WaitForTheGone
from reference_impl.bugs.grouping.write_one_topic_of_a_commit import WriteOneTopicOfACommit

__all__ = ["GROUPING_BUGS"]

GROUPING_BUGS: dict[str, Bug] = {
    "keep-highest-commit": Bug(
        KeepHighestCommit, Kind.START, ("committed_offsets",), workload="offsets"
    ),
    "lose-commits": Bug(
        LoseCommits, Kind.START, ("committed_offsets",), workload="offsets", nemesis="kill"
    ),
    "lose-deletions": Bug(
        LoseDeletions, Kind.START, ("committed_offsets",), workload="offsets", nemesis="kill"
    ),
    "keep-positions-of-deleted-topics": Bug(
        KeepPositionsOfDeletedTopics, Kind.START, ("committed_offsets",), workload="recreate"
    ),
    "write-one-topic-of-a-commit": Bug(
        WriteOneTopicOfACommit,
        Kind.START,
        ("committed_offsets",),
        workload="offsets",
        nemesis="kill",
    ),
    "delete-neighbours": Bug(
        DeleteNeighbours,
        Kind.START,
        ("committed_offsets",),
        workload="offsets",
        nemesis="kill",
        config={"offsets.topic.num.partitions": "1"},
    ),
    "admit-fenced-epochs": Bug(
        AdmitFencedEpochs, Kind.LIVENESS, (), cases="test_an_epoch_of_the_past_is_fenced"
    ),
    "never-end-sessions": Bug(
        NeverEndSessions, Kind.LIVENESS, ("group_liveness",), workload="groups", seconds_min=75
    ),
    "never-end-loaded-sessions": Bug(
        NeverEndLoadedSessions,
        Kind.LIVENESS,
        ("group_liveness",),
        workload="groups",
        nemesis="kill-then-calm",
        seconds_min=90,
    ),
    "never-end-consumer-sessions": Bug(
        NeverEndConsumerSessions,
        Kind.LIVENESS,
        ("group_liveness",),
        workload="groups-consumer",
        seconds_min=75,
    ),
    "greet-the-dead": Bug(GreetTheDead, Kind.LIVENESS, (), cases="test_a_stranger_may_not_sync"),
    "wait-for-the-gone": Bug(
        WaitForTheGone, Kind.LIVENESS, ("group_liveness",), workload="groups", seconds_min=75
    ),
    "forget-a-member": Bug(
        ForgetAMember,
        Kind.LIVENESS,
        ("group_liveness",),
        workload="groups-positions",
        seconds_min=75,
        cases="test_the_leader_hands_out_the_assignments",
    ),
    "leave-partition-out": Bug(
        LeavePartitionOut,
        Kind.LIVENESS,
        ("group_liveness",),
        workload="groups-consumer",
        seconds_min=75,
    ),
    "overlook-new-partitions": Bug(
        OverlookNewPartitions,
        Kind.LIVENESS,
        ("group_liveness",),
        workload="groups-growing",
        seconds_min=75,
    ),
    "never-release": Bug(
        NeverRelease, Kind.LIVENESS, ("group_liveness",), workload="groups-consumer", seconds_min=75
    ),
    "hide-rebalances": Bug(
        HideRebalances, Kind.LIVENESS, ("group_liveness",), workload="sessions", seconds_min=25
    ),
    "ignore-heartbeats": Bug(
        IgnoreHeartbeats, Kind.LIVENESS, ("group_liveness",), workload="sessions"
    ),
    "ignore-consumer-heartbeats": Bug(
        IgnoreConsumerHeartbeats, Kind.LIVENESS, ("group_liveness",), workload="sessions"
    ),
    "ignore-leaves": Bug(IgnoreLeaves, Kind.LIVENESS, ("group_liveness",), workload="sessions"),
    "ignore-consumer-leaves": Bug(
        IgnoreConsumerLeaves, Kind.LIVENESS, ("group_liveness",), workload="sessions"
    ),
    "accept-stale-epochs": Bug(
        AcceptStaleEpochs,
        Kind.RARE,
        ("committed_offsets",),
        workload="groups-consumer-positions",
        cases="test_a_member_commits_in_its_epoch or test_an_older_epoch_commits",
    ),
    "accept-old-generations-in-transactions": Bug(
        AcceptOldGenerationsInTransactions,
        Kind.RARE,
        ("committed_offsets", "exactly_once"),
        workload="transform",
        cases="test_a_member_commits_in_its_generation",
    ),
    "accept-commits-of-nobody": Bug(
        AcceptCommitsOfNobody, Kind.RARE, ("committed_offsets",), workload="groups-positions"
    ),
    "accept-strangers": Bug(
        AcceptStrangers, Kind.RARE, ("committed_offsets",), workload="groups-positions"
    ),
    "forget-leaves-in-rebalances": Bug(
        ForgetLeavesInRebalances, Kind.RARE, ("group_liveness",), workload="sessions"
    ),
    "forget-instances": Bug(
        ForgetInstances,
        Kind.RARE,
        (),
        workload="groups-static-positions",
        nemesis="kill-group-coordinator",
        cases="test_an_instance_outlives_its_coordinator",
    ),
    "accept-old-generations": Bug(
        AcceptOldGenerations, Kind.SHOWN, ("committed_offsets",), workload="groups-positions"
    ),
    "admit-fenced-instances": Bug(
        AdmitFencedInstances, Kind.SHOWN, ("committed_offsets",), workload="groups-static-positions"
    ),
    "give-parts-twice": Bug(
        GivePartsTwice, Kind.SHOWN, ("committed_offsets",), workload="groups-positions"
    ),
    "give-before-released": Bug(
        GiveBeforeReleased, Kind.SHOWN, ("committed_offsets",), workload="groups-consumer-positions"
    ),
    "end-sessions-early": Bug(
        EndSessionsEarly, Kind.SLACK, ("group_liveness",), workload="sessions"
    ),
    "end-sessions-late": Bug(EndSessionsLate, Kind.SLACK, ("group_liveness",), workload="sessions"),
}
