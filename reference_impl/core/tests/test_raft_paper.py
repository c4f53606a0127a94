"""The Raft paper's figures 7 and 8, and its disruptive server, as tables that real nodes play.

A log is written as the epochs of its batches. Each leader writes a LeaderChange record first, which
the paper's leaders do not.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping

import pytest

from reference_impl.core.effects import Respond
from reference_impl.core.log.directories.log_directory import LogDirectory
from reference_impl.core.quorum import messages
from reference_impl.core.quorum.batches.accumulator import MetadataBatch
from reference_impl.core.quorum.elections.election_state import ElectionFile, ElectionState
from reference_impl.core.quorum.metadata_log import MetadataLog
from reference_impl.core.quorum.voters.voter_set import Voter, VoterHistory, voters_of
from reference_impl.core.rules import Rules
from reference_impl.core.rules.agreeing import Agreeing
from reference_impl.core.storage import MemoryStorage
from reference_impl.core.tests import (
    test_catching_up,
    test_quorum,
    test_quorum_upgrade,
    test_voter_changes,
)
from reference_impl.core.tests.cluster import START_MS, Cluster
from reference_impl.core.tests.hostile_quorum import Broken, Watcher
from reference_impl.core.tests.node_identities import format_directory
from reference_impl.core.tests.test_quorum import quorum_of
from reference_impl.wire import ApiKey, definition, read_header

NO_OP = definition("NoOpRecord").new()
DIRECTORY = "data/__cluster_metadata-0"


def cluster_with(
    logs: dict[int, list[int]],
    epoch: int,
    hub: int,
    rules: type[Rules] = Rules,
    configs: Mapping[str, str] | None = None,
) -> Cluster:
    """Return a cluster of voters with these logs, in which only the hub is heard by all."""
    cluster = Cluster(seed=3, voters=len(logs), rules=rules, configs=configs)
    for node, epochs in logs.items():
        cluster.kill(node)
        cluster.disks[node] = disk_with(node, epochs, epoch, list(logs))
    link_to(cluster, hub, set(logs))
    for node in logs:
        cluster.boot(node)
    return cluster


def disk_with(node: int, epochs: list[int], epoch: int, voters: list[int]) -> MemoryStorage:
    """Return the disk of a voter that has this log, and knows of this epoch but of no leader."""
    storage = MemoryStorage()
    format_directory(storage, node)
    directory = LogDirectory(storage, "data", Rules())
    log = MetadataLog(directory, START_MS)
    for each in epochs:
        log.append(MetadataBatch.of([NO_OP], START_MS), each, START_MS)
    directory.close()
    configured = voters_of(*map(Voter, voters))
    ElectionFile(storage, DIRECTORY, VoterHistory(configured)).save(ElectionState(epoch))
    storage.kill()
    return storage


def link_to(cluster: Cluster, hub: int, heard: set[int]) -> None:
    """Let messages pass between the hub and these nodes, in both directions, and no others."""
    nodes = cluster.disks.keys()
    links = {(a, b) for a in nodes for b in nodes if a != b}
    cluster.silent = {(a, b) for a, b in links if hub not in (a, b) or not {a, b} <= heard | {hub}}


def epochs_of(cluster: Cluster, node: int, most: int = 99) -> str:
    """Return the epochs of the first batches of a node's log."""
    if node in cluster.nodes:
        log = cluster.nodes[node].broker.quorum.log.log
        found = [read_header(data).partition_leader_epoch for data in log.batches()]
    else:
        found = []
    return " ".join(map(str, found[:most])) or "down"


def run_until(cluster: Cluster, happened: Callable[[], bool]) -> None:
    """Let time pass until something has happened."""
    for _ in range(20_000):
        if happened():
            return
        cluster.run(1)
    pytest.fail("it did not happen within 20 s")


def leads(cluster: Cluster, node: int) -> Callable[[], bool]:
    return lambda: cluster.nodes[node].broker.quorum.is_leader


FIGURE_7 = """
1 leader | 1 1 1 4 4 5 5 6 6 6     |                       | 1 1 1 4 4 5 5 6 6 6 8
2 (a)    | 1 1 1 4 4 5 5 6 6       |                       | 1 1 1 4 4 5 5 6 6 6 8
3 (b)    | 1 1 1 4                 |                       | 1 1 1 4 4 5 5 6 6 6 8
4 (c)    | 1 1 1 4 4 5 5 6 6 6 6   | epoch 6 ends at 10    | 1 1 1 4 4 5 5 6 6 6 8
5 (d)    | 1 1 1 4 4 5 5 6 6 6 7 7 | epoch 6 ends at 10    | 1 1 1 4 4 5 5 6 6 6 8
6 (e)    | 1 1 1 4 4 4 4           | epoch 4 ends at 5     | 1 1 1 4 4 5 5 6 6 6 8
7 (f)    | 1 1 1 2 2 2 3 3 3 3 3   | epoch 1 ends at 3     | 1 1 1 4 4 5 5 6 6 6 8
"""
"""Node | its log | what the leader tells it | its log after that."""


def test_figure_7_a_leader_brings_every_kind_of_log_in_line_with_its_own() -> None:
    rows = [[cell.strip() for cell in row.split("|")] for row in FIGURE_7.strip().splitlines()]
    logs = {int(row[0][0]): [int(epoch) for epoch in row[1].split()] for row in rows}
    cluster = cluster_with(logs, epoch=7, hub=1)
    told = dict.fromkeys(logs, "")
    perform = cluster._perform

    def note(node: int, effect: object) -> None:
        if isinstance(effect, Respond) and effect.request.api_key == ApiKey.FETCH and node == 1:
            row = messages.only_row(effect.body)
            if row is not None and row.diverging_epoch.epoch >= 0:
                end = row.diverging_epoch
                asker = effect.request.body.replica_state.replica_id
                told[asker] += f"epoch {end.epoch} ends at {end.end_offset}"
        perform(node, effect)  # type: ignore[arg-type]

    cluster._perform = note  # type: ignore[method-assign]
    cluster.run(6_000)
    seen = [
        [row[0], row[1], told[node], epochs_of(cluster, node, 11)]
        for node, row in zip(logs, rows, strict=True)
    ]
    assert seen == rows


class CommitOldEpochs(Rules):
    def committed_end(self, ends: Iterable[int], epoch_start_offset: int) -> int | None:
        descending = sorted(ends, reverse=True)
        return descending[len(descending) // 2]


FIGURE_8 = """
(b) 5 has led in epoch 3 | 1 2   | 1 2 | 1   | 1   | 1 3   | 0
(c) 1 leads in epoch 4   | 1 2 4 | 1 2 | 1 2 | 1   | 1 3   | {committed}
(d) 5 leads in epoch 5   | down  | 1 2 | 1 2 | 1   | 1 3 5 | 0
"""
"""Moment | the log of each node, 1 to 5, up to three batches | the leader's high watermark."""


@pytest.mark.parametrize(("rules", "committed"), [(Rules, 0), (CommitOldEpochs, 2)])
def test_figure_8_a_batch_of_an_earlier_epoch_is_not_committed_by_counting_replicas(
    rules: type[Rules], committed: int
) -> None:
    """In (c) three of five nodes have the batch of epoch 2, and in (d) the next leader lacks it."""
    logs = {1: [1, 2], 2: [1, 2], 3: [1], 4: [1], 5: [1, 3]}
    one_batch_at_once = {"controller.quorum.fetch.max.bytes": "1"}
    cluster = cluster_with(logs, 3, 1, rules, one_batch_at_once)
    watcher = Watcher(cluster)
    cluster.watch = watcher.look
    link_to(cluster, 1, {2, 3, 4})
    seen = [picture(cluster, "(b) 5 has led in epoch 3", 1)]
    run_until(cluster, leads(cluster, 1))
    link_to(cluster, 1, {3})  # 2 has the batch, and 4 gets nothing
    follower = cluster.nodes[3].broker.quorum
    run_until(cluster, lambda: follower.end_offset == 2)
    for voter in (2, 3):  # their next fetches, whose answers are lost
        replica = voter, cluster.nodes[voter].broker.quorum.directory_id
        cluster.nodes[1].broker.quorum.fetched(replica, 2)
    try:
        watcher.look(1)
        seen.append(picture(cluster, "(c) 1 leads in epoch 4", 1))
        cluster.kill(1)
        link_to(cluster, 5, {2, 3, 4})
        run_until(cluster, leads(cluster, 5))
        seen.append(picture(cluster, "(d) 5 leads in epoch 5", 5))
        cluster.run(5_000)
    except Broken:
        assert rules is CommitOldEpochs
    else:
        assert rules is Rules
    expected = FIGURE_8.format(committed=committed).strip().splitlines()
    assert seen == [[cell.strip() for cell in row.split("|")] for row in expected][: len(seen)]
    assert len(seen) == 3


def picture(cluster: Cluster, moment: str, leader: int) -> list[str]:
    """Return one row of the table."""
    committed = cluster.nodes[leader].broker.quorum.high_watermark
    logs = [epochs_of(cluster, node, 3) for node in cluster.disks]
    return [moment, *logs, str(committed)]


DISRUPTION = """
1 s passes                            | LEADER 1 | FOLLOWER 1                  | FOLLOWER 1
the second hears no leader for 10 s   | LEADER 1 | FOLLOWER 1 or PROSPECTIVE 1 | FOLLOWER 1
the network is whole again for 3 s    | LEADER 1 | FOLLOWER 1 or PROSPECTIVE 1 | FOLLOWER 1
"""
"""Phase | the states and epochs of the three nodes in it."""


class GrantEveryPreVote(Rules):
    def grants_pre_vote(self, *, hears_leader: bool, is_up_to_date: bool) -> bool:
        return is_up_to_date


@pytest.mark.parametrize("rules", [Rules, GrantEveryPreVote])
def test_a_disruptive_server_unseats_no_leader(rules: type[Rules]) -> None:
    """A voter whose network is bad in one direction asks for votes again and again. With pre-votes
    no epoch rises (KIP-996)."""
    cluster, leader = quorum_of(3, rules)
    deaf = leader % 3 + 1
    nodes = (leader, deaf, 6 - leader - deaf)
    seen = []
    for way, seconds in (((leader, leader), 1), ((leader, deaf), 10), ((leader, leader), 3)):
        cluster.silent = {way}
        seen.append(states(cluster, nodes, seconds * 1_000))
    rows = [row.split("|")[1:] for row in DISRUPTION.strip().splitlines()]
    expected = [[cell.strip() for cell in row] for row in rows]
    assert (seen == expected) is (rules is Rules)


def states(cluster: Cluster, nodes: Iterable[int], ms: int) -> list[str]:
    """Return the states and epochs in which each node is while this time passes."""
    seen: dict[int, set[str]] = {node: set() for node in nodes}
    for _ in range(ms // 10):
        cluster.run(10)
        for node, found in seen.items():
            quorum = cluster.nodes[node].broker.quorum
            found.add(f"{quorum.state.name} {quorum.epoch}")
    return [" or ".join(sorted(found)) for found in seen.values()]


def test_each_decision_of_a_voter_has_a_planted_bug_in_a_test() -> None:
    tests = (
        test_quorum,
        test_catching_up,
        test_voter_changes,
        test_quorum_upgrade,
        sys.modules[__name__],
    )
    planted = [
        bug
        for test in tests
        for bug in vars(test).values()
        if inspect.isclass(bug) and bug is not Rules
    ]
    broken = {name for bug in planted if issubclass(bug, Rules) for name in vars(bug)}
    decisions = {name for name in vars(Agreeing) if not name.startswith("_")}
    assert decisions <= broken
