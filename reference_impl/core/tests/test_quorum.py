"""A quorum keeps Raft's promises under hostile schedules, and every planted bug breaks one.

The scripted traces of the Raft paper are in test_raft_paper.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from reference_impl.core.quorum.leadership import Leadership
from reference_impl.core.quorum.quorum import Quorum
from reference_impl.core.quorum.states import State
from reference_impl.core.quorum.voters.voter_set import ReplicaKey, Voter, voters_of
from reference_impl.core.rules import Rules
from reference_impl.core.rules.agreeing import LogEnd
from reference_impl.core.tests.cluster import Cluster
from reference_impl.core.tests.hostile_quorum import FORGETFUL, Broken, Schedule
from reference_impl.wire import ZERO_UUID


@pytest.mark.parametrize("voters", [3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_a_quorum_keeps_its_promises_whatever_happens(seed: int, voters: int) -> None:
    schedule = Schedule(seed, voters)
    schedule.run(seconds=20)
    assert len(schedule.watcher.committed) > 5


@pytest.mark.parametrize("observers", [0, 2])
def test_a_quorum_that_keeps_only_snapshots_keeps_its_promises(observers: int) -> None:
    """Nodes that were away for long fetch snapshots, since the log before them is deleted."""
    schedule = Schedule(observers, 3, observers=observers, configs=FORGETFUL)
    schedule.run(seconds=15)
    nodes = schedule.cluster.nodes.values()
    assert all(node.broker.quorum.log.start_offset > 0 for node in nodes)


@pytest.mark.parametrize("seed", range(2))
def test_observers_learn_what_is_committed_and_never_vote(seed: int) -> None:
    schedule = Schedule(seed, 3, observers=2)
    schedule.run(seconds=10)
    assert len(schedule.watcher.committed) > 5


def test_a_voter_that_has_lost_its_log_counts_with_what_it_has_now() -> None:
    leadership = Leadership(1, voters_of(*(Voter(node) for node in range(1, 6))), 0, 0)
    for node, end in ((2, 100), (3, 50), (4, 50), (2, 0), (3, 100)):
        leadership.fetched((node, ZERO_UUID), end, 100, 0, 0)
    assert Rules().committed_end(leadership.ends(100), 0) == 50, "two of five have the records"
    assert [node for node, _ in leadership.by_progress()] == [3, 4, 2, 5]


class ServeNoSnapshots(Rules):
    def needs_snapshot(self, follower: LogEnd, log_start_offset: int, earliest: LogEnd) -> bool:
        return False


class KeepShortLogs(Rules):
    def replaces_log(self, snapshot: LogEnd, own: LogEnd) -> bool:
        return False


@pytest.mark.parametrize("bug", [ServeNoSnapshots, KeepShortLogs])
def test_a_planted_bug_keeps_nodes_from_going_on_from_a_snapshot(bug: type[Rules]) -> None:
    for seed in range(SEEDS):
        try:
            Schedule(seed, 3, bug, configs=FORGETFUL).run(seconds=10)
        except Broken:
            return
    pytest.fail(f"{SEEDS} schedules have not found it")


class ForgetVotes(Rules):
    def keep_election(self, save: Callable[[], None]) -> None:
        """Keep the vote in memory alone."""


class VoteTwice(Rules):
    def may_vote_for(
        self, candidate: ReplicaKey, voted: ReplicaKey | None, leader_id: int | None
    ) -> bool:
        return True


class VoteForShorterLogs(Rules):
    def is_up_to_date(self, candidate: LogEnd, own: LogEnd) -> bool:
        return True


class IgnoreNewerEpochs(Rules):
    def follows_newer_epoch(self, epoch: int, own_epoch: int) -> bool:
        return epoch > own_epoch + 1


class ElectByHalf(Rules):
    def has_majority(self, count: int, voters: int) -> bool:
        return count >= voters // 2


class CommitByOne(Rules):
    def committed_end(self, ends: Iterable[int], epoch_start_offset: int) -> int | None:
        return max(ends)


class OverlookDivergence(Rules):
    def agrees(self, epoch: int, end_offset: int, found: LogEnd) -> bool:
        return True


class CutTooLittle(Rules):
    def truncation_offset(self, told: LogEnd, found: LogEnd) -> int:
        return max(told[1], found[1])


BUGS = (
    ForgetVotes,
    VoteTwice,
    VoteForShorterLogs,
    IgnoreNewerEpochs,
    ElectByHalf,
    CommitByOne,
    OverlookDivergence,
    CutTooLittle,
)
SEEDS = 12


@pytest.mark.sliced(2)
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_a_planted_bug_breaks_a_promise(bug: type[Rules]) -> None:
    for seed in range(SEEDS):
        schedule = Schedule(seed, 3, bug)
        try:
            schedule.run(seconds=10)
        except Broken:
            return
    pytest.fail(f"{SEEDS} schedules have not found it")


def quorum_of(voters: int, rules: type[Rules] = Rules) -> tuple[Cluster, int]:
    """Return a quorum that works, and its leader."""
    cluster = Cluster(seed=1, voters=voters, rules=rules)
    cluster.run(3_000)
    (leader,) = leaders(cluster)
    return cluster, leader


def leaders(cluster: Cluster) -> list[int]:
    return [n for n, node in cluster.nodes.items() if node.broker.quorum.is_leader]


def cut_off(cluster: Cluster, node: int) -> None:
    for other in cluster.nodes:
        if other != node:
            cluster.silent |= {(node, other), (other, node)}


@pytest.mark.parametrize("voters", [3, 5])
def test_a_majority_that_is_left_elects_another_leader_soon(voters: int) -> None:
    cluster, leader = quorum_of(voters)
    cluster.kill(leader)
    cluster.run(3_500)
    assert len(leaders(cluster)) == 1


class LeadAlone(Rules):
    def has_lost_quorum(self, silent_ms: int, patience_ms: int) -> bool:
        return False


@pytest.mark.parametrize("rules", [Rules, LeadAlone])
def test_a_leader_that_is_cut_off_resigns_after_one_and_a_half_fetch_timeouts(
    rules: type[Rules],
) -> None:
    cluster, leader = quorum_of(3, rules)
    cut_off(cluster, leader)
    cluster.run(900)
    assert leader in leaders(cluster)
    cluster.run(1_200)  # a fetch that the leader held back counts when it is answered
    assert (leader not in leaders(cluster)) is (rules is Rules)


@pytest.mark.parametrize("seed", [100, 500, 501, 503])
def test_a_follower_that_diverges_does_not_take_a_snapshot_for_its_own_log(seed: int) -> None:
    """In these schedules a follower counted the snapshot that it had fetched as the end of a log
    that differed, kept that log, and committed other records than the leader."""
    Schedule(seed, 3, configs=FORGETFUL).run(seconds=12)


def test_a_resigned_leader_grants_pre_votes_and_its_followers_do_not_yet() -> None:
    """They have fetched from it, and their fetch time-outs are not over (FollowerState,
    ResignedState, canGrantVote). So the first successor needs the resigned leader's pre-vote."""
    cluster = Cluster(voters=3)
    cluster.run(3_000)
    quorums = {node: each.broker.quorum for node, each in cluster.nodes.items()}
    (leader,) = [each for each in quorums.values() if each.is_leader]
    first, second = (each for each in quorums.values() if not each.is_leader)

    def grants(voter: Quorum, end: LogEnd) -> bool:
        return voter.vote_asked(first.key, voter.epoch, end, is_pre_vote=True)

    end = leader.log.end
    assert [grants(voter, end) for voter in (leader, second)] == [False, False]
    leader.resign()
    second.leader_ends([first.node_id, second.node_id])
    assert leader.state is State.RESIGNED and second.state is State.FOLLOWER
    assert [grants(voter, end) for voter in (leader, second)] == [True, False]
    assert not grants(leader, (end[0], end[1] - 1))
